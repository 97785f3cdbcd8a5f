"""Minimisation: smaller scripts, the same failure, always an end."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from helpers.timeline_rows import REPO, crashed, put
from support import fake_python, rows
from torch_embers.builds.registry import Registry
from torch_embers.cases import bank
from torch_embers.extract.script import Script
from torch_embers.minimize import loop, reduction
from torch_embers.minimize.minimize import MinimizeError
from torch_embers.minimize.reduction import reduce_on
from torch_embers.progress import Silent
from torch_embers.store.store import Store
from torch_embers.timeline.item_script import ItemScript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


pytest.importorskip("pysource_minimize")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    folder = tmp_path_factory.mktemp("builds")
    made = Registry(folder / "registry")
    made.register(fake_python(folder / "env", "2.5.1"))
    return made


PROGRAM = """
import torch
def helper(values):
    total = 0
    for value in values:
        total += value
    return total
sizes = [1, 2, 3]
print(torch.__version__, helper(sizes))
print(sizes[len(sizes) + 4])
"""


def report(number: int = 1, code: str = PROGRAM) -> ItemScript:
    return ItemScript(REPO, number, Script(code))


def test_the_script_of_a_report_is_minimised_in_the_sandbox_and_does_the_same(registry: Registry) -> None:
    build = registry.find("2.5.1")
    with registry.using(build):
        made = reduce_on(report(), [build])
    assert made.after < made.before / 3
    assert "helper" not in made.minimized.code
    assert made.shows == "raises IndexError on 2.5.1"


# ---- all of them ---------------------------------------------------------------------------------------------------

OTHER = PROGRAM.replace("sizes", "places")
FLAKY = "import os\nif int(os.environ['EMBERS_SEED']) % 2: [][1]\nelse: raise ValueError('x')"
CLEAN = "x = 1"
SCRIPTS = {1: PROGRAM, 2: OTHER, 3: FLAKY, 4: CLEAN}


def filled(path: Path, *numbers: int) -> Store:
    """A database with scripts that ran: two that shrink, one that flickers, one that shows nothing."""
    for number in numbers:
        put(path, number, [crashed("2.5.1", match="other")], code=SCRIPTS[number])
    return Store(path)


def sweep(store: Store, registry: Registry, **more: Any) -> tuple[loop.ReductionPlan, list[loop.ReductionResult]]:
    request = loop.MinimizeRequest(REPO, build="2.5.1", minutes=15.0, **more)
    with store.writer("test") as writer:
        todo = loop.plan(store, registry, request)
        return todo, list(loop.minimize_all(writer, registry, todo, request, Silent()))


MINIMAL = "SELECT name, code FROM artifacts WHERE kind = 'minimal' ORDER BY name"


def test_all_scripts_are_minimised_several_at_a_time_and_go_on_where_they_were(
    registry: Registry, tmp_path: Path
) -> None:
    store = filled(tmp_path / "one.duckdb", 1)
    put(store.path, 5, code="x = 5")
    todo, reached = sweep(store, registry)
    assert (len(todo.tasks), todo.done) == (1, 0), "what never ran is not tried"
    filled(store.path, 2, 3, 4)
    todo, reached = sweep(store, registry, jobs=3)
    assert (len(todo.tasks), todo.done) == (3, 1)
    found = {one.task.item.number: one.detail for one in reached if one.result == "refused"}
    assert found.keys() == {3, 4}
    assert "same thing twice" in found[3]
    assert "nothing to keep" in found[4]
    assert sweep(store, registry)[1] == [], "everything is known"
    kept = rows(store.path, MINIMAL)
    assert [name for name, _ in kept] == [f"{REPO}#1", f"{REPO}#2"]
    for _, code in kept:
        assert "helper" not in code
    build = registry.find("2.5.1")
    with registry.using(build):
        alone = reduce_on(report(), [build])
    assert kept[0] == (f"{REPO}#1", alone.minimized.code), "the same as by `embers research minimize 1`"
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE scripts SET code = code || '\n# new' WHERE number = 4")
    assert [one.task.item.number for one in sweep(store, registry)[1]] == [4], "a changed text is tried again"


INTERRUPTED = """
import os
import signal
import sys
import threading

sys.path[:0] = {paths!r}
from torch_embers.cli import entry
from torch_embers.minimize import reduction

run = reduction.Trial._run
count = 0


def counted(self, runner, code, timeout):
    global count
    count += 1
    if count == {after}:
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    if count >= {after}:
        code, timeout = "import time\\ntime.sleep(3_000)\\n" + code, 3600
    return run(self, runner, code, timeout)


reduction.Trial._run = counted
entry.main(sys.argv[1:])
"""
"""`embers` whose scripts sleep from a given run on, and which gets a Ctrl-C one second after that run began."""


@pytest.mark.timeout(900)
def test_ctrl_c_ends_what_runs_and_keeps_what_was_reached(registry: Registry, tmp_path: Path) -> None:
    """A script that sleeps for longer than this test may take is not waited for."""
    store = filled(tmp_path / "one.duckdb", 1)
    sweep(store, registry)
    filled(store.path, 2, 3, 4)
    before = rows(store.path, MINIMAL), rows(store.path, "FROM reductions ORDER BY name")
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE scripts SET code = ? WHERE number <> 1", [OTHER])
    paths = [str(Path(__file__).parents[1]), str(Path(bank.__file__).parents[2])]
    program = [sys.executable, "-c", INTERRUPTED.format(paths=paths, after=7)]
    words = ["research", "minimize", "--all", "--build", "2.5.1", "--jobs", "2", "--database", str(store.path)]
    surroundings = {**os.environ, "EMBERS_BUILDS_DIR": str(registry.folder), "NO_COLOR": "1"}
    done = subprocess.run([*program, *words], env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stdout + done.stderr
    assert [line for line in done.stderr.splitlines() if line.strip()] == [
        "interrupted: everything done so far is saved, the same command goes on from there"
    ]
    assert "0 minimised, 0 not; 1 known before, 3 still to do" in " ".join(done.stdout.split())
    assert (rows(store.path, MINIMAL), rows(store.path, "FROM reductions ORDER BY name")) == before


def test_a_refusal_for_which_the_machine_is_to_blame_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path / "e.duckdb", *SCRIPTS)
    tried = []

    @contextmanager
    def using(build: object) -> Iterator[object]:
        yield build

    def reduce(item: ItemScript, *_: object, is_over: Callable[[float], bool], stop: object) -> Any:
        assert not is_over(0.0)
        assert is_over(3600.0)
        tried.append(item.number)
        if item.number == 3:
            raise reduction.PassingError("#3: no time was left")
        raise MinimizeError(f"{item.name} shows nothing")

    build: Any = SimpleNamespace(identity="2.5.1@x", name="2.5.1", using=using, installed=list)
    monkeypatch.setattr(loop, "chosen_builds", lambda *_: [build])
    monkeypatch.setattr("torch_embers.sandbox.doctor.prove", lambda: None)
    monkeypatch.setattr("torch_embers.minimize.reduction.reduce_on", reduce)
    _, reached = sweep(store, build)
    assert [one.detail for one in reached if one.result == "not_kept"] == ["not kept: #3: no time was left"]
    tried.clear()
    sweep(store, build)
    assert tried == [3], "it is tried again, and no other"
