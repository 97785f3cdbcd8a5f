"""Which worker of this machine makes which run next: few starts of zygotes, and no worker that waits for another.

A turn of a batch is what one freshly started zygote contributes to it. Batches do not go from turn to turn together: a
batch takes its next turn from any zygote of its build that has not made runs for it yet, so one zygote serves a turn of
each batch, whichever turn that is, and batches that take many turns (fresh starts) do not hold up the others. A worker
starts a zygote anew when it has served all that wait, and longest batches go first, so that no worker is left with a
long one at the end. A case that only sleeps (its bug is a wait without end) leaves its processor to others: while it
runs, one more worker does. What a batch asks for and when it has enough is its own matter (``verdicts/batch.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_embers.sandbox.runner import Attempt, Worker, drive
from torch_embers.verdicts.verdict import TIMED, observe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.sandbox.runner import Runner, RunResult
    from torch_embers.statistics.absence import AbsenceRules
    from torch_embers.verdicts.batch import Batch
    from torch_embers.verdicts.verdict import Observation

SHORT, LONG = 0.05, 5.0
"""Seconds that a run is taken to last before one was made: of a case that watches a clock or memory, the longer."""
START = 1.5
"""Seconds that the start of a zygote is taken to cost: a second worker starts one where more work than this waits."""
IDLE_AFTER, IDLE_SHARE = 1.0, 0.25
"""A run sleeps that lasts this long (seconds) and neither uses nor waits for a processor in more of it than this."""
SPARE = 1
"""Workers beyond the number of jobs, for while others sleep: each holds a zygote in memory."""
LEAST_MEMORY = 4 << 30
"""Bytes that every run may take; a case that says that it needs more gets more."""


@dataclass(frozen=True, slots=True)
class Made:
    """A run that has ended and counts.

    Attributes:
        number: its place among the runs of the batch, or among those with an injected fault, from 0.
    """

    attempt: Attempt
    result: RunResult
    observation: Observation
    number: int


@dataclass(eq=False, slots=True)
class Course:
    """A batch on its way through its turns.

    Attributes:
        turn: the present one, from 0; -1 before the first.
        served_by: numbers of the zygotes that have made runs for it.
        under_way: whether a worker has it.
        seconds: how long its next run may last.
        sleeps: whether its last run left its processor to others.
    """

    batch: Batch
    turn: int = -1
    served_by: set[int] = field(default_factory=set)
    under_way: bool = False
    seconds: float = SHORT
    sleeps: bool = False

    def __post_init__(self) -> None:
        """Take a case that watches a clock or memory for a long one."""
        kinds = {signature.kind for signature in self.batch.case.signature}
        if kinds & {*TIMED, "memory"}:
            self.seconds = LONG

    def begin_turn(self, zygote: int, rules: AbsenceRules) -> bool:
        """Let a zygote serve the next turn that wants a run; whether there is one."""
        while self.turn + 1 < self.batch.turns(rules) and not self.batch.is_settled(rules):
            self.turn += 1
            self.batch.begin_turn()
            if self.wants(rules):
                self.served_by.add(zygote)
                return True
        self.turn = self.batch.turns(rules)
        return False

    def wants(self, rules: AbsenceRules) -> bool:
        """Whether the present turn makes a further run."""
        return self.batch.wants_injection(self.turn, rules) or self.batch.wants(self.turn, rules)

    def is_over(self, rules: AbsenceRules) -> bool:
        """Whether no further turn of it is made."""
        return self.turn + 1 >= self.batch.turns(rules) or self.batch.is_settled(rules)

    def note(self, result: RunResult) -> None:
        """Expect the next run to be like this one."""
        self.seconds = result.duration
        busy = result.cpu + result.waited
        self.sleeps = result.duration >= IDLE_AFTER and busy <= IDLE_SHARE * result.duration


@dataclass(eq=False, slots=True)
class RunnerBatches:
    """The batches that one runner makes: those of a build, a profile and a set of modules."""

    runner: Runner
    courses: list[Course]

    def waiting(self, *, asleep: bool = False) -> list[Course]:
        """Those that no worker has, the longest first; of them only those that sleep where ``asleep``."""
        fitting = (one for one in self.courses if not one.under_way and one.sleeps >= asleep)
        return sorted(fitting, key=lambda one: -one.seconds)


@dataclass(eq=False, slots=True)
class Seat:
    """A worker with what it does now.

    Attributes:
        zygote: number of its zygote, other for each start; 0 before the first.
        inject: whether the present run is one with an injected fault.
    """

    worker: Worker
    share: RunnerBatches
    zygote: int = 0
    course: Course | None = None
    inject: bool = False
    attempt: Attempt | None = None


class Schedule:
    """Makes the runs of batches with ``jobs`` workers.

    Args:
        shares: each runner with its batches, none of them settled.
        rules: numbers of data/verdicts.toml.
        jobs: runs at a time, those that only sleep not counted.
        said: is told which runs are made again.
    """

    def __init__(
        self,
        shares: Sequence[tuple[Runner, Sequence[Batch]]],
        rules: AbsenceRules,
        jobs: int,
        said: Callable[[str], None],
    ) -> None:
        self._shares = [RunnerBatches(runner, [Course(batch) for batch in batches]) for runner, batches in shares]
        self._rules = rules
        self._said = said
        self._started = 0
        self._jobs = max(1, jobs)
        first = self._shares[0]
        seats = (Seat(Worker(first.runner), first) for _ in range(self._jobs + SPARE))
        self._seats = {id(seat.worker): seat for seat in seats}

    def run(self) -> Iterator[tuple[Batch, Made]]:
        """Each run when it has ended and counts, after its batch has taken it."""
        workers = [seat.worker for seat in self._seats.values()]
        try:
            for worker, result in drive(workers, self._next):
                seat = self._seats[id(worker)]
                course = seat.course
                made = self._taken(seat, result)
                self._release(seat)
                if made is not None and course is not None:
                    yield course.batch, made
        finally:
            for worker in workers:
                worker.close()

    def _next(self, worker: Worker) -> Attempt | None:
        """The next run for a worker: of its present turn, of another batch from the same zygote, or from a new one."""
        seat = self._seats[id(worker)]
        if seat.course is None:
            self._choose(seat)
        if seat.course is None:
            return None
        seat.inject = seat.course.batch.wants_injection(seat.course.turn, self._rules)
        seat.attempt = _attempt(seat.course.batch, seat.course.turn, inject=seat.inject)
        return seat.attempt

    def _release(self, seat: Seat) -> None:
        """Let others take a batch whose turn is over: at once, as workers without work are asked before this one."""
        if (course := seat.course) is not None and not course.wants(self._rules):
            seat.course, course.under_way = None, False
            if course.is_over(self._rules):
                seat.share.courses.remove(course)

    def _choose(self, seat: Seat) -> None:
        """Give a worker a batch whose next turn its zygote can serve; else start another zygote, where that pays.

        Where as many as jobs are busy already, only a batch that sleeps.
        """
        courses = [one.course for one in self._seats.values() if one.course is not None]
        full = sum(not course.sleeps for course in courses) >= self._jobs
        if seat.zygote and self._take_up(seat, asleep=full):
            return
        for share in sorted(self._shares, key=lambda share: -sum(one.seconds for one in share.waiting(asleep=full))):
            if self._pays(share, seat, asleep=full):
                self._started += 1
                seat.worker.close()
                seat.worker.runner, seat.share, seat.zygote = share.runner, share, self._started
                if self._take_up(seat, asleep=full):
                    return

    def _take_up(self, seat: Seat, *, asleep: bool) -> bool:
        """Begin a turn of the longest batch that waits and that this zygote has not served."""
        for course in seat.share.waiting(asleep=asleep):
            if seat.zygote in course.served_by:
                continue
            if course.begin_turn(seat.zygote, self._rules):
                seat.course, course.under_way = course, True
                return True
            seat.share.courses.remove(course)
        return False

    def _pays(self, share: RunnerBatches, seat: Seat, *, asleep: bool) -> bool:
        """Whether to start a zygote: something waits that no other worker's zygote serves, or much waits for it."""
        waiting = share.waiting(asleep=asleep)
        others = [one.zygote for one in self._seats.values() if one is not seat and one.share is share and one.zygote]
        if any(all(zygote in course.served_by for zygote in others) for course in waiting):
            return True
        turns = (course.seconds * max(1, course.batch.planned // self._rules.zygotes) for course in waiting)
        return sum(turns) > START

    def _taken(self, seat: Seat, result: RunResult) -> Made | None:
        """Hand a result to its batch; None where the run is made again."""
        course, attempt = seat.course, seat.attempt
        if course is None or attempt is None:
            raise AssertionError("a worker has ended a run that nobody asked for")
        course.note(result)
        if course.batch.makes_again(result, self._rules):
            busy = f"it waited for a processor in {result.waited:.0f} of {result.duration:.0f} s"
            self._said(f"{course.batch.case.name} is run again: {busy}")
            return None
        batch, observation = course.batch, observe(course.batch.case, result)
        if attempt.inject:
            batch.injected.append(observation)
        else:
            batch.take(observation, self._rules)
        return Made(attempt, result, observation, (len(batch.injected) if attempt.inject else batch.made) - 1)


def _attempt(batch: Batch, turn: int, *, inject: bool) -> Attempt:
    """The next run of a batch in a turn."""
    case = batch.case
    return Attempt(
        key="",
        code=case.code,
        name=f"{case.name}.py",
        seed=batch.seed(turn, len(batch.injected) if inject else batch.made),
        timeout=case.timeout,
        memory=max(LEAST_MEMORY, case.memory),
        threads=case.threads,
        finalise=case.finalise,
        inject=inject,
    )
