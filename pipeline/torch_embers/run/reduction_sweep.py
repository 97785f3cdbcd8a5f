"""`embers minimize --all`: every extracted script, several at a time, each bounded; interrupted, it goes on.

What became of a script on a build is a row of ``reductions``, written together with the small text. A script that has
one is not tried again unless its text changed. Where the machine was to blame there is no row. The driver is the only
writer; workers only run scripts.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from torch_embers.builds.work import WHOLE
from torch_embers.normalize import now_utc
from torch_embers.repro import bank
from torch_embers.repro.minimize import MinimizeError, require_reducer
from torch_embers.run import reduction
from torch_embers.run.batch import cannot_run_here
from torch_embers.run.command import chosen_builds
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import RunsStoppedError
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.builds.registry import Build, Registry
    from torch_embers.builds.work import Shard
    from torch_embers.progress import Progress
    from torch_embers.repro.case import Case
    from torch_embers.run.reduction import Reduction
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

_TEXTS = "SELECT kind, code FROM artifacts WHERE name = ?"
_DONE = "SELECT name, script FROM reductions WHERE build = ?"
_OCCURS = "SELECT DISTINCT case_hash FROM latest_verdicts WHERE build = ? AND verdict = 'occurs' AND provenance = 'own'"


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What `embers minimize --all` is asked for.

    Attributes:
        build: name of the build where scripts are to fail; the torch of this environment where none is given.
        jobs: scripts at a time.
        most: scripts in all; the others wait for the next call. None for no bound.
        minutes: of one script, then it stops with what it has.
        shard: which of the scripts.
    """

    build: str | None = None
    jobs: int = 1
    most: int | None = None
    minutes: float = 15.0
    shard: Shard = WHOLE


@dataclass(frozen=True, slots=True)
class Task:
    """One script that is to be made small."""

    case: Case
    runnable: str
    verbatim: str | None

    @property
    def script(self) -> str:
        """Key of its text."""
        return sha256(self.runnable.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reached:
    """What became of a script.

    Attributes:
        result: ``not_kept`` is a refusal that says nothing about the script; the next call tries again.
        detail: what it shows, or why it cannot be minimised here.
        made: the small script; None where it was refused.
    """

    task: Task
    result: Literal["minimized", "refused", "not_kept"]
    detail: str
    made: Reduction | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do on a build.

    Attributes:
        tasks: scripts to try now, those that are known to fail there first.
        done: scripts of which the result is known.
        left_out: scripts that are not tried: they need another device or release, or a person has to look first.
        waiting: scripts beyond the bound of this call.
    """

    build: Build
    tasks: Sequence[Task]
    done: int
    left_out: int
    waiting: int


def plan(store: Store, registry: Registry, request: SweepRequest) -> Plan:
    """Which extracted scripts are to be tried now.

    Raises:
        BuildError, InputError, StoreError: as of their makers.
    """
    build = chosen_builds(registry, [request.build] if request.build else [])[-1]
    extracted = [case for case in bank.load(store) if case.origin == "extracted" and case.oracle != "self"]
    scripts = [case for case in extracted if request.shard.has(case.hash)]
    possible = [case for case in scripts if not case.review and cannot_run_here(case, build) is None]
    with store.read() as connection:
        done = set(connection.execute(_DONE, [build.identity]).fetchall())
        occurs = {case_hash for (case_hash,) in connection.execute(_OCCURS, [build.identity]).fetchall()}
        texts = {case.name: dict(connection.execute(_TEXTS, [case.name]).fetchall()) for case in possible}
    tasks = [
        Task(case, texts[case.name]["runnable"], texts[case.name].get("verbatim"))
        for case in sorted(possible, key=lambda case: (case.hash not in occurs, case.name))
        if "runnable" in texts[case.name]
    ]
    open_tasks = [task for task in tasks if (task.case.name, task.script) not in done]
    now = open_tasks[: request.most]
    return Plan(build, now, len(tasks) - len(open_tasks), len(scripts) - len(tasks), waiting=len(open_tasks) - len(now))


def minimize_all(
    writer: Writer, registry: Registry, todo: Plan, request: SweepRequest, progress: Progress
) -> Iterator[Reached]:
    """Make the scripts of a plan small and keep what became of each; yield it as soon as it is kept.

    Whoever stops in between loses the scripts in work, and no other.

    Raises:
        MinimizeError: the reducer is not installed.
        BuildError, SandboxError, StoreError: as of their makers.
    """
    require_reducer()
    doctor.prove()  # once, before threads ask for it
    progress.expects(len(todo.tasks))
    stop = threading.Event()
    with registry.using(todo.build), ThreadPoolExecutor(request.jobs) as pool:
        waiting = {pool.submit(_reduced, task, todo.build, request, stop) for task in todo.tasks}
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=_has_failed):  # what was reached is kept before an error ends all
                    reached = future.result()
                    if reached.result != "not_kept":
                        _keep(writer, todo.build, reached)
                    progress.advanced(1)
                    yield reached
        finally:  # also on Ctrl-C, or where one ends with an error: what runs for those in work is ended
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _has_failed(future: Future[Reached]) -> bool:
    return future.exception() is not None


def _reduced(task: Task, build: Build, request: SweepRequest, stop: threading.Event) -> Reached:
    """Work of one thread: no database."""
    end = time.monotonic() + 60 * request.minutes

    def is_over(reserve: float) -> bool:
        return time.monotonic() + reserve > end

    try:
        made = reduction.reduce_on(task.case, task.runnable, task.verbatim, build, is_over=is_over, stop=stop)
    except (reduction.PassingError, RunsStoppedError) as error:
        return Reached(task, "not_kept", f"not kept: {error}")
    except MinimizeError as error:
        return Reached(task, "refused", str(error))
    return Reached(task, "minimized", made.shows, made)


def _keep(writer: Writer, build: Build, reached: Reached) -> None:
    """Write the small text, its passes and the result in one transaction."""
    made, task = reached.made, reached.task
    row = {
        "name": task.case.name,
        "build": build.identity,
        "script": task.script,
        "result": reached.result,
        "detail": reached.detail,
        "characters": len(task.runnable),
        "kept": made.after if made else None,
        "tests": made.minimized.tests if made else None,
        "seconds": made.seconds if made else None,
        "stopped": made.minimized.stopped if made else None,
        "decided_at": now_utc(),
    }
    with writer.transaction() as connection:
        if made is not None:
            reduction.write(connection, made)
        rows.replace(connection, "reductions", ("name", "build"), [row])
