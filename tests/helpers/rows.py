"""Rows of the tracker as tests write them: one function per table, and ``put``, which stores them."""

from __future__ import annotations

from hashlib import md5
from typing import TYPE_CHECKING, Any

from torch_embers.store import renames, rows
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from torch_embers.store.writer import Writer


class Row(dict[str, Any]):
    """A row as a mapping, whose values are attributes, too; what it does not say is None."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


def _maker(names: str, **defaults: Any) -> Callable[..., Row]:
    """Make a function that makes a row: ``names`` are the columns whose values may be given by place."""

    def make(*values: Any, **given: Any) -> Row:
        row = defaults | dict(zip(names.split(), values, strict=False)) | given
        return Row((name, list(value) if isinstance(value, tuple) else value) for name, value in row.items())

    return make


Item = _maker("repo number kind title body")
Event = _maker("repo number event_id type created_at actor label")
Comment = _maker("repo number comment_id author author_association created_at updated_at body")
PullFile = _maker("repo number path change additions deletions")
StatedLink = _maker("repo number relation target_repo target_number evidence")
Link = _maker("repo number relation target_repo target_number", evidence="text", found_in="body")
CatalogEntry = _maker("repo number summary", backends=[], affected_versions=[], fixed_versions=[])
GoldLabel = _maker("repo number scheme value annotator_kind annotator evidence labelled_at")
Disposition = _maker(
    "repo number disposition evidence_date",
    evidence_kind="comment",
    evidence="read",
    annotator_kind="automated",
    annotator="a",
    source="catalog",
)
Commit = _maker("repo sha author authored_at committed_at subject message pull_number line files")
CommitFile = _maker("repo sha path change additions deletions")
Repository = _maker("repo_id full_name asked_as fetched_at", asked_as=None)


def replace(row: Row, **given: Any) -> Row:
    """The same row with other values."""
    return Row(row | given)


def put(writer: Writer, **tables: list[Row]) -> None:
    """Store rows by table, each in the place of the row with its key, in one transaction."""
    with writer.transaction() as connection:
        for row in tables.pop("repositories", []):
            renames.apply(connection, row["repo_id"], row["full_name"], row["asked_as"], row["fetched_at"])
        for name, added in tables.items():
            whole = [_hash(row) | row for row in added] if name == "items" else added
            if name in rows.KEYS:
                rows.replace(connection, name, rows.KEYS[name], whole)
            else:
                rows.append(connection, name, whole)


def store_of(path: Path, items: Iterable[Row] = (), **tables: list[Row]) -> Store:
    """A database to which these rows were added."""
    store = Store(path)
    with store.writer("test", create=True) as writer:
        put(writer, items=list(items), **tables)
    return store


def _hash(row: Row) -> dict[str, str]:
    text = f"{row.get('title') or ''}\n{row.get('body') or ''}"
    return {"content_hash": md5(text.encode()).hexdigest()}
