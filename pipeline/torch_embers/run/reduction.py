"""`embers minimize`: makes an extracted script small in the sandbox, and re-runs all its texts together at the end.

What must stay is what the whole script showed here: the declared signature, and of an exception its class, its message
and the frame of torch it came from; the operator that fails, with its arguments as far as the script tells how they
are made (``repro/failing.py``) and what they hold (``repro/arguments.py``); of the functions that the report's title
names one call each, with its arguments. Verbatim, runnable and minimal text are run together afterwards: where
runnable and minimal disagree, nothing is kept; where the text as reported shows something else, that is an alarm.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.normalize import now_utc
from torch_embers.repro.arguments import described, names_in, with_hook
from torch_embers.repro.failing import calls_of, failing, keeps, keeps_calls, place_of
from torch_embers.repro.minimize import Minimized, MinimizeError, minimize
from torch_embers.repro.shortcuts import subjects
from torch_embers.run.verdict import USABLE, Observation, last_line, observe
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner
from torch_embers.store import rows

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    import duckdb

    from torch_embers.builds.registry import Build, Registry
    from torch_embers.progress import Progress
    from torch_embers.repro.case import Case
    from torch_embers.repro.failing import Shape
    from torch_embers.run.verdict import Outcome
    from torch_embers.sandbox.runner import RunResult

BASELINE_RUNS = 3
TIMEOUT_FACTOR, LEAST_TIMEOUT, MOST_TIMEOUT = 10.0, 2.0, 300.0
"""A candidate may take ten times as long as the whole script did, within these seconds."""
PASSING: frozenset[Outcome] = frozenset({"timeout", "out_of_memory", "sandbox_error"})
"""Outcomes that tell of the machine at that time, not of the script."""


class PassingError(MinimizeError):
    """A script was refused for a reason that may be gone another time, or with more time."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a minimisation did.

    Attributes:
        before: characters of the runnable script.
        after: characters of the minimal one.
        seconds: wall time.
        shows: what the whole script showed.
        agree: what verbatim, runnable and minimal text showed when they were run together.
    """

    case: Case
    build: Build
    minimized: Minimized
    before: int
    after: int
    lines_before: int
    lines_after: int
    seconds: float
    shows: str
    agree: Mapping[str, str]

    @property
    def alarm(self) -> str | None:
        """What the text as reported showed instead, where it could run."""
        shown = self.agree.get("verbatim")
        return shown if shown in USABLE and shown != "reproduced" else None


def _lacked_memory(seen: Observation) -> bool:
    """Whether a run was refused memory, which another machine, or another bound, may give."""
    return seen.outcome == "cannot_run" and seen.signature is not None and seen.signature.kind == "memory"


class Trial:
    """The test that decides: runs texts of one case in the sandbox and compares them with what the whole script shows.

    Args:
        case: says what counts.
        script: the whole, runnable text.
        build: where the failure shows.
        runner: of that build.

    Raises:
        MinimizeError: the script does not fail as declared, or not always in the same way; a PassingError where a run
            took too long or too much memory, or could not be made.
    """

    def __init__(self, case: Case, script: str, build: Build, runner: Runner) -> None:
        self._case = case
        self._runner = runner
        self._timeout = case.timeout
        self._subjects = calls_of(script, subjects(case.summary, script))
        self._count = 0
        self._is_passing = False
        self.wanted, result = self._told(script)
        self._printed = last_line(result.stdout)
        self._failing = self._failing_call(script, result)
        self._values = self._values_of(script, result)
        self.duration = result.duration
        self._timeout = min(max(TIMEOUT_FACTOR * result.duration, LEAST_TIMEOUT), MOST_TIMEOUT)
        if self.wanted.outcome != "reproduced":
            raise self.refusal(
                f"{case.name} does not fail as declared on {build.name} ({self.wanted.detail}): try --build"
            )
        for _ in range(BASELINE_RUNS - 1):
            again, _unused = self._told(script)
            if not is_same(self.wanted, again):
                raise self.refusal(f"{case.name} does not show the same thing twice on {build.name}: {again.detail}")

    def run(self, code: str) -> tuple[Observation, RunResult]:
        """Run a text and judge it."""
        self._count += 1
        attempt = Attempt(str(self._count), code, f"{self._case.name}.py", seed=self._count, timeout=self._timeout)
        [result] = self._runner.run([attempt])
        seen = observe(self._case, result)
        self._is_passing = seen.outcome in PASSING or _lacked_memory(seen)
        return seen, result

    def refusal(self, text: str) -> MinimizeError:
        """The error that the latest run gives cause for."""
        return PassingError(text) if self._is_passing else MinimizeError(text)

    def _told(self, code: str) -> tuple[Observation, RunResult]:
        """Run a text below an empty line, which takes the hook that tells what variables hold."""
        return self.run(with_hook(f"\n{code}"))

    def outcome(self, code: str, is_over: Callable[[float], bool]) -> str:
        """Outcome of several runs of a text; where they differ a passing one, or ``flaky``.

        Raises:
            PassingError: the time is over before the last of them began.
        """
        outcomes: set[str] = set()
        for _ in range(BASELINE_RUNS):
            if is_over(0.0):
                raise PassingError(f"{self._case.name}: no time was left to run its texts together: try more --minutes")
            outcomes.add(self.run(code)[0].outcome)
        return outcomes.pop() if len(outcomes) == 1 else min(outcomes & PASSING, default="flaky")

    def is_interesting(self, candidate: str) -> bool:
        """Whether a text shows the very failure of the whole script."""
        if not keeps_calls(self._subjects, calls_of(candidate, self._subjects.keys())):
            return False
        seen, result = self._told(candidate)
        if not is_same(self.wanted, seen):
            return False
        if self._case.oracle == "output" and last_line(result.stdout) != self._printed:
            return False
        if self._failing is not None and not keeps(self._failing, self._failing_call(candidate, result)):
            return False
        return self._values.items() <= self._values_of(candidate, result).items()

    def _values_of(self, code: str, result: RunResult) -> dict[str, str]:
        """What the variables of the failing line hold."""
        place = place_of(result.stderr, f"{self._case.name}.py")
        used = names_in(f"\n{code}", place.line) if place is not None else frozenset()
        return {name: told for name, told in described(result.stderr).items() if name in used}

    def _failing_call(self, code: str, result: RunResult) -> Shape | None:
        """The call that failed, or printed what is wrong, with its arguments."""
        if self._case.oracle == "output":
            return failing(code, None)
        place = place_of(result.stderr, f"{self._case.name}.py")
        return failing(f"\n{code}", place) if place is not None else None


def reduce_case(
    case: Case, script: str, verbatim: str | None, build: Build, registry: Registry, progress: Progress
) -> Reduction:
    """Make the script of a case small.

    Args:
        case: says what counts.
        script: the runnable text, without the metadata of the case.
        verbatim: the text as reported, to be run beside; None where it cannot run as it is.
        build: where the failure shows.
        registry: of builds.
        progress: is told what the whole script shows, and of a text that shows something else.

    Raises:
        MinimizeError: the case judges itself, does not fail here, or its texts disagree afterwards.
    """
    with registry.using(build):
        made = reduce_on(case, script, verbatim, build, progress)
    if shown := made.alarm:
        progress.said(f"alarm: the text as reported shows something else here ({shown}): look at the edits")
    return made


def reduce_on(
    case: Case,
    script: str,
    verbatim: str | None,
    build: Build,
    progress: Progress | None = None,
    is_over: Callable[[float], bool] = lambda _: False,
    stop: threading.Event | None = None,
) -> Reduction:
    """Do the work of ``reduce_case`` on a build that is held; touches neither registry nor database.

    ``is_over`` is asked whether fewer than so many seconds are left: before each test, which then ends the reduction
    with what there is, for what the runs of all texts together take; and before each of these runs. ``stop`` ends the
    run that is under way.

    Raises:
        MinimizeError: as ``reduce_case``; a PassingError where another call may do better.
        RunsStoppedError: ``stop`` was set.
    """
    if case.oracle == "self":
        raise MinimizeError(
            f"{case.name} judges itself: only scripts that are judged by their failure can be minimised"
        )
    started = time.monotonic()
    with Runner(build.python, "hostile", doctor.prove(), stop=stop) as runner:
        trial = Trial(case, script, build, runner)
        if progress is not None:
            progress.said(f"{case.name} on {build.name}: {trial.wanted.detail}")
        together = BASELINE_RUNS * (3 if verbatim else 2) * trial.duration
        try:
            minimized = minimize(script, trial.is_interesting, is_over=lambda: is_over(together))
        except MinimizeError as error:
            raise trial.refusal(str(error)) from error
        texts = {"runnable": script, "minimal": minimized.code} | ({"verbatim": verbatim} if verbatim else {})
        agree = {name: trial.outcome(text, is_over) for name, text in texts.items()}
    if not agree["runnable"] == agree["minimal"] == "reproduced":
        outcomes = ", ".join(f"{name} {outcome}" for name, outcome in agree.items())
        kind = PassingError if PASSING & {agree["runnable"], agree["minimal"]} else MinimizeError
        raise kind(f"{case.name}: its texts disagree when run together ({outcomes}): nothing was kept")
    return Reduction(
        case,
        build,
        minimized,
        len(script),
        len(minimized.code),
        lines(script),
        lines(minimized.code),
        time.monotonic() - started,
        trial.wanted.detail,
        agree,
    )


def is_same(wanted: Observation, seen: Observation) -> bool:
    """Whether a run showed the very failure that is to be kept: signature, message and frame."""
    if seen.outcome != wanted.outcome:
        return False
    one, other = wanted.signature, seen.signature
    if one is None or other is None:
        return one is other
    return (one.kind, one.type, one.message) == (other.kind, other.type, other.message) and _torch_frame(
        one.place
    ) == _torch_frame(other.place)


def _torch_frame(place: str) -> str:
    """The frame an exception came from, if it is not of the script: the script's own functions may go."""
    file, _, function = place.partition(":")
    return "" if file.startswith("x") or function == "<module>" else place


def lines(code: str) -> int:
    """Lines that hold something."""
    return sum(bool(line.strip()) for line in code.splitlines())


def write(connection: duckdb.DuckDBPyConnection, made: Reduction) -> None:
    """Keep the minimal text and the passes that led to it, in a transaction of the writer."""
    name = made.case.name
    artifact = {"name": name, "kind": "minimal", "code": made.minimized.code, "made_at": now_utc()}
    rows.replace(connection, "artifacts", ("name", "kind"), [artifact])
    connection.execute("DELETE FROM edits WHERE name = ? AND kind = 'minimal'", [name])
    rows.append(connection, "edits", [_edit(name, place, made) for place in range(len(made.minimized.steps))])


def _edit(name: str, place: int, made: Reduction) -> dict[str, Any]:
    step = made.minimized.steps[place]
    return {
        "name": name,
        "kind": "minimal",
        "position": place,
        "action": step.name,
        "before": f"{step.before} characters",
        "after": f"{step.after} characters",
        "reason": f"{step.tests} candidates tried on {made.build.name}",
    }
