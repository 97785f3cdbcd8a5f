"""Minimisation: smaller scripts, the same failure, always an end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from support import Recorded, case_text, fake_python, rows
from torch_embers.builds.registry import Registry
from torch_embers.normalize import now_utc
from torch_embers.progress import Silent
from torch_embers.repro import bank
from torch_embers.repro.case import Case, parse
from torch_embers.repro.minimize import MinimizeError
from torch_embers.run import reduction, reduction_sweep
from torch_embers.run.reduction import reduce_case
from torch_embers.store.rows import append
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


pytest.importorskip("pysource_minimize")


def extracted(code: str, signature: str = "IndexError: list index out of range") -> Case:
    return parse(case_text(code, signature=signature, oracle="exception"), "x1", "extracted")


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


def test_an_extracted_script_is_minimised_in_the_sandbox_and_all_its_texts_agree(registry: Registry) -> None:
    build = registry.find("2.5.1")
    made = reduce_case(extracted(PROGRAM), PROGRAM, PROGRAM, build, registry, Silent())
    assert made.after < made.before / 3
    assert "helper" not in made.minimized.code
    assert set(made.agree.values()) == {"reproduced"}
    own = parse(case_text(PROGRAM), "pt1_own")
    with pytest.raises(MinimizeError, match="judges itself"):
        reduce_case(own, PROGRAM, None, build, registry, Silent())


def test_a_text_as_reported_that_shows_something_else_is_an_alarm(registry: Registry) -> None:
    progress = Recorded()
    reduce_case(extracted(PROGRAM), PROGRAM, "raise ValueError('x')", registry.find("2.5.1"), registry, progress)
    assert any(line.startswith("alarm") for line in progress.lines)


# ---- all of them ---------------------------------------------------------------------------------------------------

OTHER = PROGRAM.replace("sizes", "places")
FLAKY = "import os\nif int(os.environ['EMBERS_SEED']) % 2: [][1]\nelse: raise ValueError('x')"
CLEAN = "x = 1"
SCRIPTS = {"x1": PROGRAM, "x2": OTHER, "x3": FLAKY, "x4": CLEAN}


def filled(path: Path) -> Store:
    """A database with extracted scripts: two that shrink, one that flickers, one that does not fail, one for review."""
    store = Store(path)
    meta = {"signature": "IndexError: list index out of range", "oracle": "exception"}
    cases = [
        parse(case_text(code, issues=[f"pytorch/pytorch#{name[1:]}"], **meta), name, "extracted")
        for name, code in SCRIPTS.items()
    ]
    cases.append(replace(cases[0], name="x5", review="nobody knows what is wrong"))
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        bank.save(connection, cases)
        texts = [
            {"name": name, "kind": "runnable", "code": code, "made_at": now_utc()} for name, code in SCRIPTS.items()
        ]
        append(connection, "artifacts", texts)
    return store


def sweep(store: Store, registry: Registry, **more: Any) -> tuple[reduction_sweep.Plan, list[reduction_sweep.Reached]]:
    request = reduction_sweep.SweepRequest("2.5.1", **more)
    with store.writer("test") as writer:
        todo = reduction_sweep.plan(store, registry, request)
        return todo, list(reduction_sweep.minimize_all(writer, registry, todo, request, Silent()))


MINIMAL = "SELECT name, code FROM artifacts WHERE kind = 'minimal' ORDER BY name"


def test_all_scripts_are_minimised_several_at_a_time_and_go_on_where_they_were(
    registry: Registry, tmp_path: Path
) -> None:
    store = filled(tmp_path / "one.duckdb")
    todo, reached = sweep(store, registry, most=1)
    assert (len(todo.tasks), todo.done, todo.left_out, todo.waiting) == (1, 0, 1, 3)
    todo, reached = sweep(store, registry, jobs=3)
    assert (len(todo.tasks), todo.done, todo.waiting) == (3, 1, 0)
    found = {one.task.case.name: one.detail for one in reached if one.result == "refused"}
    assert found.keys() == {"x3", "x4"}
    assert "same thing twice" in found["x3"]
    assert "does not fail as declared" in found["x4"]
    assert sweep(store, registry)[1] == [], "everything is known"
    kept = rows(store.path, MINIMAL)
    assert [name for name, _ in kept] == ["x1", "x2"]
    for _, code in kept:
        assert "helper" not in code
        assert re.search(r"\[len\(\w+\) \+ \d+\]", code), "the failing operator keeps how its argument is made"
    build = registry.find("2.5.1")
    alone = reduce_case(extracted(PROGRAM), PROGRAM, None, build, registry, Silent())
    assert kept[0] == ("x1", alone.minimized.code), "the same as by `embers minimize x1`"
    assert rows(store.path, "SELECT count(*) FROM edits WHERE name = 'x1' AND kind = 'minimal'") == [
        (len(alone.minimized.steps),)
    ]
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE artifacts SET code = code || '\n# new' WHERE name = 'x4' AND kind = 'runnable'")
    assert [one.task.case.name for one in sweep(store, registry)[1]] == ["x4"], "a changed text is tried again"


INTERRUPTED = """
import os
import signal
import sys
import threading

sys.path[:0] = {paths!r}
from torch_embers.cli import entry
from torch_embers.run import reduction

run = reduction.Trial.run
count = 0


def counted(self, code):
    global count
    count += 1
    if count == {after}:
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    return run(self, "import time\\ntime.sleep(3_000)\\n" + code if count >= {after} else code)


reduction.Trial.run = counted
entry.main(sys.argv[1:])
"""
"""`embers` whose scripts sleep from a given run on, and which gets a Ctrl-C one second after that run began."""


@pytest.mark.timeout(900)
def test_ctrl_c_ends_what_runs_and_keeps_what_was_reached(registry: Registry, tmp_path: Path) -> None:
    """A script that sleeps for longer than this test may take is not waited for."""
    store = filled(tmp_path / "one.duckdb")
    sweep(store, registry, most=1)
    before = rows(store.path, MINIMAL), rows(store.path, "FROM reductions ORDER BY name")
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE artifacts SET code = ? WHERE name <> 'x1'", [OTHER])
        connection.execute(
            "UPDATE cases SET code = replace(code, '# oracle', '# timeout = 3600' || chr(10) || '# oracle')"
        )
    paths = [str(Path(__file__).parents[1]), str(Path(bank.__file__).parents[2])]
    program = [sys.executable, "-c", INTERRUPTED.format(paths=paths, after=7)]
    words = ["minimize", "--all", "--build", "2.5.1", "--jobs", "2", "--database", str(store.path)]
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
    store = filled(tmp_path / "e.duckdb")
    tried = []

    @contextmanager
    def using(build: object) -> Iterator[object]:
        yield build

    def reduce(case: Case, *_: object, is_over: Callable[[float], bool], stop: object) -> Any:
        assert not is_over(0.0)
        assert is_over(3600.0)
        tried.append(case.name)
        if case.name == "x3":
            raise reduction.PassingError("x3: no time was left")
        raise MinimizeError(f"{case.name} does not fail")

    build: Any = SimpleNamespace(identity="2.5.1@x", name="2.5.1", using=using)
    monkeypatch.setattr(reduction_sweep, "chosen_builds", lambda *_: [build])
    monkeypatch.setattr(reduction_sweep, "cannot_run_here", lambda *_: None)
    monkeypatch.setattr("torch_embers.sandbox.doctor.prove", lambda: None)
    monkeypatch.setattr("torch_embers.run.reduction.reduce_on", reduce)
    _, reached = sweep(store, build)
    assert [one.detail for one in reached if one.result == "not_kept"] == ["not kept: x3: no time was left"]
    tried.clear()
    sweep(store, build)
    assert tried == ["x3"], "it is tried again, and no other"
