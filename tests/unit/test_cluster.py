"""Shards of a plan, folders that merge by key, and which nodes of a cluster get work."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.verdicts import build_of
from support import case_of, case_text, rows
from torch_embers import packages, resources
from torch_embers.builds.registry import Registry
from torch_embers.builds.work import Machine, Shard
from torch_embers.cases.case import parse
from torch_embers.errors import InputError, MissingPackageError
from torch_embers.oracles.finding import Finding
from torch_embers.progress import Silent
from torch_embers.run import cases as command
from torch_embers.run import node, state
from torch_embers.run.node import NodeFacts, SweepPlan
from torch_embers.run.oracles import Watched, _keep
from torch_embers.sandbox.proof import GUARANTEES, Proof
from torch_embers.settings import Settings
from torch_embers.store.rows import append, append_numbered
from torch_embers.store.store import Store
from torch_embers.verdicts.executor import SweepRequest

BUILD = build_of("2.5.1")
PROOF = Proof(dict.fromkeys(GUARANTEES, ""), "here")
FACTS = NodeFacts("a", node.rules_here(), PROOF, frozenset({BUILD.identity}))
FINDING = Finding("layout", "add", "out", "wrong_value", "differs", ("out: strided float32[4]",))
PLAN = SweepPlan(SweepRequest([case_of()], [BUILD], []), {})


# ---- shards --------------------------------------------------------------------------------------------------------


@given(scripts=st.sets(st.text()), of=st.integers(1, 9))
def test_every_script_is_in_one_shard_whatever_else_a_machine_has(scripts: set[str], of: int) -> None:
    shards = [Shard(number, of) for number in range(1, of + 1)]
    parts = [{script for script in scripts if shard.has(script)} for shard in shards]
    assert sum(map(len, parts)) == len(scripts)
    assert set().union(*parts) == scripts


def test_all_machines_and_all_versions_divide_alike() -> None:
    assert [next(n for n in range(1, 5) if Shard(n, 4).has(script)) for script in "abcdefgh"] == [
        4,
        2,
        4,
        4,
        4,
        4,
        1,
        1,
    ]


@pytest.mark.parametrize(
    "text", ["", "4", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/4/2", "1 /4", "١/٢", f"1/{'9' * 5000}"]
)
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="give i/n with i from 1 to n"):
        Shard.read(text)


def test_a_sweep_of_a_shard_has_its_own_cases_and_all_in_view() -> None:
    cases = [case_of(f"print({number})", f"pt{number}_example") for number in range(9)]
    parts = [SweepRequest(cases, [BUILD], [], shard=Shard(number, 3)) for number in (1, 2, 3)]
    assert sorted(case.name for part in parts for case in part.own) == sorted(case.name for case in cases)
    assert all(part.cases == cases for part in parts)


def test_a_folder_that_is_merged_twice_or_comes_from_a_shard_that_ran_twice_counts_once(tmp_path: Path) -> None:
    def ran(name: str, moment: str, runs: int) -> Path:
        store = Store(tmp_path / f"{name}.duckdb")
        keys = {"build": "b", "environment": "e", "batch": 0, "injected": False, "profile": "reviewed", "zygote": ""}
        ended = {"outcome": "reproduced", "detail": "", "ended": "exited", "stdout": "off by 3", "stderr": ""}
        spent = {"duration": 0.1, "cpu": 0.1, "peak_memory": 0, "guarantees": [], "seed": 0}
        with store.writer("test", create=True) as writer, writer.transaction() as connection:
            for attempt in range(runs):
                row = {"case_hash": "c", "attempt": attempt, "ran_at": moment, **keys, **ended, **spent}
                append(connection, "runs", [row])
            decided = {
                "verdict": "occurs",
                "flaky": False,
                "k": 3,
                "n": runs,
                "control": "none",
                "control_k": 0,
                "control_n": 0,
            }
            shared = {name: keys[name] for name in ("build", "environment", "batch", "profile")}
            row = {"case_hash": "c", **shared, **decided, "detail": "", "decided_at": moment, "provenance": "own"}
            append_numbered(connection, "verdicts", [row])
        state.save(store, tmp_path / name)
        return tmp_path / name

    first, again = ran("first", "2026-11-01", 3), ran("again", "2026-11-02", 5)
    for folders, runs in (((first, again, first), 3), ((again, first, again), 5)):
        store = Store(tmp_path / f"{runs}.duckdb")
        with store.writer("test", create=True) as writer:
            assert [state.load(writer, folder) for folder in folders] == [runs + 1, 0, 0]
        assert rows(store.path, "SELECT n FROM verdicts") == [(runs,)], "with the runs that it rests on, and no others"
        assert rows(store.path, "SELECT count(*), count(DISTINCT ran_at) FROM runs") == [(runs, 1)]


def test_a_newer_reduction_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    def reduced(name: str, day: str, script: str) -> Store:
        store = Store(tmp_path / f"{name}.duckdb")
        row = {"name": "x1", "build": "b", "script": script, "result": "reduced", "detail": "", "characters": 1}
        with store.writer("test", create=True) as writer, writer.transaction() as connection:
            append(connection, "reductions", [row | {"decided_at": day}])
        state.save(store, tmp_path / name)
        return store

    older, newer = reduced("older", "2026-10-01", "old text"), reduced("newer", "2026-11-01", "new text")
    for store, folder in ((older, "newer"), (newer, "older")):
        with store.writer("test") as writer:
            state.load(writer, tmp_path / folder)
        assert rows(store.path, "SELECT script FROM reductions") == [("new text",)]


def test_what_an_oracle_found_comes_with_its_run_and_merges_once(tmp_path: Path) -> None:
    def watched(name: str, found: int) -> Path:
        store = Store(tmp_path / f"{name}.duckdb")
        one = Watched(case_of(), BUILD, ["layout"], "found", "seen", [FINDING] * found)
        with store.writer("test", create=True) as writer:
            for _ in range(2):
                _keep(writer, one, "e")
        state.save(store, tmp_path / name)
        return tmp_path / name

    folders = [watched("first", 1), watched("again", 2)]
    store = Store(tmp_path / "all.duckdb")
    with store.writer("test", create=True) as writer:
        assert [state.load(writer, folder) for folder in (*folders, folders[0])] == [4, 0, 0]
    assert rows(store.path, "SELECT count(DISTINCT run), count(*) FROM oracle_runs") == [(2, 2)]
    assert rows(store.path, "SELECT count(*) FROM oracle_findings GROUP BY run") == [(1,), (1,)]


# ---- nodes ---------------------------------------------------------------------------------------------------------


def test_a_node_gets_work_where_it_has_the_rules_the_builds_and_the_guarantees() -> None:
    strange = parse(case_text("pass", signature="ValueError", oracle="exception"), "x1", "fix_test")
    hostile = replace(PLAN, request=replace(PLAN.request, cases=[strange]))
    bare = replace(FACTS, proof=Proof({**dict.fromkeys(GUARANTEES, ""), "network": "no namespace"}, "here"))
    assert FACTS.lacks(PLAN) is None
    assert FACTS.lacks(hostile) is None
    assert "install the same on all nodes" in (replace(FACTS, rules="0.1 (x)").lacks(PLAN) or "")
    assert "`embers builds add 2.5.1`" in (replace(FACTS, builds=frozenset()).lacks(PLAN) or "")
    assert bare.lacks(PLAN) is None
    assert "network (no namespace)" in (bare.lacks(hostile) or "")


@pytest.mark.parametrize(
    "name",
    ["verdicts", "extract", "fix_tests", "sandbox", "oracles", "builds", "refusals", "case_flags", "candidates"],
)
def test_another_rule_of_any_kind_is_another_digest(tmp_path: Path, name: str) -> None:
    data, package = tmp_path / "data", tmp_path / "package"
    package.mkdir()
    (package / "a.py").write_text("pass")
    data.mkdir()
    for path in resources.data_file("verdicts.toml").parent.glob("*.toml"):
        shutil.copy(path, data)
    before = node.digest(package, data)
    (data / "README.md").write_text("nothing that decides")
    assert node.digest(package, data) == before
    with (data / f"{name}.toml").open("a") as file:
        file.write("\n# changed\n")
    changed = node.digest(package, data)
    (package / "a.py").write_text("pass\npass")
    assert len({before, changed, node.digest(package, data)}) == 3


def test_a_node_says_why_it_makes_no_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "_registry", lambda: Registry(tmp_path))
    here = replace(BUILD, python=Path(sys.executable))
    monkeypatch.setattr(SweepPlan, "make", lambda *_: Machine(Registry(tmp_path)).runner(here, "hostile"))
    monkeypatch.setattr(node.doctor, "prove", lambda: replace(PROOF, guarantees={"no_network": "no namespace"}))
    refusal = node.make(PLAN, Shard())
    assert isinstance(refusal, node.Refusal)
    assert "no_network does not hold (no namespace)" in refusal.reason


# ---- the command line ----------------------------------------------------------------------------------------------


def asked(tmp_path: Path, **more: object) -> None:
    request = command.RunRequest(address="127.0.0.1:1", **more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "chosen_builds", lambda *_: [BUILD])
        list(command.run_cases(Store(tmp_path / "e.duckdb"), Settings(), request, Silent()))


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(packages.EXTRAS, "cluster", ("no_such_package",))
    with pytest.raises(MissingPackageError, match=r"pip install 'torch-embers\[cluster\]'"):
        asked(tmp_path)


def test_a_shard_is_not_given_to_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave --shard out"):
        asked(tmp_path, shard=Shard(1, 4))
