"""The stage that fills the tables ``links`` and ``components`` from what changed since it last ran.

Texts are parsed in batches, each committed with the hashes of what it read, so that a kill loses no more than one.
Links from events and components from labels and files are a few set-based statements; they run when a table that they
read has changed.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.link import components, relations
from torch_embers.link.components import Component, Components
from torch_embers.link.texts import Row, Rows, signs
from torch_embers.store import renames
from torch_embers.store import rows as table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import duckdb
    import pyarrow as pa

    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

_LOG = logging.getLogger(__name__)
BATCH = 20_000
"""Texts of one transaction: each closing of the file costs a checkpoint."""
TEXTS_AT_ONCE = 1_000
"""Texts in memory at a time: one can take a megabyte."""
_SOURCES = {
    "items": "repo, number, kind, content_hash, merge_sha, labels",
    "comments": "repo, comment_id, page_id",
    "commits": "repo, sha, line, pull_number",
    "events": "repo, event_id, page_id",
    "stated_links": "repo, number, relation, target_repo, target_number, evidence",
    "pull_files": "repo, number, path",
    "commit_files": "repo, sha, path",
}
"""Tables that the stage reads, with what tells their rows apart."""
_SCRIPTS = ("links_of_events.sql", "reverted_commits.sql", "resolve_commits.sql", "components_of_items.sql")
"""The set-based statements, in their order."""


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
    open_writer: AbstractContextManager[Writer] = nullcontext(writer) if writer else store.writer("link")
    done: Counter[str] = Counter()
    with open_writer as active:
        with store.read() as connection:
            mark = _fingerprint(connection)
            known = connection.execute("SELECT content_hash FROM link_scans WHERE origin = 'tables'").fetchall()
        if known != [(mark,)]:
            scans = _changed(store)
            _LOG.info("%d changed texts to link", scans.num_rows)
            for start in range(0, scans.num_rows, BATCH):
                todo = scans.slice(start, BATCH)
                _write(active, todo, _parsed(store, todo))
                parsed = todo.filter(todo.column("content_hash").is_valid()).column("origin").value_counts().to_pylist()
                done.update({row["values"]: row["counts"] for row in parsed})
                if progress:
                    progress(done.total(), scans.num_rows)
            _link_tables(store, active, mark)
        else:
            _LOG.info("0 changed texts to link")
        with store.read() as connection:
            count = "SELECT (SELECT count(*) FROM links), (SELECT count(*) FROM components)"
            [(links, parts)] = connection.execute(count).fetchall()
    return LinkCounts(done["item"], done["comment"], done["commit"], links, parts)


def _with_present_names(links: list[Row], present: Mapping[str, str]) -> list[Row]:
    """The links with the present names of repositories that texts call by a former one."""
    names = ("repo", "target_repo")
    return [{**link, **{n: present.get(link[n], link[n]) for n in names}} for link in links] if present else links


def _sql(name: str) -> str:
    return resources.package_file("link", name).read_text(encoding="utf-8")


@cache
def _rules_hash() -> str:
    """Hash of the rules and the scripts: texts are parsed again when it changes."""
    files = [resources.data_file(name) for name in (relations.FILE, components.FILE)]
    files += [resources.package_file("link", name) for name in _SCRIPTS]
    return blake2b(b"".join(file.read_bytes() for file in files), digest_size=16).hexdigest()


def _changed(store: Store) -> pa.Table:
    """Keys of the texts to parse in order of arrival, with whether each was parsed before; about 100 bytes each."""
    query = _sql("changed_texts.sql").format(digest=f"'{_rules_hash()}'")
    with store.read() as connection:
        connection.execute("SET threads = 1").fetchall()  # each thread has its part of the join in memory
        changed = connection.sql(query).to_arrow_table()
    return changed.sort_by([("origin", "ascending"), ("place", "ascending")])


def _parsed(store: Store, todo: pa.Table) -> Rows:
    """The rows of the texts with these keys."""
    rows = Rows()
    with store.read() as base, base.cursor() as connection:  # a fresh cursor has no open result
        connection.register("todo", todo)
        for origin in sorted(set(todo.column("origin").to_pylist())):
            query = _TEXTS[origin]
            given = {"signs": signs(), "longest": relations.load().limits.text_chars} if "$signs" in query else None
            connection.execute(query, given)
            while texts := connection.fetchmany(TEXTS_AT_ONCE):
                rows.add(origin, texts)
    return rows


def _write(writer: Writer, todo: pa.Table, rows: Rows) -> None:
    """Put the rows of some texts in the place of those of the previous parse."""
    with writer.transaction(bulk=True) as connection:
        connection.register("todo", todo)
        if any(todo.column("seen").to_pylist()):
            inverse = [rule.id for rule in relations.load().rules if rule.inverse]
            connection.execute("SET VARIABLE inverse = ?", [inverse])
            connection.execute(_sql("forget.sql"))
        connection.execute(
            "INSERT INTO link_scans SELECT repo, origin, id, content_hash FROM todo WHERE content_hash IS NOT NULL"
        )
        table_rows.append(connection, "links", _with_present_names(rows.links, renames.former(connection)))
        table_rows.append(connection, "components", rows.components)
        table_rows.append(connection, "rejects", rows.rejects)


_TEXTS = {
    "item": """
        SELECT i.repo, i.number, i.kind, i.title, i.created_at::VARCHAR,
               CASE WHEN regexp_matches(i.body, $signs) OR length(i.body) > $longest THEN i.body END
        FROM items i JOIN todo t ON t.origin = 'item' AND t.repo = i.repo AND t.number = i.number ORDER BY 1, 2""",
    "comment": """
        SELECT c.repo, c.number, c.comment_id, c.body, c.created_at::VARCHAR
        FROM comments c JOIN todo t ON t.origin = 'comment' AND t.repo = c.repo AND t.id = c.comment_id
        WHERE regexp_matches(c.body, $signs) OR length(c.body) > $longest ORDER BY 1, 2, 3""",
    "commit": """
        SELECT c.repo, c.sha, c.subject, c.message, c.line, c.pull_number, c.committed_at::VARCHAR
        FROM commits c JOIN todo t ON t.origin = 'commit' AND t.repo = c.repo AND t.id = c.sha ORDER BY 1, 2""",
}


def _link_tables(store: Store, writer: Writer, mark: str) -> None:
    """Run the set-based part, and note the state that is linked now."""
    with store.read() as connection:
        paths = connection.execute("SELECT path FROM pull_files UNION SELECT path FROM commit_files").fetchall()
        labels = connection.execute("SELECT DISTINCT name FROM labels WHERE name IS NOT NULL").fetchall()
    parts = Components.load()
    with writer.transaction() as connection:
        connection.register("path_parts", _named_parts(paths, parts.by_path))
        connection.register("label_parts", _named_parts(labels, parts.by_label))
        for script in _SCRIPTS:
            connection.execute(_sql(script))
        connection.execute("DELETE FROM link_scans WHERE origin = 'tables'")
        connection.execute("INSERT INTO link_scans VALUES ('*', 'tables', '*', ?)", [mark])


def _named_parts(names: Sequence[tuple[Any, ...]], part_of: Callable[[str], Component | None]) -> pa.Table:
    """The component of each name that has one."""
    table_rows.without_pandas()
    import pyarrow as pa  # brings numpy, and where nothing is new nothing is linked

    text = pa.string()
    schema = pa.schema({"name": text, "component": text, "subcomponent": text, "strict": pa.bool_()})
    rows = [{"name": name} | part._asdict() for (name,) in names if (part := part_of(name))]
    return pa.Table.from_pylist(rows, schema)


def _fingerprint(connection: duckdb.DuckDBPyConnection) -> str:
    """Return a text that changes when any source table of the stage does, or the rules do; no long text is read."""
    marks = [_rules_hash()]
    for table, columns in _SOURCES.items():
        row = connection.execute(f"SELECT count(*), coalesce(bit_xor(hash({columns})), 0) FROM {table}").fetchall()
        marks.append(f"{table}:{row}")
    return " ".join(marks)
