"""`embers research minimize`: one loop for one script and for all with a flip; interrupted, it goes on.

What became of a script on its newest build is a row of ``reductions``, written together with the small text. With
``--all`` a script that has one is not tried again unless its text changed. Where the machine was to blame there is no
row. The driver is the only writer; workers only run scripts.
"""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from torch_embers.builds.work import WHOLE
from torch_embers.errors import InputError
from torch_embers.minimize import reduction
from torch_embers.minimize.minimize import MinimizeError, require_reducer
from torch_embers.normalize import now_utc
from torch_embers.run.cases import chosen_builds
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import RunsStoppedError
from torch_embers.store import rows
from torch_embers.timeline import item_script, stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

    from torch_embers.builds.registry import Build, Registry
    from torch_embers.builds.work import Shard
    from torch_embers.minimize.reduction import Reduction
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer
    from torch_embers.timeline.item_script import ItemScript

_DONE = "SELECT name, build, script FROM reductions"


@dataclass(frozen=True, slots=True)
class MinimizeRequest:
    """What `embers research minimize` is asked for.

    Attributes:
        repo: of a number.
        number: of the one report whose script is made small; None for all.
        build: name of the one build whose behaviour is kept; where none is given, scripts with a flip are taken.
        jobs: scripts at a time.
        minutes: of one script, then it stops with what it has; None for no limit.
        shard: which of the scripts.
    """

    repo: str
    number: int | None = None
    build: str | None = None
    jobs: int = 1
    minutes: float | None = None
    shard: Shard = WHOLE


@dataclass(frozen=True, slots=True)
class Task:
    """One script that is to be made small.

    Attributes:
        builds: where its behaviour is kept, the oldest first.
    """

    item: ItemScript
    builds: tuple[Build, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """Of its row in ``reductions``."""
        return self.item.name, self.builds[-1].identity, self.item.script.hash


@dataclass(frozen=True, slots=True)
class ReductionResult:
    """What became of a script.

    Attributes:
        result: ``not_kept`` is a refusal that says nothing about the script; the next call tries again.
        detail: what it does, or why it cannot be minimised here.
        made: the small script; None where it was refused.
    """

    task: Task
    result: Literal["minimized", "refused", "not_kept"]
    detail: str
    made: Reduction | None = None


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """What there is to do.

    Attributes:
        tasks: scripts to try now, those that behave as reported somewhere first.
        done: scripts of which the result is known.
    """

    tasks: Sequence[Task]
    done: int


def plan(store: Store, registry: Registry, request: MinimizeRequest) -> ReductionPlan:
    """Which scripts are to be tried now.

    Raises:
        InputError: of the one report that is asked for there is nothing to keep.
        BuildError, StoreError: as of their makers.
    """
    named = chosen_builds(registry, [request.build])[-1:] if request.build else []
    builds = registry.installed()
    with store.read() as connection:
        if request.number is not None:
            return ReductionPlan([_task(connection, request, named, builds)], 0)
        known = {(one.repo, one.number): one for one in stored.timelines(connection) if one.behaviours}
        done = set(connection.execute(_DONE).fetchall())
        items = [one for one in item_script.scripts(connection) if request.shard.has(one.script.hash)]
    reported = {key for key, one in known.items() if any(part.match == "as_reported" for part in one.behaviours)}
    tasks = [
        Task(item, sides)
        for item in sorted(items, key=lambda item: (item.repo, item.number) not in reported)
        if (timeline := known.get((item.repo, item.number)))
        and (sides := tuple(named or reduction.sides_of(timeline, builds)))
    ]
    now = [task for task in tasks if task.key not in done]
    return ReductionPlan(now, len(tasks) - len(now))


def _task(
    connection: duckdb.DuckDBPyConnection, request: MinimizeRequest, named: Sequence[Build], installed: Sequence[Build]
) -> Task:
    """The one script that is asked for, whatever is known of it.

    Raises:
        InputError: the report has no script, or its script no flip and no build is named.
    """
    number = request.number or 0
    item = item_script.of_report(connection, request.repo, number)
    sides = named or reduction.sides_of(stored.timeline_of(connection, request.repo, number), installed)
    if not sides:
        raise InputError(
            f"{item.name} has no known flip with a build on each side here: `embers run {number}` looks for one, "
            "--build NAME keeps what the script does on one build"
        )
    return Task(item, tuple(sides))


def minimize_all(
    writer: Writer, registry: Registry, todo: ReductionPlan, request: MinimizeRequest, progress: Progress
) -> Iterator[ReductionResult]:
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
    builds = {build.identity: build for task in todo.tasks for build in task.builds}
    with ExitStack() as held, ThreadPoolExecutor(request.jobs) as pool:
        for build in builds.values():
            held.enter_context(registry.using(build))
        waiting = {pool.submit(_reduced, task, request, stop) for task in todo.tasks}
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=_has_failed):  # what was reached is kept before an error ends all
                    reached = future.result()
                    if reached.result != "not_kept":
                        _keep(writer, reached)
                    progress.advanced(1)
                    yield reached
        finally:  # also on Ctrl-C, or where one ends with an error: what runs for those in work is ended
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


def _has_failed(future: Future[ReductionResult]) -> bool:
    return future.exception() is not None


def _reduced(task: Task, request: MinimizeRequest, stop: threading.Event) -> ReductionResult:
    """Work of one thread: no database."""
    end = math.inf if request.minutes is None else time.monotonic() + 60 * request.minutes

    def is_over(reserve: float) -> bool:
        return time.monotonic() + reserve > end

    try:
        made = reduction.reduce_on(task.item, task.builds, is_over=is_over, stop=stop)
    except (reduction.PassingError, RunsStoppedError) as error:
        return ReductionResult(task, "not_kept", f"not kept: {error}")
    except MinimizeError as error:
        return ReductionResult(task, "refused", str(error))
    return ReductionResult(task, "minimized", made.shows, made)


def _keep(writer: Writer, reached: ReductionResult) -> None:
    """Write the small text, its passes and the result in one transaction."""
    made, task = reached.made, reached.task
    name, build, script = task.key
    row = {
        "name": name,
        "build": build,
        "script": script,
        "result": reached.result,
        "detail": reached.detail,
        "characters": len(task.item.script.code),
        "kept": made.after if made else None,
        "tests": made.minimized.tests if made else None,
        "seconds": made.seconds if made else None,
        "stopped": made.minimized.stopped if made else None,
        "decided_at": now_utc(),
    }
    with writer.transaction() as connection:
        if made is not None:
            small = {"name": name, "kind": "minimal", "code": made.minimized.code, "made_at": now_utc()}
            rows.replace(connection, "artifacts", ("name", "kind"), [small])
        rows.replace(connection, "reductions", ("name", "build"), [row])
