"""From runs to verdicts: pure rules, with their numbers in ``data/verdicts.toml``.

One run has an outcome. Runs of one case on one build in one environment, together with a control, have a verdict. A
clean verdict says how rare a failure could still be: the number of clean runs follows from the control's hit rate, and
is fixed before the first of them.

The statistics: C. Clopper and E. Pearson, Biometrika 26 (1934), for the bound of the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

from pydantic import Field

from torch_embers.cases import fix_test_rules
from torch_embers.signature import Signature, any_matches, from_traceback, of_exception, signal_name
from torch_embers.statistics.absence import FILE, AbsenceRules, runs_needed
from torch_embers.statistics.intervals import detectable_rate
from torch_embers.toml_models import Entry, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.cases.case import Case
    from torch_embers.sandbox.runner import RunResult


Outcome = Literal[
    "reproduced", "not_reproduced", "different_failure", "cannot_run", "timeout", "out_of_memory", "sandbox_error"
]
Verdict = Literal["occurs", "absent", "not_seen", "changed", "control_failed", "untestable", "inconclusive"]
ControlKind = Literal["build", "injected", "none"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
USABLE: frozenset[Outcome] = frozenset({"reproduced", "not_reproduced", "different_failure"})
"""Outcomes that say something about the bug."""

TIMED = ("hang", "slow")
"""Kinds of signatures that a case sees by its clock."""

RIGHT, BUG, SKIP = 0, 1, 125
"""Exit codes of a case with oracle ``self``, as `git bisect run` has them."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one run says."""

    outcome: Outcome
    signature: Signature | None
    """The failure that was seen, if any."""
    detail: str


class _Excuse(Entry):
    """An exception that speaks of the script, not of the bug."""

    type: str
    message: str = ""
    reason: str = Field(min_length=1)


class _File(Entry):
    runs: AbsenceRules
    cannot_run: tuple[_Excuse, ...]


@cache
def _file() -> _File:
    return load(_File, FILE)


# ---- one run -------------------------------------------------------------------------------------------------------


def observe(case: Case, run: RunResult) -> Observation:
    """What one run of a case says about its bug.

    The word of the kernel counts (exit code, signal, limits hit), never a marker in the output.
    """
    family = case.signature
    if run.ended == "sandbox_error":
        return Observation("sandbox_error", None, run.detail)
    own_watchdog = case.oracle == "self"
    if run.ended == "timeout":
        seen = Signature("hang")
        hit = not own_watchdog and any_matches(family, seen)
        return Observation("reproduced" if hit else "timeout", seen, run.detail)
    if run.ended == "memory":
        seen = Signature("memory")
        hit = not own_watchdog and any_matches(family, seen)
        return Observation("reproduced" if hit else "out_of_memory", seen, run.detail)
    if run.ended not in ("exited", "signalled"):
        return Observation("different_failure", None, run.detail)
    if run.signal is not None:
        seen = Signature("signal", signal_name(run.signal))
        return Observation("reproduced" if any_matches(family, seen) else "different_failure", seen, f"ended by {seen}")
    match case.oracle:
        case "self":
            return _self(case, run)
        case "test":
            return _test(case, run)
        case _:
            return _by_signature(case, run)


def _self(case: Case, run: RunResult) -> Observation:
    last = last_line(run.stdout)
    if run.exit_code == RIGHT:
        return Observation("not_reproduced", None, last or "exit 0")
    if run.exit_code == SKIP:
        return Observation("cannot_run", None, last or "exit 125")
    seen = from_traceback(run.stderr)
    if run.exit_code != BUG or seen is not None:
        return _failed(run, seen)
    if not last:
        return Observation("different_failure", None, "exit 1 without a line that says what was seen")
    return Observation("reproduced", case.signature[0], last)


def _test(case: Case, run: RunResult) -> Observation:
    """A fix test: it passes, fails in its own body, or says nothing; rules tell a failure from one of the harness."""
    last = last_line(run.stdout)
    if run.exit_code == RIGHT:
        return Observation("not_reproduced", None, last or "exit 0")
    seen = from_traceback(run.stderr)
    if run.exit_code != BUG or seen is None:
        return Observation("cannot_run", seen, f"not_loaded: {seen}" if seen else last or f"exit {run.exit_code}")
    for rule in fix_test_rules.load().harness:
        known = of_exception(rule.type, rule.message)
        fits = rule.type in ("", seen.type) and known.message.lower() in seen.message.lower()
        if fits and (rule.frame is None or rule.frame.search(run.stderr)):
            return Observation("cannot_run", seen, f"{rule.id}: {seen}")
    if any_matches(case.signature, seen):
        return Observation("reproduced", seen, str(seen))
    return Observation("different_failure", seen, str(seen))


def _by_signature(case: Case, run: RunResult) -> Observation:
    """A case that fails by its exception alone."""
    if run.exit_code == 0:
        return Observation("not_reproduced", None, last_line(run.stdout) or "exit 0")
    seen = from_traceback(run.stderr)
    if seen is not None and any_matches(case.signature, seen):
        return Observation("reproduced", seen, str(seen))
    return _failed(run, seen)


def _failed(run: RunResult, seen: Signature | None) -> Observation:
    """An end that is not the declared one: the script's own trouble, or another failure."""
    if seen is None:
        return Observation("different_failure", None, f"exit {run.exit_code}: {last_line(run.stderr) or 'no message'}")
    if seen.kind == "memory":
        return Observation("cannot_run", seen, f"memory was refused: {seen}")
    if speaks_of_script(seen):
        return Observation("cannot_run", seen, str(seen))
    return Observation("different_failure", seen, str(seen))


def speaks_of_script(seen: Signature) -> bool:
    """Whether an exception is the script's own trouble: a missing package, interface or device."""
    excuses = ((of_exception(excuse.type, excuse.message)) for excuse in _file().cannot_run)
    return any(seen.type == known.type and known.message.lower() in seen.message.lower() for known in excuses)


def was_hindered(case: Case, run: RunResult, rules: AbsenceRules) -> bool:
    """Whether a limit of time ended a run, or a part of it, and a busy machine may be why: then it says nothing.

    The sandbox does not count the time in which a run waits for a processor, up to a bound. A case that watches its
    children by the clock counts it: it says that it cannot be tested, or that it hangs.
    """
    if run.duration < rules.busy_after or run.waited < rules.busy_share * run.duration:
        return False
    if run.ended == "timeout":
        return run.duration - run.waited < case.timeout
    own_limit = run.exit_code == SKIP or (run.exit_code == BUG and any(s.kind in TIMED for s in case.signature))
    return run.ended == "exited" and case.oracle == "self" and own_limit


def last_line(text: str) -> str:
    """The last line that says anything, at most 300 characters of it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


# ---- how many runs -------------------------------------------------------------------------------------------------


def shares(runs: int, rounds: int) -> list[int]:
    """Runs spread over freshly started zygotes, the first ones get the rest."""
    return [runs // rounds + (place < runs % rounds) for place in range(rounds)]


def start_is_over(runs: Sequence[Observation], rules: AbsenceRules) -> bool:
    """Whether a fresh start has shown what it can: a run that was not clean, or as many clean ones as it makes."""
    return len(runs) >= rules.layout_forks or any(run.outcome != "not_reproduced" for run in runs)


def of_start(runs: Sequence[Observation]) -> Observation:
    """What a fresh start says as a whole: the first run that was not clean, else the first."""
    return next((run for run in runs if run.outcome != "not_reproduced"), runs[0])


# ---- many runs -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Control:
    """What shows that the case can see its bug here and now."""

    kind: ControlKind = "none"
    build: str | None = None
    hits: int = 0
    runs: int = 0

    @property
    def failed(self) -> bool:
        """Whether there is a control, and it does not see the bug."""
        return self.kind != "none" and self.runs > 0 and self.hits == 0


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict with what it rests on."""

    verdict: Verdict
    flaky: bool
    hits: int
    runs: int
    detectable_rate: float | None
    """For clean verdicts: the rate that would have been seen; None beside an injected fault, which shows no rate."""
    control: Control
    detail: str
    signature: Signature | None


def shown_fault(verdict: str, hits: int, runs: int) -> str:
    """What runs with an injected fault (control ``injected``) showed, with what follows beside this verdict."""
    if hits:
        return f"injected fault noticed {hits}/{runs}, which shows only that the check can fail"
    # where the case itself says nothing here, its fault cannot
    return f"injected fault not noticed (0/{runs})" + ": mend the case" * (
        verdict not in ("untestable", "inconclusive")
    )


def why_unseen(control: str) -> str:
    """Why clean runs beside a control of this kind show no absence and are ``not_seen``."""
    return "the control shows the bug too rarely" if control == "build" else "no build here shows the bug"


def planned(control: Control, rules: AbsenceRules, *, by_start: bool = False) -> int:
    """Runs that a target needs, fixed before the first of them.

    Args:
        control: what it showed.
        rules: the numbers.
        by_start: whether fresh starts are counted.
    """
    if control.kind == "build":
        needed = runs_needed(control.hits, control.runs, rules)
        return rules.without_control if needed is None else min(needed, rules.layout_most if by_start else rules.most)
    return rules.without_control


def decide(seen: Sequence[Observation], control: Control, planned_runs: int, rules: AbsenceRules) -> Decision:
    """The verdict of these runs.

    Args:
        seen: all runs of the case on this build in this environment, of one batch.
        control: the control of this session.
        planned_runs: how many clean runs were asked for before the first.
        rules: the numbers.
    """
    hits = [o for o in seen if o.outcome == "reproduced"]
    usable = [o for o in seen if o.outcome in USABLE]
    other = [o for o in usable if o.outcome == "different_failure"]
    k, n = len(hits), len(usable)

    def say(verdict: Verdict, of: Iterable[Observation], *, clean: bool = False) -> Decision:
        shown = next(iter(of), None)
        # an injected fault shows that the check can fail, not that this machine could show the bug
        rate = detectable_rate(n, rules.miss) if clean and control.kind != "injected" else None
        detail = shown.detail if shown else "no runs"
        signature = shown.signature if shown and verdict in ("occurs", "changed") else None
        return Decision(verdict, 0 < k < n, k, n, rate, control, detail, signature)

    if k > 1 or (k == 1 and n == 1 and planned_runs == 1):
        return say("occurs", hits)
    if k == 1:
        return say("inconclusive", hits)
    if not usable:
        skipped = [o for o in seen if o.outcome == "cannot_run"]
        return say("untestable" if skipped and len(skipped) == len(seen) else "inconclusive", skipped or seen)
    if 2 * len(other) >= n:
        return say("changed", other)
    if other or n < planned_runs:
        return say("inconclusive", other or [o for o in seen if o.outcome not in USABLE] or usable)
    if control.failed:
        return say("control_failed", usable, clean=True)
    needed = runs_needed(control.hits, control.runs, rules) if control.kind == "build" else None
    if needed is not None and n >= needed:
        return say("absent", usable, clean=True)
    return say("not_seen", usable, clean=True)
