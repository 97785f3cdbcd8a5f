"""How a build is measured: a case by a sweep, whatever ends with an exit code by runs; scripts run in the sandbox."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch_embers.sandbox.policy import REVIEWED
from torch_embers.sandbox.runner import Attempt
from torch_embers.signature import from_traceback
from torch_embers.statistics.absence import AbsenceRules
from torch_embers.verdicts.verdict import SKIP, Control, Observation, decide, last_line, planned, speaks_of_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.bisect.request import Hang
    from torch_embers.bisect.search import History
    from torch_embers.builds.registry import Build, Registry
    from torch_embers.builds.work import Machine
    from torch_embers.sandbox.runner import RunResult
    from torch_embers.verdicts.executor import Executor, SweepRequest
    from torch_embers.verdicts.verdict import Decision


class CaseMeasure:
    """Measures a case: a sweep over one build, so that controls, fresh starts and stored verdicts are those of `run`.

    Args:
        usual: makes the sweeps.
        larger: the same, with controls of the size for flaky cases; makes all sweeps from the first on whose control
            hits too rarely to show that the build is clean.
        request: the case; verdicts from before ``since`` do not count.
        registry: of the builds that can be controls.
    """

    def __init__(self, usual: Executor, larger: Executor, request: SweepRequest, registry: Registry) -> None:
        self._executor, self._larger, self._request, self._registry = usual, larger, request, registry

    def __call__(self, build: Build, /, *, fresh: bool) -> Decision:
        """Return the verdict of a sweep."""
        decision = self._swept(build, fresh=fresh)
        if decision.verdict == "not_seen" and decision.control.kind == "build" and self._executor is not self._larger:
            self._executor = self._larger
            return self._swept(build, fresh=True)
        return decision

    def _swept(self, build: Build, *, fresh: bool) -> Decision:
        request = replace(self._request, builds=[build], controls=self._registry.installed())
        [cell] = self._executor.sweep(self._executor.afresh(request) if fresh else request)
        return cell.decision


class ExitCodeMeasure:
    """Measures whatever ends with an exit code of `git bisect run`: runs until the number that the control asks for.

    The first build that shows the bug makes all its runs and is the control of the others. With one run there is no
    rate to measure: each build has one run, and its word is taken. A search that goes on has its control already.
    """

    def __init__(
        self, once: Callable[[Build, int], Iterator[Observation]], runs: int, control: Control | None = None
    ) -> None:
        self._once, self._runs = once, runs
        self._control = control if control is not None and runs > 1 else Control()
        self._rules = AbsenceRules.load()

    def __call__(self, build: Build, /, *, fresh: bool) -> Decision:
        """Return the verdict of as many runs as the control asks for."""
        del fresh  # runs are never stored
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


def doubted(found: History) -> History:
    """No answer where no run of a script or command was good: then it may be what fails, and not the builds."""
    shown = [reply for reply in found.replies.values() if reply.answer == "yes"]
    if found.kind != "always" or any(reply.hits < reply.runs for reply in shown):
        return found
    reason = "it never exited 0 on any build, so it may fail for a reason of its own"
    return replace(found, kind="cannot tell", reason=reason)


# ---- runs ----------------------------------------------------------------------------------------------------------


def sandbox_runs(
    machine: Machine, build: Build, attempts: Sequence[Attempt], profile: str = REVIEWED
) -> Iterator[RunResult]:
    """Runs in the sandbox, shared among three fresh starts.

    Raises:
        BuildError: the build is gone, or became another one.
    """
    share = max(1, -(-len(attempts) // AbsenceRules.load().zygotes))
    with machine.on(build, profile) as runner:
        for at in range(0, len(attempts), share):
            runner.close()
            yield from runner.run(attempts[at : at + share])


def script_runs(
    name: str, code: str, machine: Machine, *, timeout: float, hang_is: Hang
) -> Callable[[Build, int], Iterator[Observation]]:
    """Runs of a user's own script.

    A death by a signal is the bug, as exit 1 is; a missing package or interface speaks of the script, not of the bug.
    """

    def runs(build: Build, count: int) -> Iterator[Observation]:
        attempts = [Attempt(str(n), code, name, seed=n, timeout=timeout, finalise=True) for n in range(count)]
        return (_script_observation(result, hang_is) for result in sandbox_runs(machine, build, attempts))

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
        return no_end(result.detail, hang_is)
    return Observation("sandbox_error", None, result.detail)


def exit_observation(code: int, said: str) -> Observation:
    """What an exit code says: 0 good, 125 cannot be tested, any other up to 127 bad."""
    if code == 0:
        return Observation("not_reproduced", None, said or "exit 0")
    if code == SKIP:
        return Observation("cannot_run", None, said or "exit 125")
    return Observation("reproduced", None, said or f"exit {code}")


def no_end(said: str, hang_is: Hang) -> Observation:
    """What a run says that did not end in time."""
    return Observation("reproduced" if hang_is == "bad" else "timeout", None, said)
