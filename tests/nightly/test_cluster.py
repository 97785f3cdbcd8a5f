"""Shards of a sweep, on machines of their own and on the nodes of a Ray cluster: what one machine finds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import raylets
from helpers.executor import calling
from helpers.verdicts import registered
from raylets import nodes_of
from support import Recorded, assert_clean_error, case_of, case_text, rows, run_embers
from torch_embers.builds.registry import Registry
from torch_embers.builds.work import Shard
from torch_embers.cases import bank
from torch_embers.cases.case import parse
from torch_embers.errors import ClusterError
from torch_embers.progress import Silent
from torch_embers.run import cases as command
from torch_embers.sandbox.proof import GUARANTEES
from torch_embers.settings import Settings
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.cases.case import Case

VERSIONS = BAD, GOOD = ("2.0.1", "2.1.2")
FADES = """
import os
import sys
import time
import torch

time.sleep({sleep})
bad = torch.__version__ < "{fixed}" or os.environ.get("EMBERS_PLANT") == "1"
print("off by {number}" if bad else "equal")
sys.exit(1 if bad else 0)
"""
WITH_RAY = pytest.mark.timeout(1800)
BARE = {"PATH": str(Path(sys.executable).parent)}
"""Variables of a node on which bubblewrap is not installed."""
EQUAL = {
    "runs": "* EXCLUDE (ran_at, duration, cpu, peak_memory, zygote)",
    "verdicts": "* EXCLUDE (decided_at, written)",
    "builds": "* EXCLUDE (seen_at)",
    "environments": "* EXCLUDE (seen_at)",
}
"""What is the same wherever it is run: all but times and the order of writing."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A registry of two builds, into which nodes look, too."""
    registry = registered(tmp_path_factory.mktemp("builds"), *VERSIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBERS_BUILDS_DIR", str(registry.folder))
        yield registry.folder


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Any]:
    """Its nodes find the builds of ``home``."""
    with raylets.head() as made:
        yield made


def cases(count: int, sleep: float = 0.0) -> list[Case]:
    """Cases whose bug is in 2.0.1 alone."""
    return [
        case_of(FADES.format(number=number, sleep=sleep, fixed=GOOD), f"pt{number}_example", known_bad=[BAD])
        for number in range(count)
    ]


def hostile() -> Case:
    code = "import torch\nif torch.__version__ == '2.0.1':\n    raise ValueError('reported')\n"
    return parse(case_text(code, signature="ValueError: reported", oracle="exception"), "x1", "fix_test")


def swept(path: Path, home: Path, wanted: Sequence[Case], progress: Any = None, **asked: Any) -> Iterator[Any]:
    store = Store(path)
    if not path.is_file():
        with store.writer("test", create=True) as writer, writer.transaction() as connection:
            bank.save(connection, wanted)
    request = command.RunRequest(builds=VERSIONS, jobs=1, **asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Registry, "_current", lambda _: None)
        patch.setattr(command.shipped, "load", lambda _: 0)
        settings = Settings(database=path, builds_dir=home)
        yield from command.run_cases(store, settings, request, progress or Silent())


def drive(database: str, home: str, address: str) -> None:
    for _ in swept(Path(database), Path(home), cases(12, 0.2), address=address):
        os.write(1, b"reached\n")


def assert_equal(one: Path, other: Path) -> None:
    for table, columns in EQUAL.items():
        query = f"SELECT {columns} FROM {table} ORDER BY ALL"
        assert rows(one, query) == rows(other, query), table


def test_shards_in_any_order_and_one_of_them_twice_make_the_tables_of_one_machine(tmp_path: Path, home: Path) -> None:
    wanted = cases(6)
    list(swept(tmp_path / "whole.duckdb", home, wanted))
    assert any(Shard(1, 3).has(case.hash) for case in wanted), "the shard that runs twice has cases"
    for number in (3, 1, 2):
        sealed = {"shard": Shard(number, 3), "state": tmp_path / f"{number}"}
        reached = list(swept(tmp_path / f"{number}.duckdb", home, wanted, **sealed))
        assert all(one.total == len(reached) < 12 for one in reached)
    list(swept(tmp_path / "again.duckdb", home, wanted, shard=Shard(1, 3), state=tmp_path / "again"))
    folders = [tmp_path / name for name in ("3", "1", "again", "2", "1")]
    merged = Store(tmp_path / "merged.duckdb")
    with merged.writer("test", create=True):
        pass
    done = run_embers("data", "merge", *folders, "--database", merged.path)
    assert done.returncode == 0, done.stderr
    assert [line.rpartition(": ")[2] for line in done.stdout.splitlines()][2::2] == ["0 new rows"] * 2
    assert_equal(merged.path, tmp_path / "whole.duckdb")


def test_an_interrupted_shard_goes_on_from_its_folder(tmp_path: Path, home: Path) -> None:
    sealed = {"shard": Shard(1, 2), "state": tmp_path / "sealed"}
    first = swept(tmp_path / "a.duckdb", home, cases(6), **sealed)
    begun = next(first).cell.case.hash
    first.close()
    cells = [one.cell for one in swept(tmp_path / "b.duckdb", home, cases(6), **sealed)]
    assert not next(cell.fresh for cell in cells if cell.case.hash == begun)


@pytest.mark.serial
@WITH_RAY
def test_a_sweep_whose_driver_and_then_a_node_are_killed_equals_that_of_one_machine(
    tmp_path: Path, home: Path, cluster: Any
) -> None:
    wanted, progress, far = cases(12, 0.2), Recorded(), tmp_path / "far.duckdb"
    list(swept(tmp_path / "here.duckdb", home, wanted))
    with nodes_of(cluster, {}, {}) as added:
        with subprocess.Popen(calling(drive, far, home, cluster.address), stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "reached\n"
            driver.kill()
        kept = rows(far, "SELECT case_hash, build, attempt, ran_at FROM runs")
        assert kept
        for place, reached in enumerate(swept(far, home, wanted, progress, address=cluster.address)):
            if reached.cell.fresh and place > 2 and added[0] in cluster.worker_nodes:
                cluster.remove_node(added[0], allow_graceful=False)
    assert any("did not make shard" in line for line in progress.lines), progress.lines
    assert set(kept) <= set(rows(far, "SELECT case_hash, build, attempt, ran_at FROM runs"))
    assert_equal(far, tmp_path / "here.duckdb")


@pytest.mark.serial
@WITH_RAY
def test_hostile_work_is_left_to_a_node_with_a_sandbox(tmp_path: Path, home: Path, cluster: Any) -> None:
    asked = {"cases": ["x1"], "address": cluster.address}
    with nodes_of(cluster, BARE):
        with pytest.raises(ClusterError, match=r"scripts from issues are not run there: .*bubblewrap is not installed"):
            list(swept(tmp_path / "refused.duckdb", home, [hostile()], **asked))
        assert rows(tmp_path / "refused.duckdb", "FROM runs") == []
    with nodes_of(cluster, BARE, {}):
        cells = [one.cell for one in swept(tmp_path / "given.duckdb", home, [hostile()], **asked)]
    assert {(cell.build.name, cell.decision.verdict) for cell in cells} == {(BAD, "occurs"), (GOOD, "absent")}
    query = "SELECT DISTINCT len(guarantees) FROM runs"
    assert rows(tmp_path / "given.duckdb", query) == [(len(GUARANTEES),)]


def test_a_missing_cluster_is_one_clean_line(tmp_path: Path, catalog_template: Path) -> None:
    done = run_embers("run", "--address", "127.0.0.1:1", "--database", catalog_template)
    assert_clean_error(done, 7, "no Ray cluster at 127.0.0.1:1 can be used")


@pytest.mark.parametrize(
    ("options", "words"),
    [("--shard 5/4", "--shard 5/4: give i/n"), ("--address h:1 --oracle layout", "on this machine only")],
)
def test_options_that_do_not_fit_are_named(catalog_template: Path, options: str, words: str) -> None:
    assert_clean_error(run_embers("run", *options.split(), "--database", catalog_template), 3, words)
