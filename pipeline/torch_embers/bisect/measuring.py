"""How a place is measured: a case by a sweep, a script in the sandbox, a predicate as `git bisect run` would."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Literal, Protocol

from torch_embers.builds.registry import BuildError
from torch_embers.errors import InputError
from torch_embers.oracles.signature import from_traceback
from torch_embers.sandbox.runner import Attempt
from torch_embers.statistics.absence import Rules
from torch_embers.verdicts.executor import Executor, SweepRequest
from torch_embers.verdicts.verdict import SKIP, Control, Observation, decide, last_line, planned, speaks_of_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from torch_embers.bisect.replies import Measure
    from torch_embers.bisect.search import History
    from torch_embers.builds.registry import Build, Registry
    from torch_embers.builds.work import Machine
    from torch_embers.cases.case import Case
    from torch_embers.progress import Progress
    from torch_embers.sandbox.runner import RunResult
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer
    from torch_embers.verdicts.verdict import Decision

ABORTS = 128
"""`git bisect run` stops at this exit code and above."""
MOST_OUTPUT = 16 << 20
"""Bytes of a command's output that are kept on the disk; what is older than its end is dropped."""
TAIL = 64 << 10
"""Bytes of the end of the output that are read."""
GLANCE_SECONDS = 0.2
"""How often the size of the output is looked at."""


class Builds(Protocol):
    """The builds of the places of a list."""

    registry: Registry

    def of(self, place: int, /) -> Build | None:
        """The build of a place; None where there is none and none can be had."""


class Lasting:
    """A measure for which a build that goes away, or becomes another one, while it is asked about has no answer.

    The search goes on with the other builds, as it does where one was never installed.

    Args:
        measure: what is asked.
        progress: is told which build had no answer, and why.
    """

    def __init__(self, measure: Measure, progress: Progress) -> None:
        self._measure, self._progress = measure, progress

    def __call__(self, place: int, /, *, fresh: bool, large: bool) -> Decision | None:
        """Return the verdict of a place; None where its build is gone."""
        try:
            return self._measure(place, fresh=fresh, large=large)
        except BuildError as error:
            self._progress.said(f"{error}; the search goes on without it")
            return None


class CaseMeasure:
    """Measures a case: a sweep over one build, so that controls, fresh starts and stored verdicts are those of `run`.

    Args:
        places: finds the builds.
        since: with ``batch``, verdicts from before do not count.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        machine: Machine,
        progress: Progress,
        case: Case,
        places: Builds,
        *,
        large_control: int,
        jobs: int = 1,
        batch: int = 0,
        since: datetime | None = None,
    ) -> None:
        rules = Rules.load()
        sizes = {"control_batch": large_control, "slow_control_batch": large_control}
        self._executors = {
            large: Executor(store, writer, machine, progress, used)
            for large, used in ((False, rules), (True, rules.model_copy(update=sizes)))
        }
        self._case, self._places = case, places
        self._jobs, self._batch, self._since = jobs, batch, since

    def __call__(self, place: int, /, *, fresh: bool, large: bool) -> Decision | None:
        """Return the verdict of a sweep."""
        build = self._places.of(place)
        if build is None:
            return None
        executor, controls = self._executors[large], self._places.registry.installed()
        request = SweepRequest([self._case], [build], controls, self._jobs, self._batch, self._since)
        [cell] = executor.sweep(executor.afresh(request) if fresh else request)
        return cell.decision


class ExitCodeMeasure:
    """Measures whatever ends with an exit code of `git bisect run`: runs until the number that the control asks for.

    The first build that shows the bug makes all its runs and is the control of the others. With one run there is no
    rate to measure: each build has one run, and its word is taken. A search that goes on has its control already.
    """

    def __init__(
        self,
        once: Callable[[Build, int], Iterator[Observation]],
        build_of: Callable[[int], Build | None],
        runs: int,
        control: Control | None = None,
    ) -> None:
        self._once, self._build_of, self._runs = once, build_of, runs
        self._control = control if control is not None and runs > 1 else Control()
        self._rules = Rules.load()

    def __call__(self, place: int, /, *, fresh: bool, large: bool) -> Decision | None:
        """Return the verdict of as many runs as the control asks for."""
        del fresh, large  # runs are never stored, and the control is as large as the user says
        build = self._build_of(place)
        if build is None:
            return None
        measures = self._control.kind == "none"
        wanted = self._runs if measures else planned(self._control, self._rules)
        seen: list[Observation] = []
        for observation in self._once(build, wanted + self._rules.confirmations):
            seen.append(observation)
            if self._is_settled(seen, wanted, measures=measures):
                break
        decision = decide(seen, self._control, wanted, self._rules)
        if decision.verdict == "occurs" and measures and self._runs > 1:
            self._control = Control("build", build.identity, decision.hits, decision.runs)
        return decision

    def _is_settled(self, seen: Sequence[Observation], wanted: int, *, measures: bool) -> bool:
        hits = sum(o.outcome == "reproduced" for o in seen)
        if hits > self._rules.confirmations and not measures:
            return True
        if len(seen) >= self._rules.zygotes and all(o.outcome == "cannot_run" for o in seen):
            return True
        return len(seen) >= wanted + (self._rules.confirmations if hits and not measures else 0)


Hang = Literal["bad", "skip"]
"""What a run means that does not end in time: the bug, or a build that cannot be tested."""


def script_runs(
    name: str, code: str, machine: Machine, *, timeout: float, hang_is: Hang
) -> Callable[[Build, int], Iterator[Observation]]:
    """Runs of a user's own script in the sandbox, three fresh starts a build.

    A death by a signal is the bug, as exit 1 is; a missing package or interface speaks of the script, not of the bug.
    """

    def runs(build: Build, count: int) -> Iterator[Observation]:
        share = max(1, -(-count // Rules.load().zygotes))
        attempts = [Attempt(str(n), code, name, seed=n, timeout=timeout, finalise=True) for n in range(count)]
        with machine.on(build) as runner:
            for at in range(0, count, share):
                runner.restart()
                for result in runner.run(attempts[at : at + share]):
                    yield _script_observation(result, hang_is)

    return runs


def _script_observation(result: RunResult, hang_is: Hang) -> Observation:
    seen = from_traceback(result.stderr)
    if result.ended in ("exited", "signalled") and seen is not None and speaks_of_script(seen):
        return Observation("cannot_run", seen, str(seen))
    if result.ended == "signalled":
        return Observation("reproduced", None, result.detail)
    if result.ended == "exited":
        return exit_observation(result.exit_code or 0, last_line(result.stderr or result.stdout))
    if result.ended == "timeout":
        return _no_end(result.detail, hang_is)
    return Observation("sandbox_error", None, result.detail)


def _no_end(said: str, hang_is: Hang) -> Observation:
    return Observation("reproduced" if hang_is == "bad" else "timeout", None, said)


def predicate_runs(
    command: str, registry: Registry, *, timeout: float, hang_is: Hang
) -> Callable[[Build, int], Iterator[Observation]]:
    """Runs of a command with the user's own rights.

    It finds the interpreter of the build in ``EMBERS_PYTHON`` and its version in ``EMBERS_VERSION``; ``{python}`` and
    ``{version}`` in its words stand for the same.

    Raises:
        InputError: the command is empty or its quotes do not close.
    """
    words = words_of(command)

    def runs(build: Build, count: int) -> Iterator[Observation]:
        stands_for = {"{python}": str(build.python), "{version}": build.public_version}
        call = [_filled(word, stands_for) for word in words]
        environment = os.environ | {"EMBERS_PYTHON": str(build.python), "EMBERS_VERSION": build.public_version}
        with registry.using(build):
            for number in range(count):
                yield _predicate_run(call, environment | {"EMBERS_SEED": str(number)}, timeout, hang_is)

    return runs


def words_of(command: str) -> list[str]:
    """The words of a command, split as a shell does.

    Raises:
        InputError: there is none, or its quotes do not close.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--predicate {command}: {error}: quote it as a shell would") from error
    if not words:
        raise InputError("--predicate is empty: give a command, such as 'python check.py' or '{python} check.py'")
    return words


def identity_of(command: str) -> tuple[str, list[str]]:
    """What decides what a command does, as far as it can be seen: the folder it runs in, and its words that are files.

    Raises:
        InputError: as of ``words_of``, or a file cannot be read.
    """
    digests = []
    for path in map(Path, words_of(command)):
        try:
            if path.is_file():
                with path.open("rb") as file:
                    digests.append(file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise InputError(f"--predicate {path}: {error.strerror or error}: give a file that can be read") from error
    return str(Path.cwd()), digests


def _filled(word: str, stands_for: dict[str, str]) -> str:
    for name, value in stands_for.items():
        word = word.replace(name, value)
    return word


def _predicate_run(call: Sequence[str], environment: dict[str, str], timeout: float, hang_is: Hang) -> Observation:
    with TemporaryFile("ab+") as out, TemporaryFile("ab+") as err:  # a pipe would last as long as any child holds it
        try:
            process = subprocess.Popen(
                call, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
        except OSError as error:
            what = f"--predicate {call[0]}: {error.strerror or error}"
            raise InputError(f"{what}: give a program that can be run") from error
        code = _ended(process, (out, err), timeout)
        said = last_line(_tail(err)) or last_line(_tail(out))
    if code is None:
        return _no_end(f"no end within {timeout:g} s", hang_is)
    if code < 0 or code >= ABORTS:
        raise InputError(
            f"--predicate ended with {code if code >= 0 else f'signal {-code}'}: 128 and above stop a bisection, as in "
            "`git bisect run`; let it end with 1 where that is the bug, with 125 where it cannot be tested"
        )
    return exit_observation(code, said)


def _ended(process: subprocess.Popen[bytes], outputs: Sequence[IO[bytes]], timeout: float) -> int | None:
    """The exit code; None after the time limit. Whatever is left of the command's process group is killed in any case.

    A child in the background would take processor time from the next build, or answer in its place. One that makes a
    session of its own lives on.
    """
    deadline = time.monotonic() + timeout
    try:
        while (left := deadline - time.monotonic()) > 0:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(min(left, GLANCE_SECONDS))
            for output in outputs:
                if os.fstat(output.fileno()).st_size > MOST_OUTPUT:
                    output.truncate(0)
        return None
    finally:
        with suppress(ProcessLookupError, PermissionError):  # macOS: no permission where only zombies are left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _tail(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - TAIL))
    return output.read(TAIL).decode("utf-8", "replace")


def doubted(found: History) -> History:
    """No answer where no run of a script or command was good: then it may be what fails, and not the builds."""
    shown = [reply for reply in found.replies.values() if reply.answer == "yes"]
    if found.kind != "always" or any(reply.hits < reply.runs for reply in shown):
        return found
    reason = "it never exited 0 on any build, so it may fail for a reason of its own"
    return replace(found, kind="cannot tell", reason=reason)


def exit_observation(code: int, said: str) -> Observation:
    """What an exit code says: 0 good, 125 cannot be tested, any other up to 127 bad."""
    if code == 0:
        return Observation("not_reproduced", None, said or "exit 0")
    if code == SKIP:
        return Observation("cannot_run", None, said or "exit 125")
    return Observation("reproduced", None, said or f"exit {code}")
