"""The stage that fills the tables ``links`` and ``components`` from what changed since it last ran.

Texts are parsed in batches, each committed with the hashes of what it read, so that a kill loses no more than one, or
two where a second process (``helper.py``) parses one while the one before it is written. Links from events and
components from labels and files are a few set-based statements; they run when a table that they read has changed.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.link import components, relations
from torch_embers.link.components import Component, Components
from torch_embers.link.helper import Helper, SharedWork, helper_for
from torch_embers.link.texts import REJECTED_BY, Row, Rows
from torch_embers.store import renames, tables
from torch_embers.store import rows as table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
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
    # a merge can change an item's text and leave the page of its row; the text of a comment comes with its page
    "items": ", repo, number, kind, content_hash",
    "comments": ", repo, comment_id",
    "commits": ", repo, sha, line, pull_number",
    "events": "",
    "stated_links": "",
    "pull_files": "",
    "commit_files": "",
}
"""Tables that the stage reads, with what tells their rows apart beyond page and time."""
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
        mark, totals = _unlinked(store)
        if mark:
            scans = _changed(store)
            _LOG.info("%d changed texts to link", scans.num_rows)
            with helper_for(scans.num_rows) as helper:
                for todo, rows in _parsed(store, scans, helper):
                    _write(active, todo, rows)
                    done.update(todo.column("origin").to_pylist())
                    if progress:
                        progress(done.total(), scans.num_rows)
            _link_tables(store, active, mark)
            with store.read() as connection:
                totals = _totals(connection)
        else:
            _LOG.info("0 changed texts to link")
    return LinkCounts(done["item"], done["comment"], done["commit"], *totals)


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


def _unlinked(store: Store) -> tuple[str, tuple[int, int]]:
    """The state of all tables that the stage reads, empty where it was linked already; and the rows there are."""
    with store.read() as connection:
        mark = _fingerprint(connection)
        known = connection.execute("SELECT content_hash FROM link_scans WHERE origin = 'tables'").fetchall()
        totals = _totals(connection)
    return ("" if known == [(mark,)] else mark), totals


def _totals(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Rows of links and of components."""
    query = "SELECT (SELECT count(*) FROM links), (SELECT count(*) FROM components)"
    [(links, parts)] = connection.execute(query).fetchall()
    return links, parts


def _changed(store: Store) -> pa.Table:
    """Keys of the texts to parse in order of arrival, with whether each was parsed before; about 100 bytes each."""
    query = _sql("changed_texts.sql").format(digest=f"'{_rules_hash()}'")
    with store.read() as connection:
        connection.execute("SET threads = 1").fetchall()  # each thread has its part of the join in memory
        changed = connection.sql(query).to_arrow_table()
    return changed.sort_by([("origin", "ascending"), ("place", "ascending")])


def _parsed(store: Store, scans: pa.Table, helper: Helper | None) -> Iterator[tuple[pa.Table, Rows]]:
    """Parse the texts, a batch at a time; a helper works at the next batch while this one is written."""
    before: tuple[pa.Table, SharedWork] | None = None
    for start in range(0, scans.num_rows, BATCH):
        todo = scans.slice(start, BATCH)
        work = _read(store, todo, helper)
        if helper is None:
            yield todo, work.rows()
            continue
        if before:
            yield before[0], before[1].rows()
        before = todo, work
    if before:
        yield before[0], before[1].rows()


def _read(store: Store, todo: pa.Table, helper: Helper | None) -> SharedWork:
    """Read some texts and give them out to be parsed."""
    work = SharedWork(helper)
    with store.read() as base, base.cursor() as connection:  # a fresh cursor has no open result
        connection.register("todo", todo)
        for origin in sorted(set(todo.column("origin").to_pylist())):
            connection.execute(_TEXTS[origin])
            while records := connection.fetchmany(TEXTS_AT_ONCE):
                work.add(origin, records)
    return work


def _write(writer: Writer, todo: pa.Table, rows: Rows) -> None:
    """Put the rows of some texts in the place of those of the previous parse."""
    with writer.transaction(bulk=True) as connection:
        connection.register("todo", todo)
        if any(todo.column("seen").to_pylist()):
            own = {"own_item": _OWN_END.format(id="number"), "own_commit": _OWN_END.format(id="sha")}
            inverse = [rule.id for rule in relations.load().rules if rule.inverse]
            connection.execute(_FORGET_LINKS.format(**own), {"inverse": inverse})
            for statement in _FORGET:
                connection.execute(statement)
        connection.execute("INSERT INTO link_scans SELECT repo, origin, id, content_hash FROM todo")
        table_rows.append(connection, "links", _with_present_names(rows.links, renames.former(connection)))
        table_rows.append(connection, "components", rows.components)
        table_rows.append(connection, "rejects", rows.rejects)


_TEXTS = {
    "item": """
        SELECT i.repo, i.number, i.kind, i.title, i.body, i.created_at::VARCHAR, i.page_id
        FROM items i JOIN todo t ON t.origin = 'item' AND t.repo = i.repo AND t.number = i.number ORDER BY 1, 2""",
    "comment": """
        SELECT c.repo, c.number, c.comment_id, c.body, c.created_at::VARCHAR, c.page_id
        FROM comments c JOIN todo t ON t.origin = 'comment' AND t.repo = c.repo AND t.id = c.comment_id
        ORDER BY 1, 2, 3""",
    "commit": """
        SELECT c.repo, c.sha, c.subject, c.message, c.line, c.pull_number, c.committed_at::VARCHAR, c.page_id
        FROM commits c JOIN todo t ON t.origin = 'commit' AND t.repo = c.repo AND t.id = c.sha ORDER BY 1, 2""",
}

# Two repositories can each have a text of the same id, so an end of the link must be the text's own. An inverse link
# starts at the other item; where both ends have that id, the rule tells which of them is the text's.
_FORGET_LINKS = """
DELETE FROM links USING todo t WHERE links.evidence IN ('text', 'commit') AND links.found_id = t.id
  AND CASE links.found_in WHEN 'comment' THEN t.origin = 'comment' AND t.repo IN (links.repo, links.target_repo)
      WHEN 'message' THEN t.origin = 'commit' AND {own_commit} ELSE t.origin = 'item' AND {own_item} END
"""
_OWN_END = """
    CASE WHEN links.{id}::VARCHAR = t.id AND links.target_{id}::VARCHAR = t.id
    THEN t.repo = CASE WHEN list_contains($inverse, links.rule) THEN links.target_repo ELSE links.repo END
    ELSE (t.repo = links.repo AND t.id = links.{id}::VARCHAR)
      OR (t.repo = links.target_repo AND t.id = links.target_{id}::VARCHAR) END
"""
_FORGET = (
    """DELETE FROM components USING todo t WHERE components.evidence = 'text' AND t.origin = 'item'
       AND components.repo = t.repo AND components.number::VARCHAR = t.id""",
    f"""DELETE FROM rejects USING todo t
       WHERE rejects.source = '{REJECTED_BY}' AND rejects.origin = concat_ws(' ', t.repo, t.origin, t.id)""",
    """DELETE FROM link_scans USING todo t
       WHERE link_scans.repo = t.repo AND link_scans.origin IN (t.origin, 'own ' || t.origin)
       AND link_scans.id = t.id""",
)


def _link_tables(store: Store, writer: Writer, mark: str) -> None:
    """Run the set-based part, and note the state that is linked now."""
    with store.read() as connection:
        paths = _names(connection, "SELECT path FROM pull_files UNION SELECT path FROM commit_files")
        labels = _names(connection, "SELECT DISTINCT name FROM labels WHERE name IS NOT NULL")
    parts = Components.load()
    with writer.transaction() as connection:
        connection.register("path_parts", _named_parts(paths, parts.by_path))
        connection.register("label_parts", _named_parts(labels, parts.by_label))
        for script in _SCRIPTS:
            connection.execute(_sql(script))
        connection.execute("DELETE FROM link_scans WHERE origin = 'tables'")
        connection.execute("INSERT INTO link_scans VALUES ('*', 'tables', '*', ?)", [mark])


def _named_parts(names: Sequence[str], part_of: Callable[[str], Component | None]) -> pa.Table:
    """The component of each name that has one."""
    tables.without_pandas()
    import pyarrow as pa  # brings numpy, and where nothing is new nothing is linked

    text = pa.string()
    schema = pa.schema({"name": text, "component": text, "subcomponent": text, "strict": pa.bool_()})
    rows = [{"name": name} | part._asdict() for name in names if (part := part_of(name))]
    return pa.Table.from_pylist(rows, schema)


def _names(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    return [row[0] for row in connection.execute(query).fetchall()]


def _fingerprint(connection: duckdb.DuckDBPyConnection) -> str:
    """Return a text that changes when any source table of the stage does, or the rules do; no long text is read."""
    marks = [_rules_hash()]
    for table, columns in _SOURCES.items():
        row = connection.execute(
            f"SELECT count(*), max(fetched_at), coalesce(bit_xor(hash(page_id, fetched_at{columns})), 0) FROM {table}"
        ).fetchall()
        marks.append(f"{table}:{row}")
    return " ".join(marks)
