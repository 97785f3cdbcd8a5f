"""The census of merges: what is counted on a merged history, and that nothing is counted without one."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers.errors import InputError
from torch_embers.link.stage import link_changed
from torch_embers.mine.git.commits import Change, Landed, Rows
from torch_embers.mine.git.commits import store as store_commits
from torch_embers.progress import Silent
from torch_embers.store.store import Store
from torch_embers.study import census, command

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"


def sha(number: int) -> str:
    return f"{number:040x}"


def merge(batch: Rows, number: int, subject: str, day: str, path: str, body: str = "", line: Any = "main") -> None:
    landed = Landed(
        *(REPO, sha(number), subject, f"{subject}\n\n{body}", f"{day}T12:00:00Z", [Change(path, "modified")]), line=line
    )
    batch.add(landed)


def stored(path: Path, batch: Rows) -> Store:
    """A linked database of these commits."""
    store = Store(path)
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        store_commits(connection, REPO, [batch], whole=True)
    link_changed(store)
    return store


@pytest.fixture
def history(tmp_path: Path) -> Store:
    """Six merges: two patches of the data path, one of computation, a revert after two days, and its reland."""
    batch = Rows("2026-01-01")
    merge(batch, 1, "Strides (#50100)", "2021-01-01", "c10/core/TensorImpl.cpp", "Fixes #50001")
    merge(batch, 2, "Copies (#50101)", "2021-01-02", "aten/src/ATen/native/Copy.cpp", "Fixes #50002")
    merge(batch, 3, "Adam (#50102)", "2021-07-01", "torch/optim/adam.py", "Fixes #50003")
    body = f"This reverts commit {sha(2)}."
    merge(batch, 4, 'Revert "Copies (#50101)"', "2021-01-04", "aten/src/ATen/native/Copy.cpp", body)
    merge(batch, 5, "Copies (#50101)", "2021-01-05", "aten/src/ATen/native/Copy.cpp", "Fixes #50002")
    merge(batch, 6, "Old (#300)", "2016-12-01", "c10/core/TensorImpl.cpp", "Fixes #200")
    merge(batch, 7, "Inside (#50104)", "2021-01-02", "c10/core/TensorImpl.cpp", "Fixes #50004", line="branch")
    return stored(tmp_path / "e.duckdb", batch)


def test_the_numbers_of_a_census_are_those_of_its_merges(history: Store) -> None:
    found = census.of_store(history)
    assert found is not None
    assert [found.population[name] for name in ("merges", "first", "last")] == [5, "2021-01-01", "2021-07-01"]
    numbers = {row["measure"]: (row["k"], row["n"]) for row in found.tables["numbers"]}
    expected = {
        "merges": (5, None),
        "pull requests that landed": (3, None),
        "issues with a patch": (3, None),
        "issues with a patch in the data path": (2, 3),
        "issues with a patch in the strict data path": (1, 3),
        "issues with a patch in computation": (1, 3),
        "merges that were reverted": (1, 4),
        "reverted pull requests that landed again": (1, 1),
    }
    assert {name: numbers[name] for name in expected} == expected
    parts = {(r["year"], r["half"], r["subcomponent"]): (r["k"], r["patches"]) for r in found.tables["figure_4"]}
    assert parts == {(2021, 1, "c10_core"): (1, 3), (2021, 1, "native_cpu"): (2, 3)}
    year, whole = found.tables["reverts"]
    assert (year["year"], year["k"], year["n"], year["median_days"], year["share"]) == (2021, 1, 4, 2.0, 0.25)
    assert whole["year"] is None


def later(tmp_path: Path, day: str) -> Store:
    """Two merges of nested tensors and one each of distributed tensors and strides, the last on this day."""
    batch = Rows("2026-01-01")
    merge(batch, 1, "Pad (#90100)", "2022-08-01", "torch/nested/__init__.py")
    merge(batch, 2, "Copy (#90101)", "2022-09-02", "torch/nested/__init__.py")
    merge(batch, 3, "Mesh (#90102)", "2022-10-01", "torch/distributed/tensor/api.py")
    merge(batch, 4, "Strides (#90103)", "2022-06-30", "c10/core/TensorImpl.cpp")  # before the middle of the year
    merge(batch, 5, "Strides (#90104)", day, "README.md")
    return stored(tmp_path / "later.duckdb", batch)


@pytest.mark.parametrize(("day", "verdict"), [("2023-01-25", "cannot_be_compared"), ("2024-08-01", "agrees")])
def test_which_parts_lead_is_decided_by_a_whole_history_only(tmp_path: Path, day: str, verdict: str) -> None:
    found = census.of_store(later(tmp_path, day))
    assert found is not None
    [row] = [row for row in found.claims if row["claim"] == "figure_4_leaders"]
    assert row["verdict"] == verdict
    assert f"to {day}: nested 1, dtensor 2; first is nested" in row["ours"]


def test_a_census_is_written_into_a_folder_of_its_own(history: Store, tmp_path: Path) -> None:
    done = command.run(history, ["census"], tmp_path / "out", Silent())
    names = {path.relative_to(tmp_path / "out").as_posix() for path in done.paths}
    files = ("numbers.csv", "figure_4.csv", "figure_4.svg", "figure_4.png", "reverts.csv", "claims.csv", "census.json")
    assert names == {f"census/{name}" for name in files}
    with (tmp_path / "out/census/numbers.csv").open() as stream:
        assert next(csv.DictReader(stream))["population"] == "census"


def test_without_a_history_a_census_that_was_asked_for_is_an_error(tmp_path: Path) -> None:
    store = stored(tmp_path / "e.duckdb", Rows("2026-01-01"))
    assert census.of_store(store) is None
    with pytest.raises(InputError, match="embers mine --source git"):
        command.run(store, ["census"], tmp_path / "out", Silent())
