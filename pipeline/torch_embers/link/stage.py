"""The stage that fills the tables ``links`` and ``components`` from what changed since it last ran.

Texts are parsed in batches, each committed with the hashes of what it read, so that a kill loses no more than one.
Links from events and components from labels and files are a few set-based statements; they run when a table that
they read has changed.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from torch_embers import resources
from torch_embers.link import relations
from torch_embers.link.components import Components
from torch_embers.link.references import Reference, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import duckdb

    from torch_embers.store.store import Store, Writer

BATCH = 5_000
_SOURCES = ("items", "events", "stated_links", "pull_files", "commit_files", "commits")
_LINK_COLUMNS: dict[str, pa.DataType] = {
    "repo": pa.string(),
    "number": pa.int32(),
    "sha": pa.string(),
    "relation": pa.string(),
    "target_repo": pa.string(),
    "target_number": pa.int32(),
    "target_sha": pa.string(),
    "evidence": pa.string(),
    "found_in": pa.string(),
    "found_id": pa.string(),
    "rule": pa.string(),
    "snippet": pa.string(),
    "stated_at": pa.timestamp("us"),
    "page_id": pa.string(),
}
_PART_COLUMNS: dict[str, pa.DataType] = {
    "repo": pa.string(),
    "number": pa.int32(),
    "component": pa.string(),
    "subcomponent": pa.string(),
    "strict": pa.bool_(),
    "evidence": pa.string(),
    "detail": pa.string(),
    "page_id": pa.string(),
}
_SCAN_COLUMNS = {name: pa.string() for name in ("repo", "origin", "id", "content_hash")}
_NAMED_COLUMNS: dict[str, pa.DataType] = {
    "name": pa.string(),
    "component": pa.string(),
    "subcomponent": pa.string(),
    "strict": pa.bool_(),
}


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """What one run of the stage did."""

    items: int
    comments: int
    commits: int
    links: int
    """Rows in the table afterwards."""
    components: int
    """Rows in the table afterwards."""


class _Scan(NamedTuple):
    origin: str
    repo: str
    id: str
    content_hash: str
    seen: bool


@dataclass(slots=True)
class _Rows:
    links: list[tuple[Any, ...]] = field(default_factory=list)
    parts: list[tuple[Any, ...]] = field(default_factory=list)


def link_changed(
    store: Store, writer: Writer | None = None, progress: Callable[[int, int], None] | None = None
) -> LinkCounts:
    """Bring ``links`` and ``components`` up to date.

    Args:
        store: the database.
        writer: the writer that the caller already holds, if any.
        progress: called with (texts done, texts in all) after each batch.

    Raises:
        StoreError: the database cannot be read or written.
        InputError: data/relations.toml or data/components.toml is wrong.
    """
    held: AbstractContextManager[Writer] = nullcontext(writer) if writer else store.writer("link")
    with held as pen:
        scans = _changed(store)
        for start in range(0, len(scans), BATCH):
            _link_batch(store, pen, scans[start : start + BATCH])
            if progress:
                progress(min(start + BATCH, len(scans)), len(scans))
        _link_tables(store, pen, texts_changed=bool(scans))
    with store.read() as connection:
        totals = [_count(connection, table) for table in ("links", "components")]
    done = [sum(scan.origin == origin for scan in scans) for origin in ("item", "comment", "commit")]
    return LinkCounts(*done, *totals)


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def _sql(name: str) -> str:
    return resources.package_file("link", name).read_text(encoding="utf-8")


def _digest() -> str:
    return relations.load().digest + Components.load().digest


def _table(columns: dict[str, pa.DataType], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    data = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    arrays = [pa.array(values, kind) for values, kind in zip(data, columns.values(), strict=True)]
    return pa.table(arrays, names=list(columns))


def _changed(store: Store) -> list[_Scan]:
    query = _sql("changed_texts.sql").format(digest=f"'{_digest()}'")
    with store.read() as connection:
        return [_Scan(*row) for row in connection.execute(query).fetchall()]


def _link_batch(store: Store, pen: Writer, scans: list[_Scan]) -> None:
    """Parse some texts and replace what they gave before."""
    table = _table(_SCAN_COLUMNS, [(scan.repo, scan.origin, scan.id, scan.content_hash) for scan in scans])
    origins = {scan.origin for scan in scans}
    rows = _Rows()
    with store.read() as base, base.cursor() as connection:  # a fresh cursor has no open result
        connection.register("todo", table)
        texts = {origin: connection.execute(_TEXTS[origin]).fetchall() for origin in sorted(origins)}
    for origin, found in texts.items():
        _READERS[origin](found, rows)
    seen = any(scan.seen for scan in scans)
    with pen.transaction() as connection:
        connection.register("todo", table)
        if seen:
            for statement in _FORGET:
                connection.execute(statement)
        connection.execute("INSERT INTO link_scans BY NAME SELECT * FROM todo")
        _insert(connection, "links", _table(_LINK_COLUMNS, rows.links))
        _insert(connection, "components", _table(_PART_COLUMNS, rows.parts))


def _insert(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    if rows.num_rows:
        connection.register("fresh", rows)
        connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM fresh")
        connection.unregister("fresh")


_TEXTS = {
    "item": """
        SELECT i.repo, i.number, i.kind, i.title, i.body, i.created_at, i.page_id
        FROM items i JOIN todo t ON t.origin = 'item' AND t.repo = i.repo AND t.id = i.number::VARCHAR ORDER BY 1, 2""",
    "comment": """
        SELECT c.repo, c.number, c.comment_id, c.body, c.created_at, c.page_id
        FROM comments c JOIN todo t ON t.origin = 'comment' AND t.repo = c.repo AND t.id = c.comment_id
        ORDER BY 1, 2, 3""",
    "commit": """
        SELECT c.repo, c.sha, c.subject, c.message, c.committed_at, c.page_id
        FROM commits c JOIN todo t ON t.origin = 'commit' AND t.repo = c.repo AND t.id = c.sha ORDER BY 1, 2""",
}

# found_id names the text that a link was found in; an inverse link starts at the other item, so either end may be
# the text's own.
_FORGET = (
    """DELETE FROM links USING todo t WHERE links.evidence IN ('text', 'commit') AND links.found_id = t.id
       AND (links.repo = t.repo OR links.target_repo = t.repo)
       AND ((t.origin = 'item' AND links.found_in IN ('title', 'body'))
         OR (t.origin = 'comment' AND links.found_in = 'comment')
         OR (t.origin = 'commit' AND links.found_in = 'message'))""",
    """DELETE FROM components USING todo t WHERE components.evidence = 'text' AND t.origin = 'item'
       AND components.repo = t.repo AND components.number::VARCHAR = t.id""",
    """DELETE FROM link_scans USING todo t
       WHERE link_scans.repo = t.repo AND link_scans.origin = t.origin AND link_scans.id = t.id""",
)


class _Place(NamedTuple):
    """Where a text stands."""

    repo: str
    number: int | None
    sha: str | None
    evidence: str
    found_in: str
    found_id: str
    stated_at: Any
    page_id: str | None


def _rows_of(references: Iterable[Reference], place: _Place) -> Iterator[tuple[Any, ...]]:
    """Rows of ``links``; an inverse reference starts at its target."""
    own = (place.repo, place.number, place.sha)
    for reference in references:
        other = (reference.target_repo, reference.target_number, reference.target_sha)
        source, target = (other, own) if reference.inverse else (own, other)
        yield (
            *source,
            reference.relation,
            *target,
            place.evidence,
            place.found_in,
            place.found_id,
            reference.rule,
            reference.snippet,
            place.stated_at,
            place.page_id,
        )


def _read_items(found: Iterable[tuple[Any, ...]], rows: _Rows) -> None:
    components = Components.load()
    for repo, number, kind, title, body, created_at, page_id in found:
        for place, text in (("title", title), ("body", body)):
            if text:
                references = parse(text, repo=repo, number=number, title=place == "title", kind=kind or None)
                where = _Place(repo, number, None, "text", place, str(number), created_at, page_id)
                rows.links += _rows_of(references, where)
        for hit in components.by_text(title, body):
            rows.parts.append((repo, number, *astuple(hit.component), hit.evidence, hit.detail, page_id))


def _read_comments(found: Iterable[tuple[Any, ...]], rows: _Rows) -> None:
    for repo, number, comment_id, body, created_at, page_id in found:
        if body:
            references = parse(body, repo=repo, number=number, kind="comment")
            where = _Place(repo, number, None, "text", "comment", comment_id, created_at, page_id)
            rows.links += _rows_of(references, where)


def _read_commits(found: Iterable[tuple[Any, ...]], rows: _Rows) -> None:
    for repo, sha, subject, message, committed_at, page_id in found:
        where = _Place(repo, None, sha, "commit", "message", sha, committed_at, page_id)
        first, _, rest = (message or "").partition("\n")
        references = parse(subject or first, repo=repo, title=True, kind="commit")
        known = {(r.relation, r.target_repo, r.target_number, r.target_sha, r.inverse) for r in references}
        for reference in parse(rest, repo=repo, kind="commit"):
            key = (
                reference.relation,
                reference.target_repo,
                reference.target_number,
                reference.target_sha,
                reference.inverse,
            )
            if key not in known:
                references.append(reference)
        rows.links += _rows_of(references, where)


_READERS: dict[str, Callable[[Iterable[tuple[Any, ...]], _Rows], None]] = {
    "item": _read_items,
    "comment": _read_comments,
    "commit": _read_commits,
}


def _link_tables(store: Store, pen: Writer, *, texts_changed: bool) -> None:
    """Run the set-based part, unless nothing that it reads has changed."""
    with store.read() as connection:
        mark = _fingerprint(connection)
        known = _names(connection, "SELECT content_hash FROM link_scans WHERE origin = 'tables'")
        if not texts_changed and known == [mark]:
            return
        paths = _names(connection, "SELECT path FROM pull_files UNION SELECT path FROM commit_files")
        labels = _names(connection, "SELECT DISTINCT name FROM labels WHERE name IS NOT NULL")
    components = Components.load()
    path_rows = [(name, *astuple(part)) for name in paths if (part := components.by_path(name))]
    label_rows = [(name, *astuple(part)) for name in labels if (part := components.by_label(name))]
    with pen.transaction() as connection:
        connection.register("path_parts", _table(_NAMED_COLUMNS, path_rows))
        connection.register("label_parts", _table(_NAMED_COLUMNS, label_rows))
        for script in ("links_of_events.sql", "resolve_commits.sql", "components_of_items.sql"):
            connection.execute(_sql(script))
        connection.execute("DELETE FROM link_scans WHERE origin = 'tables'")
        connection.execute("INSERT INTO link_scans VALUES ('*', 'tables', '*', ?)", [mark])


def _names(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    return [row[0] for row in connection.execute(query).fetchall()]


def _fingerprint(connection: duckdb.DuckDBPyConnection) -> str:
    """Return a text that changes when any source table of the set-based part does, or the rules do."""
    marks = [_digest()]
    for table in _SOURCES:
        row = connection.execute(
            f"SELECT count(*), max(fetched_at), coalesce(bit_xor(hash(page_id, fetched_at)), 0) FROM {table}"
        ).fetchall()
        marks.append(f"{table}:{row}")
    return " ".join(marks)
