"""What the tests in test_events.py share."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from torch_embers.builds.registry import Build
from torch_embers.progress import Silent
from torch_embers.repro import bank, shipped_matrix
from torch_embers.run import recheck as rechecking
from torch_embers.run import state
from torch_embers.run.ledger import Cell
from torch_embers.run.recheck import Recheck, RecheckRequest, recheck
from torch_embers.run.verdict import Control, Decision
from torch_embers.store.rows import append
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.repro.case import Case

Verdicts = dict[tuple[str, str], str]
"""Verdict by case and release."""
NOW = datetime(2026, 11, 22, tzinfo=UTC)

SHIPPED: Verdicts = {(row["case"], row["build"]): row["verdict"] for row in shipped_matrix.matrix()}
RELEASES = sorted({release for _, release in SHIPPED}, key=lambda text: [int(part) for part in text.split(".")])


def build_of(release: str) -> Build:
    return Build(release, f"{release}+cpu", "a1b2c3d4e5", "release", "linux-x86_64", Path("python"), "3.11.7")


class Known:
    """An executor that knows every verdict and runs nothing."""

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts = verdicts
        self.ledger = SimpleNamespace(open_batch=lambda *_: 0)

    def __call__(self, *_: object, **__: object) -> Known:
        return self

    def confirming(self, request: Any, _since: Any) -> Any:
        return request

    def sweep(self, request: Any) -> Iterator[Cell]:
        for build in request.builds:
            for case in request.cases:
                verdict: Any = self.verdicts[case.name, build.name]
                decision = Decision(
                    verdict,
                    flaky=False,
                    hits=0,
                    runs=4,
                    detectable_rate=None,
                    control=Control(),
                    detail="",
                    signature=None,
                )
                yield Cell(case, build, "here", "reviewed", 0, decision, fresh=True)


def check(store: Store, cases: Sequence[Case], verdicts: Verdicts, releases: Sequence[str]) -> Recheck:
    """A re-check against the last of these releases."""
    builds = [build_of(release) for release in releases]
    with pytest.MonkeyPatch.context() as patch, store.writer("test") as writer:
        patch.setattr(rechecking, "Executor", Known(verdicts))
        dispatcher: Any = None
        result = recheck(store, writer, dispatcher, cases, RecheckRequest("all", builds[-1], builds, 7.0), Silent())
        rechecking.mark_told(writer)
        return result


@pytest.fixture
def store(catalog_database: Path) -> Store:
    return Store(catalog_database)


@pytest.fixture
def cases(store: Store) -> list[Case]:
    return [case for case in bank.load(store) if (case.name, RELEASES[0]) in SHIPPED]


TOLD = {
    "repo": "o/r",
    "number": 1,
    "backend": "cpu",
    "kind": "fixed",
    "reference": "2.15.0",
    "text": "x",
    "announced_at": NOW.isoformat(),
}


def sealed(made: Path, folder: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> Path:
    """A copy of a state in which one table is changed, and its seal with it."""
    copy = Path(shutil.copytree(made, folder))
    path, manifest = copy / f"{name}.parquet", json.loads((copy / state.MANIFEST).read_text())
    pq.write_table(change(pq.read_table(path)), path)
    manifest["tables"][name]["sha256"] = sha256(path.read_bytes()).hexdigest()
    (copy / state.MANIFEST).write_text(json.dumps(manifest))
    return copy


@pytest.fixture
def known(tmp_path: Path) -> Store:
    """A database with one announcement."""
    store = Store(tmp_path / "known.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        append(connection, "announcements", [TOLD])
    return store
