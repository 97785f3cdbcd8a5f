"""Sweeps and re-checks of cases on three small fake builds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.rows import Disposition, Item, store_of
from helpers.verdicts import registered
from support import case_of
from torch_embers.builds.registry import Build, Registry
from torch_embers.builds.work import Machine
from torch_embers.cases import bank
from torch_embers.progress import Silent
from torch_embers.recheck.recheck import RecheckRequest, mark_told, recheck
from torch_embers.store.store import Store
from torch_embers.verdicts.executor import Executor, SweepRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch_embers.cases.case import Case
    from torch_embers.verdicts.ledger import Cell

BAD, GOOD, NEW = "2.0.1", "2.1.2", "2.2.2"
FIXED = """
import os
import sys
import torch

bad = torch.__version__ in {bad!r} or os.environ.get("EMBERS_PLANT") == "1"
print("off by 3" if bad else "equal")
sys.exit(1 if bad else 0)
"""
"""A case whose bug is there in some versions."""
HELD = (
    "SELECT DISTINCT case_hash, build, environment, injected, outcome FROM runs ORDER BY ALL",
    "SELECT case_hash, build, verdict, k, n, control_build, control_k, control_n FROM verdicts ORDER BY ALL",
    "SELECT number, reference, status, previous, evidence FROM status_history ORDER BY ALL",
    "SELECT number, kind, reference, text, is_told FROM announcements ORDER BY ALL",
)
"""What a database must hold whoever was killed, without times and numbers of batches."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three builds, oldest first: 2.0.1, 2.1.2, 2.2.2."""
    return registered(tmp_path_factory.mktemp("builds"), BAD, GOOD, NEW).folder.parent


@pytest.fixture
def registry(home: Path) -> Registry:
    return Registry(home / "registry")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Of a database that does not exist yet."""
    return Store(tmp_path / "e.duckdb")


def calling(function: Callable[..., None], *words: object) -> list[str]:
    """The command that calls a function of a test file with some words, in a process of its own."""
    own, here = Path(function.__code__.co_filename), Path(__file__)
    paths = [str(path) for path in (own.parent, here.parents[1], Path(bank.__file__).parents[2])]
    code = f"import sys; sys.path[:0] = {paths!r}; import {own.stem} as own; own.{function.__name__}(*sys.argv[1:])"
    return [sys.executable, "-c", code, *map(str, words)]


def builds(registry: Registry) -> list[Build]:
    return [registry.find(version) for version in (BAD, GOOD, NEW)]


def fixed_case(bad: Sequence[str] = (BAD,), **meta: object) -> Case:
    return case_of(FIXED.format(bad=list(bad)), **({"relation": "same"} | meta))


def put_item(store: Store, number: int, state: str) -> None:
    item = Item("pytorch/pytorch", number, title="A [bold] title", state=state)
    read = Disposition(item.repo, number, "fixed", evidence_kind="closing_pr", evidence="a pull request")
    store_of(store.path, [item], dispositions=[read])


def sweep(
    store: Store, registry: Registry, cases: Sequence[Case], on: Iterable[str] = (BAD, GOOD, NEW)
) -> dict[tuple[str, str], Cell]:
    with store.writer("test", create=True) as writer:
        with writer.transaction() as connection:
            bank.save(connection, cases)
        executor = Executor(store, writer, Machine(registry), Silent())
        request = SweepRequest(cases, [registry.find(v) for v in on], builds(registry))
        return {(cell.case.name, cell.build.name): cell for cell in executor.sweep(request)}


def verdicts(cells: dict[tuple[str, str], Cell]) -> dict[tuple[str, str], str]:
    return {key: cell.decision.verdict for key, cell in cells.items()}


def check_again(
    store: Store,
    registry: Registry,
    cases: Sequence[Case],
    only: str = "all",
    *,
    on: Sequence[str] = (BAD, GOOD, NEW),
    controls: Sequence[str] = (BAD, GOOD, NEW),
    every: float = 7.0,
) -> Any:
    asked, others = ([registry.find(version) for version in versions] for versions in (on, controls))
    request = RecheckRequest(only, registry.find(NEW), asked, others, every)
    with store.writer("test", create=True) as writer:
        with writer.transaction() as connection:
            bank.save(connection, cases)
        result = recheck(store, writer, Machine(registry), cases, request, Silent())
        mark_told(writer)
        return result
