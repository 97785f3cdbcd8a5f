"""bench/: six measures are declared, ratios and the table are right, and an interpreter's path may be relative."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import measures
import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def in_turn(*seconds: float) -> Callable[[], float]:
    left = iter(seconds)
    return lambda: next(left)


def test_six_measures_are_declared_and_each_has_a_way_to_be_made() -> None:
    declared = [spec.name for spec in run.specs()]
    assert declared == list(measures.MEASURES)
    assert len(declared) == 6
    assert {spec.statistic for spec in run.specs()} <= set(run.STATISTICS)


def test_warm_up_is_not_counted_and_a_ratio_is_the_other_way_by_ours() -> None:
    spec = run.Spec("fake", "nothing", warm_up=1, repeats=3, statistic="median")
    ways = {"embers": in_turn(99, 2, 1, 4), "plain": in_turn(99, 5, 6, 60)}
    found = run.compared(measures.Comparison("a thing", ways), spec)
    assert found["rounds"] == {"embers": [2, 1, 4], "plain": [5, 6, 60]}
    assert found["seconds"] == {"embers": 2, "plain": 6}
    assert found["ratios"] == {"plain": 3}


def test_a_relative_path_of_an_interpreter_holds_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @contextmanager
    def fake(given: measures.Given) -> Iterator[list[measures.Comparison]]:
        def start() -> float:
            subprocess.run([given.pythons[0], "-S", "-c", "pass"], cwd=given.folder, check=True)
            return 1.0

        yield [measures.Comparison("a start", {"embers": start, "plain": start}, note="Nothing is missing.")]

    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    python = measures.interpreter("./python")
    assert python == tmp_path / "python"  # not what the link leads to: an environment is known by the link's folder
    spec = run.Spec("fake", "A start beside a start.", warm_up=0, repeats=1, statistic="min")
    row = run.measured(spec, fake, [python])
    assert [one["ratios"] for one in row["comparisons"]] == [{"plain": 1}]
    table = run.table([row], [spec])
    assert "| fake | a start | 1.000 | plain | 1.000 | 1.00 |" in table
    assert table.endswith("0 before them not counted. Nothing is missing.")


def test_an_interpreter_that_is_none_is_named() -> None:
    with pytest.raises(SystemExit, match=r"nowhere/python: no interpreter"):
        measures.interpreter("nowhere/python")


def test_the_table_takes_its_place_between_its_marks_and_leaves_the_rest() -> None:
    page = f"before\n{run.BEGIN}\nold\n{run.END}\nafter\n"
    assert run.with_table(page, "new") == f"before\n{run.BEGIN}\n\nnew\n\n{run.END}\nafter\n"
    assert run.with_table(run.PAGE.read_text(encoding="utf-8"), "new").count(run.END) == 1
