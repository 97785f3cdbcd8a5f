"""Mines by number, for tests: a database of its own, fast patience, and what is compared of two of them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb

from support import rows, snapshot
from torch_embers.mine import live
from torch_embers.mine.github_api import GitHubApi, Patience
from torch_embers.store import writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

REPO = "pytorch/pytorch"
QUICK = Patience(retries=6, max_wait=20, timeout=5, pause=0, backoff=0.02, secondary_wait=0.1)
TABLES = ("items", "comments", "events", "pull_files", "stated_links")


def transactions(path: Path) -> Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]]:
    """Opens a database, made where it is missing, for one transaction at a time."""
    if not path.exists():
        writer.create(path)

    @contextmanager
    def transaction() -> Iterator[duckdb.DuckDBPyConnection]:
        with duckdb.connect(str(path)) as connection:
            connection.execute("SET threads = 1; BEGIN")
            yield connection
            connection.execute("COMMIT")

    return transaction


def mined(path: Path, url: str, *numbers: int, token: str = "token-one", repo: str = REPO, **given: Any) -> live.Report:
    """Mine once."""
    patience, budget = given.pop("patience", QUICK), given.pop("budget", None)
    with GitHubApi(url, [token] if token else [], patience, budget) as api:
        if numbers:
            return live.mine_items(transactions(path), api, repo, numbers)
        return live.mine(transactions(path), api, repo, **given)


def stored(path: Path) -> dict[str, list[Any]]:
    """Rows of the derived tables, sorted, without whence and when they came; and which items are gone."""
    gone = "SELECT repo, number FROM items WHERE deleted_at IS NOT NULL ORDER BY ALL"
    return snapshot(path, TABLES, without=("source", "deleted_at")) | {"gone": rows(path, gone)}
