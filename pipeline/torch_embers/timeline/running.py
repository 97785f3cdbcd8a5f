"""Runs of scripts: what is missing in ``observations`` is made in the sandbox and kept; ending it early loses nothing.

Each script runs on each build with seed 0 and with seed 1, in zygotes whose hash seeds are these, too. Where the two
end or print differently each runs once more, so that numbers that follow the seed can be told from those that do not.
A timeout counts only where a fresh process repeats it; one seed is enough then, and the script runs in fresh processes
from then on. What a segment is said to have no longer (``confirm``) takes as many runs as the hit rate on the bad side
asks for, and a second batch of them.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter, defaultdict, deque
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from torch_embers.builds.registry import BuildError, cpu_here
from torch_embers.builds.work import WHOLE, note_builds
from torch_embers.normalize import now_utc
from torch_embers.sandbox.policy import HOSTILE
from torch_embers.sandbox.runner import Attempt, Worker, drive
from torch_embers.statistics.absence import AbsenceRules, runs_needed
from torch_embers.store import rows
from torch_embers.timeline import update_timelines
from torch_embers.timeline.behaviour import showing
from torch_embers.timeline.model import GAPS, LOUD, MIXED, Observation
from torch_embers.timeline.observe import limits, observe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine, Shard
    from torch_embers.progress import Progress
    from torch_embers.sandbox.runner import RunResult
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

COMMIT_SECONDS = 2.0
FIRST, SECOND = 1, 2
"""Batches."""
WORTH_JOINING = 10
"""Runs that must wait for one zygote before a second one is started for them."""
TRIES = 2
"""How often a run is made again that ended at its time limit only because it waited for a processor."""
NAME = "script.py"
CUT_OFF = GAPS | {"timeout", "out_of_memory"}
"""Endings of runs whose output does not count: how far they came depends on the machine."""
SEEN = tuple(field.name for field in fields(Observation))
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_SCRIPTS = """
SELECT DISTINCT script, code, environment
FROM scripts SEMI JOIN (SELECT unnest(?) AS repo, unnest(?) AS number) USING (repo, number)
WHERE script IS NOT NULL ORDER BY script
"""
_KNOWN = f"""
SELECT script, build, batch, attempt, {", ".join(SEEN)}
FROM observations WHERE script IN (SELECT unnest($scripts)) AND environment = $environment
"""
_GONE = """
WITH own AS (
    SELECT script, place, versions[-1] AS version, coalesce(match, '') AS match,
           list_contains($loud, ending) OR match = 'as_reported' OR ending = $mixed AND contains(what, 'SIG') AS is_bad,
           place = max(place) OVER (PARTITION BY script) AS is_newest
    FROM timelines
    WHERE script IN (SELECT unnest($scripts)) AND environment = $environment AND provenance = 'own'
        AND NOT list_contains($gaps, ending)
)
SELECT script, arg_max(version, place) FILTER (is_bad AND NOT is_newest), any_value(version) FILTER (is_newest)
FROM own GROUP BY script HAVING count(*) FILTER (is_bad AND NOT is_newest) > 0
    AND count(*) FILTER (is_newest AND match = 'as_reported') = 0
ORDER BY script
"""
"""The newest release on which each script was bad, and the newest that it runs on, where that is another behaviour."""


class Program(NamedTuple):
    """A script as it runs; its hash stands for all of it."""

    hash: str
    code: str
    environment: Mapping[str, str]


class RunKey(NamedTuple):
    """One run among those of a script on a build."""

    seed: int
    batch: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Todo:
    """A run that is wanted."""

    program: Program
    build: Build
    place: RunKey
    fresh: bool = False


FIRSTS = (RunKey(0, FIRST, 0), RunKey(1, FIRST, 0))
AGAIN = (RunKey(0, FIRST, 1), RunKey(1, FIRST, 1))


def threads_here() -> int:
    """Threads that a script gets on this machine: one per usable core, as a user's would."""
    return max(limits().least_threads, len(os.sched_getaffinity(0)))


def attempt_of(code: str, environment: Mapping[str, str], seed: int, threads: int) -> Attempt:
    """A run of a script; in a fresh process where it has variables: most count only as torch is imported."""
    numbers = limits()
    return Attempt(
        key="",
        code=code,
        name=NAME,
        seed=seed,
        timeout=numbers.compile_timeout if numbers.compiles.search(code) else numbers.timeout,
        memory=numbers.memory,
        threads=threads,
        fresh=bool(environment),
        environment=environment,
    )


def end_alike(one: Observation, other: Observation) -> bool:
    """Whether two runs on one build end alike and, where they came to their end, print the same, addresses apart."""
    if (one.ending, one.what) != (other.ending, other.what):
        return False
    return one.ending in CUT_OFF or _ADDRESS.sub("", one.printed) == _ADDRESS.sub("", other.printed)


def missing(seen: Mapping[RunKey, Observation]) -> list[RunKey]:
    """The first runs of a script on a build that are still to be made, in this order."""
    if (first := seen.get(FIRSTS[0])) is not None and first.ending == "timeout":  # another seed takes as long
        return []
    lacking = [place for place in FIRSTS if place not in seen]
    if lacking or end_alike(seen[FIRSTS[0]], seen[FIRSTS[1]]):
        return lacking
    return [place for place in AGAIN if place not in seen]


def series(runs: int, batch: int) -> list[RunKey]:
    """The places of so many runs of a batch, the seeds in turn."""
    return [RunKey(number % 2, batch, number // 2) for number in range(runs)]


class Runs:
    """What was observed of scripts on builds, and more of it; holds the builds that it uses while its block runs.

    Attributes:
        seen: by script and build (identity).
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        machine: Machine,
        builds: Sequence[Build],
        jobs: int,
        progress: Progress,
    ) -> None:
        self._store, self._writer, self._machine, self._progress = store, writer, machine, progress
        self._builds = {build.identity: build for build in builds}
        self._jobs = jobs
        self._threads = threads_here()
        places = note_builds(writer, ((build, cpu_here(self._threads)) for build in builds))
        self._environment = next(iter(places.values()), "")  # all run on this machine
        self._holding = ExitStack()
        self._usable: dict[str, bool] = {}
        self._waiting: list[dict[str, Any]] = []
        self._committed = time.monotonic()
        self.seen: dict[tuple[str, str], dict[RunKey, Observation]] = defaultdict(dict)
        self._hindered: Counter[tuple[str, str]] = Counter()
        self._fresh: set[str] = set()  # scripts of which a run was a timeout

    def __enter__(self) -> Self:
        """Nothing is held before the first run."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Let go of the builds."""
        self._holding.close()

    def complete(self, wanted: Sequence[tuple[str, int]], shard: Shard = WHOLE) -> int:
        """Make the runs that are missing, then those that show an absence, and derive the timelines; return how many.

        ``wanted`` are repository and number of the reports whose scripts run. Whatever ends this early, the timelines
        are those of the runs that were made.

        Raises:
            SandboxError, StoreError: as of their makers. A build that cannot be used is said and left out.
        """
        programs = self.programs(wanted, shard)
        confirmed = None
        try:
            count = self.first(programs)
            update_timelines.refresh(self._writer, wanted)
            confirmed = self.confirm(programs)
            return count + confirmed
        finally:
            if confirmed != 0:  # runs were made since, or something ended this early
                update_timelines.refresh(self._writer, wanted)

    def programs(self, wanted: Sequence[tuple[str, int]], shard: Shard = WHOLE) -> list[Program]:
        """The scripts of these reports that are part of the shard, with what is known of each."""
        with self._store.read() as connection:
            found = connection.execute(_SCRIPTS, [[repo for repo, _ in wanted], [number for _, number in wanted]])
            programs = [Program(key, code, json.loads(variables or "{}")) for key, code, variables in found.fetchall()]
            programs = [program for program in programs if shard.has(program.hash)]
            asked = {"scripts": [program.hash for program in programs], "environment": self._environment}
            known = connection.execute(_KNOWN, asked).fetchall()
        for script, build, batch, attempt, *values in known:
            if build in self._builds:
                seen = Observation(*values)
                self.seen[script, build][RunKey(seen.seed, batch, attempt)] = seen
                if seen.ending == "timeout":
                    self._fresh.add(script)
        return programs

    def first(self, programs: Sequence[Program]) -> int:
        """Make the first runs that are missing; return how many."""
        places = [(program, build) for program in programs for build in self._builds.values()]
        self._progress.expects(sum(len(missing(self.seen[program.hash, build.identity])) for program, build in places))
        count = 0
        while todo := [one for program, build in places for one in self._next_of(program, build)]:
            count += self.make(todo)
        return count

    def confirm(self, programs: Sequence[Program]) -> int:
        """Make the runs that show whether what an earlier segment shows is gone from the newest; return how many."""
        gone = self._gone(programs)
        count = 0
        while todo := [one for pair in gone for one in self._lacking(*pair)]:
            self._progress.expects(len(todo))
            count += self.make(todo)
        return count

    def repeat(self, programs: Sequence[Program], build: Build, runs: int) -> int:
        """Make so many runs of a second batch in fresh processes, where they are missing; return how many."""
        return self.make(
            [
                Todo(program, build, place, fresh=True)
                for program in programs
                for place in series(runs, SECOND)
                if place not in self.seen[program.hash, build.identity]
            ]
        )

    def _next_of(self, program: Program, build: Build) -> list[Todo]:
        """The next of the first runs, if any is missing."""
        if not self._usable.get(build.identity, True):
            return []
        lacking = missing(self.seen[program.hash, build.identity])
        at_once = lacking if set(lacking) <= set(AGAIN) else lacking[:1]
        return [Todo(program, build, place) for place in at_once]

    def _gone(self, programs: Sequence[Program]) -> list[tuple[Program, Build, Build]]:
        """The scripts of which an earlier segment was bad and the newest is another one, with builds of both."""
        by_hash = {program.hash: program for program in programs}
        here = {build.public_version: build for build in self._builds.values()}
        asked = {"scripts": list(by_hash), "environment": self._environment}
        endings = {"gaps": sorted(GAPS), "loud": sorted(LOUD), "mixed": MIXED}
        with self._store.read() as connection:
            found = connection.execute(_GONE, asked | endings).fetchall()
        return [(by_hash[script], here[bad], here[now]) for script, bad, now in found if bad in here and now in here]

    def _lacking(self, program: Program, bad: Build, clean: Build) -> list[Todo]:
        """The runs that the bad side still lacks, or that the clean side lacks then."""
        seen, clean_seen = (self.seen[program.hash, build.identity] for build in (bad, clean))
        shown = seen.get(FIRSTS[0])
        if shown is None or not (self._usable.get(bad.identity, True) and self._usable.get(clean.identity, True)):
            return []
        by_start = any(run.ending == "signal" for run in seen.values())  # it depends on what lies where in memory
        rules = AbsenceRules.load()
        size = rules.slow_control_batch if shown.ending == "timeout" else rules.control_batch
        control = series(size, FIRST)
        if todo := [Todo(program, bad, place, by_start) for place in control if place not in seen]:
            return todo
        runs = [seen[place] for place in control]
        asked = runs_needed(showing(runs, runs), size, rules)
        if asked is None or asked > (rules.layout_most if by_start else rules.most):  # it is shown too rarely
            return []
        places = [place for batch in (FIRST, SECOND) for place in series(asked, batch)]
        return [Todo(program, clean, place, by_start) for place in places if place not in clean_seen]

    def make(self, todo: Sequence[Todo]) -> int:
        """Make runs, ``jobs`` at a time, each zygote started once; keep them, and return how many."""
        try:
            return sum(self._taken(one, attempt, result) for one, attempt, result in self._driven(todo))
        finally:  # Ctrl-C, too, keeps what was reached
            self._commit()

    def _driven(self, todo: Iterable[Todo]) -> Iterator[tuple[Todo, Attempt, RunResult]]:
        lanes: dict[tuple[str, int], deque[Todo]] = defaultdict(deque)
        for one in todo:
            lanes[one.build.identity, one.place.seed].append(one)
        unstarted = deque(lanes)
        at: dict[int, tuple[str, int]] = {}
        current: dict[int, tuple[Todo, Attempt]] = {}

        def feed(worker: Worker) -> Attempt | None:
            lane = at.get(id(worker))
            while lane is None or not lanes[lane]:
                worker.close()
                lane = unstarted.popleft() if unstarted else max(lanes, key=lambda one: len(lanes[one]))
                if not lanes[lane] or (lane in at.values() and len(lanes[lane]) < WORTH_JOINING):
                    return None
                build = self._builds[lane[0]]
                if not self._can_use(build):
                    lanes[lane].clear()
                    continue
                worker.runner = self._machine.runner(build, HOSTILE, seed=lane[1])
                at[id(worker)] = lane
            one = lanes[lane].popleft()
            attempt = attempt_of(one.program.code, one.program.environment, one.place.seed, self._threads)
            is_fresh = one.fresh or attempt.fresh or one.program.hash in self._fresh
            current[id(worker)] = one, replace(attempt, fresh=is_fresh)
            return current[id(worker)][1]

        with ExitStack() as stack:
            first = next(iter(self._builds.values()))
            workers = [Worker(self._machine.runner(first, HOSTILE)) for _ in range(min(self._jobs, len(lanes) or 1))]
            for worker in workers:
                stack.callback(worker.close)
            for worker, result in drive(workers, feed):
                yield *current[id(worker)], result

    def _can_use(self, build: Build) -> bool:
        """Whether a build is still what it was; it is then held until the end."""
        if build.identity not in self._usable:
            try:
                self._holding.enter_context(self._machine.registry.using(build))
                self._usable[build.identity] = True
            except BuildError as error:
                self._usable[build.identity] = False
                self._progress.said(f"build {build.name} is left out: {error}")
        return self._usable[build.identity]

    def _taken(self, one: Todo, attempt: Attempt, result: RunResult) -> bool:
        """Keep a run, to be written with those of the last two seconds, and say so; not a timeout that is in doubt."""
        key = one.program.hash, one.build.identity
        seen = replace(observe(result, one.program.code), threads=attempt.threads, seed=attempt.seed)
        if seen.ending == "timeout":
            had_its_time = max(result.duration - result.waited, result.cpu) >= attempt.timeout
            if not had_its_time and self._hindered[key] < TRIES:
                self._hindered[key] += 1
                return False
            if not attempt.fresh:
                self._fresh.add(one.program.hash)
                return False
        self.seen[key][one.place] = seen
        self._waiting.append(self._row(one, seen, result))
        self._progress.advanced(1)
        if time.monotonic() - self._committed > COMMIT_SECONDS:
            self._commit()
        return True

    def _row(self, one: Todo, seen: Observation, result: RunResult) -> dict[str, Any]:
        return {
            "script": one.program.hash,
            "build": one.build.identity,
            "version": one.build.public_version,
            "environment": self._environment,
            "batch": one.place.batch,
            "attempt": one.place.attempt,
            **asdict(seen),
            "zygote": result.zygote,
            "duration": result.duration,
            "guarantees": list(result.guarantees),
            "kernel": result.kernel,
            "ran_at": now_utc(),
        }

    def _commit(self) -> None:
        if self._waiting:
            with self._writer.transaction() as connection:
                rows.append(connection, "observations", self._waiting)
            self._waiting = []
        self._committed = time.monotonic()
