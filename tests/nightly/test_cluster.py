"""Runs on the nodes of a Ray cluster: who takes part, what a node refuses, equal tables, nodes and drivers that die."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import raylets
from raylets import nodes_of
from support import Recorded, case_of, case_text, fake_python, rows
from torch_embers.builds.registry import Registry, environment_key, placed_here
from torch_embers.errors import SandboxError
from torch_embers.progress import Silent
from torch_embers.repro import bank
from torch_embers.repro.case import parse
from torch_embers.run.batch import Batch
from torch_embers.run.cluster import worker
from torch_embers.run.cluster.jobs import shares_of
from torch_embers.run.cluster.limits import limits
from torch_embers.run.executor import Executor, SweepRequest
from torch_embers.run.verdict import Control, Rules
from torch_embers.run.where import Where, opened
from torch_embers.sandbox.proof import GUARANTEES
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.repro.case import Case


BAD, GOOD = "2.0.1", "2.1.2"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two builds, 2.0.1 and 2.1.2, in the registry that nodes look into, too."""
    folder = tmp_path_factory.mktemp("builds")
    registry = Registry(folder / "registry")
    for version in (BAD, GOOD):
        registry.register(fake_python(folder / version, version))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBERS_BUILDS_DIR", str(registry.folder))
        yield folder


@pytest.fixture
def registry(home: Path) -> Registry:
    return Registry(home / "registry")


FIXED = """
import os
import sys
import time
import torch

time.sleep({sleep})
bad = torch.__version__ == "2.0.1" or os.environ.get("EMBERS_PLANT") == "1"
print("off by {number}" if bad else "equal")
sys.exit(1 if bad else 0)
"""


def cases(count: int = 3, sleep: float = 0.0) -> list[Case]:
    """Cases whose bug is in 2.0.1 alone."""
    return [
        case_of(FIXED.format(number=number, sleep=sleep), f"pt{number}_example", known_bad=[BAD])
        for number in range(count)
    ]


def hostile() -> Case:
    code = "import torch\nif torch.__version__ == '2.0.1':\n    raise ValueError('reported')\n"
    return parse(case_text(code, signature="ValueError: reported", oracle="exception"), "x1", "extracted")


@pytest.fixture(scope="module")
def cluster(home: Path) -> Iterator[Any]:
    """Its nodes find the builds of ``home``."""
    with raylets.head() as made:
        yield made


def sweep(
    store: Store, registry: Registry, wanted: Sequence[Case], where: Where, progress: Any = None
) -> Iterator[Any]:
    builds = [registry.find(version) for version in (BAD, GOOD)]
    progress = progress or Silent()
    with opened(where, registry, progress, jobs=1) as dispatcher, store.writer("test", create=True) as writer:
        with writer.transaction() as connection:
            bank.save(connection, wanted)
        executor = Executor(store, writer, dispatcher, progress)
        yield from executor.sweep(SweepRequest(wanted, builds, builds))


def task(registry: Registry, case: Case, **changed: Any) -> worker.Turn:
    build = registry.find(GOOD)
    environment = environment_key(placed_here(build).where.items())
    batch = Batch(case, build, environment, 0)
    batch.plan(Control(), Rules.load())
    [share] = shares_of([batch], 1, limits(), Rules.load())
    made = share.task()
    assert made is not None
    return replace(made, **changed)


def test_a_node_makes_a_turn_and_says_where(registry: Registry) -> None:
    done = worker.do(task(registry, cases(1)[0]))
    assert isinstance(done, worker.Done)
    assert done.where == placed_here(registry.find(GOOD)).where
    assert [place for place, _ in done.made] == [0] * len(done.made)
    injected = [made.observation.outcome for _, made in done.made if made.attempt.inject]
    clean = [made.observation.outcome for _, made in done.made if not made.attempt.inject]
    assert (injected, set(clean)) == (["reproduced"], {"not_reproduced"})


def test_a_node_refuses_what_it_cannot_vouch_for(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    case = cases(1)[0]
    unknown = replace(registry.find(GOOD), version="2.1.9", channel="nightly")
    for changed, what, words in (
        ({"code": "0.1 (x)"}, "code", "install the same"),
        ({"environment": "another"}, "environment", "its environment is cpu"),
        ({"build": unknown}, "build", "is not installed there"),
    ):
        refusal = worker.do(task(registry, case, **changed))
        assert isinstance(refusal, worker.Refusal)
        assert refusal.what == what
        assert words in refusal.reason
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    refusal = worker.do(task(registry, hostile()))
    assert isinstance(refusal, worker.Refusal)
    assert refusal.what == "sandbox"
    assert "scripts from issues are not run here" in refusal.reason
    assert "bubblewrap is not installed" in refusal.reason


TABLES = {
    "runs": "case_hash, build, environment, batch, attempt, planted, outcome, detail, signature, stdout, stderr, "
    "profile, exit_code, signal, ended, seed, guarantees",
    "verdicts": "case_hash, build, environment, profile, batch, verdict, flaky, k, n, detectable_rate, control, "
    "control_build, control_k, control_n, detail, signature, provenance",
    "builds": "build, name, version",
    "environments": "* EXCLUDE (seen_at)",
}


def tables(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """All that a sweep writes, without times and identities of processes."""
    return {name: rows(store.path, f"SELECT {columns} FROM {name} ORDER BY ALL") for name, columns in TABLES.items()}


@pytest.mark.serial
@pytest.mark.timeout(1800)
def test_a_node_that_dies_in_mid_run_loses_nothing(tmp_path: Path, registry: Registry, cluster: Any) -> None:
    wanted, progress = cases(10, sleep=0.2), Recorded()
    local, far = Store(tmp_path / "local.duckdb"), Store(tmp_path / "far.duckdb")
    list(sweep(local, registry, wanted, Where()))
    with nodes_of(cluster, {}, {}) as added:
        for number, _ in enumerate(sweep(far, registry, wanted, Where("ray", cluster.address), progress)):
            if number == 0:
                cluster.remove_node(added[0], allow_graceful=False)
    assert any("is gone" in line or "was lost" in line for line in progress.lines), progress.lines
    assert tables(far) == tables(local)


@pytest.mark.serial
@pytest.mark.timeout(1800)
def test_a_node_without_a_sandbox_refuses_hostile_work_and_another_does_it(
    tmp_path: Path, registry: Registry, cluster: Any
) -> None:
    bare = {"PATH": str(Path(sys.executable).parent)}
    where, wanted = Where("ray", cluster.address), [hostile()]
    with nodes_of(cluster, bare) as [first]:
        store = Store(tmp_path / "refused.duckdb")
        with pytest.raises(SandboxError, match=r"scripts from issues are not run here: .*bubblewrap is not installed"):
            list(sweep(store, registry, wanted, where))
        assert tables(store)["runs"] == []
        del first
    progress = Recorded()
    with nodes_of(cluster, bare, {}):
        store = Store(tmp_path / "given.duckdb")
        cells = list(sweep(store, registry, wanted, where, progress))
    assert {(cell.build.name, cell.decision.verdict) for cell in cells} == {(BAD, "occurs"), (GOOD, "absent")}
    assert {guarantees for (guarantees,) in rows(store.path, "SELECT len(guarantees) FROM runs")} == {len(GUARANTEES)}


DRIVER = """
import sys

sys.path[:0] = {path!r}
from pathlib import Path
from torch_embers.builds.registry import Registry
from torch_embers.run import ledger
from torch_embers.run.where import Where
from torch_embers.store.store import Store

ledger.COMMIT_SECONDS = 0.0
for cell in sweep(Store(Path({database!r})), Registry(Path({registry!r})), cases(10, 0.1), Where("ray", {address!r})):
    print("cell", flush=True)
print("done")
"""


@pytest.mark.serial
@pytest.mark.timeout(1800)
def test_a_driver_that_is_killed_goes_on_where_it_was(tmp_path: Path, registry: Registry, cluster: Any) -> None:
    local = Store(tmp_path / "local.duckdb")
    list(sweep(local, registry, cases(10, 0.1), Where()))
    database = tmp_path / "far.duckdb"
    script = DRIVER.format(
        path=[str(Path(__file__).parent), str(Path(__file__).parents[1]), str(Path(bank.__file__).parents[2])],
        database=str(database),
        registry=str(registry.folder),
        address=cluster.address,
    )
    with nodes_of(cluster, {}, {}):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            assert [driver.stdout.readline() for _ in range(2)] == ["cell\n"] * 2
            driver.kill()
        kept = rows(database, "SELECT case_hash, build, attempt, planted, ran_at FROM runs")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("done\n")
    assert kept
    assert set(kept) <= set(rows(database, "SELECT case_hash, build, attempt, planted, ran_at FROM runs"))
    found, wanted = tables(Store(database)), tables(local)
    assert found["verdicts"] == wanted["verdicts"]
    key = "case_hash, build, environment, batch, planted, attempt"
    assert rows(database, f"SELECT {key} FROM runs GROUP BY ALL HAVING count(*) > 1") == []
