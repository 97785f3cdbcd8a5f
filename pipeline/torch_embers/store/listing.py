"""The queries behind `embers list` and `embers list --cases`: filters become conditions with parameters."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.store import schema
from torch_embers.store.rows import mappings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import duckdb

    from torch_embers.store.store import Store

FLIPS = "('ending', 'class', 'value')"
"""Kinds of a border that are more than another wording."""
SORTS = {
    "flip": f"""list_max([[coalesce(try_cast(part AS INTEGER), 0) FOR part IN string_split(s.versions[1], '.')]
                FOR s IN segments IF s.flip IN {FLIPS}])""",
    "number": "number",
    "updated": "updated_at",
    "created": "created_at",
    "closed": "closed_at",
    "comments": "comments",
    "reactions": "reactions",
}
ORIGINS = ("curated", "fix_test", "own")
SIGNAL = "s.ending IN ('signal', 'mixed') AND contains(s.what, 'SIG')"
"""Whether a segment ``s`` of a timeline has a signal, also as one of mixed endings."""
_ANSWERS = """CREATE TEMP TABLE answers AS
SELECT unnest($repo::VARCHAR[]) AS repo, unnest($number::BIGINT[]) AS number, unnest($closable::VARCHAR[]) AS closable,
       unnest($because::VARCHAR[]) AS because"""
_CLOSABLE = "CASE WHEN kind = 'issue' THEN coalesce(closable, 'unknown') END AS closable"
_NOT_SHOWN = "words, medium_classes, high_classes"
_JSON = f"""SELECT to_json(item)::VARCHAR FROM (
    SELECT * EXCLUDE ({_NOT_SHOWN}) REPLACE ({
    ", ".join(
        f"replace({name}::VARCHAR, ' ', 'T') || 'Z' AS {name}" for name in ("created_at", "updated_at", "closed_at")
    )
})
    FROM {{}}) AS item"""


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which items to list, in which order; None or an empty tuple: no such condition."""

    repo: str | None = None
    items: tuple[str, ...] = ()
    """Only these, as owner/name#number."""
    state: str | None = None
    disposition: str | None = None
    status: str | None = None
    occurs_on: str | None = None
    absent_on: str | None = None
    labels: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    """SCHEME=VALUE, VALUE, or another name of a class."""
    min_confidence: str = "low"
    """Least confidence of the classifier in a class that counts; annotators and runs always do."""
    operator: str | None = None
    backend: str | None = None
    has_case: bool | None = None
    origin: str | None = None
    flips: bool = False
    """The script of the report behaves otherwise from some release on; another wording alone is no flip."""
    as_reported_on: str | None = None
    """Release on which it shows what was reported."""
    crash_gone: bool = False
    """It died by a signal on some release, and does not on the newest."""
    closable: str | None = None
    """yes, no or unknown, by the answers that the list is given."""
    sort: str = "number"
    descending: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """Which cases to list; None or an empty tuple: no such condition."""

    name: str | None = None
    """Part of the name."""
    classes: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    occurs_on: str | None = None
    limit: int | None = None


@dataclass(slots=True)
class _Conditions:
    """Conditions of a query, and their parameters in order."""

    connection: duckdb.DuckDBPyConnection
    texts: list[str] = field(default_factory=list)
    parameters: list[Any] = field(default_factory=list)

    def add(self, text: str, *parameters: Any) -> None:
        self.texts.append(text)
        self.parameters += parameters

    def known(self, what: str, value: str, query: str) -> str:
        """The value as the database spells it.

        Raises:
            InputError: it is unknown; the message names the nearest known ones.
        """
        values = [str(row[0]) for row in self.connection.execute(query).fetchall() if row[0] is not None]
        return nearest(what, value, values)

    def add_classes(self, classes: Iterable[str], query: str, column: str = "classes") -> None:
        """Rows whose list in a column has each of these, given as SCHEME=VALUE, VALUE or another name of a class."""
        for name in classes:
            from torch_embers.taxonomy import Taxonomy  # its checks are heavy, and most lists ask for no class

            aliases = Taxonomy.load().aliases
            given = aliases.get(" ".join(re.split(r"[\s_-]+", name.casefold())), name)
            if "=" in given:
                self.add(f"list_contains({column}, ?)", self.known("class", given, query))
            else:
                values = f"SELECT DISTINCT split_part(class, '=', 2) FROM ({query}) AS c(class)"
                value = self.known("class", given, values)
                self.add(f"list_contains([split_part(c, '=', 2) FOR c IN {column}], ?)", value)

    def chosen(self, base: str, order: str, limit: int | None) -> str:
        """The rows of a query that pass, as what stands behind FROM."""
        where = f" WHERE {' AND '.join(self.texts)}" if self.texts else ""
        return f"({base}) AS item{where} ORDER BY {order}" + (f" LIMIT {limit:d}" if limit is not None else "")


def nearest(what: str, value: str, known: Iterable[str]) -> str:
    """The known value that is meant, whatever its case.

    Raises:
        InputError: none is; the message names those that look alike, else some that exist.
    """
    values = {text.casefold(): text for text in known}
    if value.casefold() in values:
        return values[value.casefold()]
    if not values:
        raise InputError(f"no {what} {value!r}: this database has none at all")
    near = difflib.get_close_matches(value.casefold(), values, n=3, cutoff=0.5) or sorted(values)[:5]
    raise InputError(f"no {what} {value!r}: known are for example {', '.join(values[name] for name in near)}")


def repository(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """The name of a repository as the database spells it.

    Raises:
        InputError: the database holds nothing of it.
    """
    return nearest(
        "repository", name, [repo for (repo,) in connection.execute("SELECT DISTINCT repo FROM items").fetchall()]
    )


def list_items(
    store: Store,
    wanted: ItemFilter,
    answers: Sequence[Mapping[str, Any]] | None = None,
    columns: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The items that pass the filters: a dictionary per item with the columns of items.sql.

    Args:
        store: the database.
        wanted: the filters.
        answers: rows of ``views/answers.py``: each item then says whether it is closable, and because of what. An issue
            without a row is unknown, a pull request has none.
        columns: only these, which takes less time; empty for all.

    Raises:
        InputError, StoreError: as of ``list_items_as_json``.
    """
    with store.read() as connection:
        found = _chosen(connection, store, wanted, answers, columns)
        return mappings(
            connection, f"SELECT {', '.join(columns) or f'* EXCLUDE ({_NOT_SHOWN})'} FROM {found[0]}", found[1]
        )


def list_items_as_json(store: Store, wanted: ItemFilter, answers: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same items as JSON, an object each: made by the database, a tenth of the time and memory.

    Raises:
        InputError: a filter names a state, build, label, class ... that is unknown here.
        StoreError: the database cannot be read.
    """
    with store.read() as connection:
        query, parameters = _chosen(connection, store, wanted, answers)
        return [text for (text,) in connection.execute(_JSON.format(query), parameters).fetchall()]


def _chosen(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    wanted: ItemFilter,
    answers: Sequence[Mapping[str, Any]] | None,
    columns: Sequence[str] = (),
) -> tuple[str, list[Any]]:
    """The items that pass the filters, as what stands behind FROM, with its parameters.

    Raises:
        InputError: a filter names what is unknown here.
    """
    if wanted.sort not in SORTS:
        raise InputError(f"--sort {wanted.sort!r}: one of {', '.join(SORTS)}")
    if wanted.state not in (None, "open", "closed"):
        raise InputError(f"--state {wanted.state!r}: open or closed")
    if wanted.closable not in (None, "yes", "no", "unknown"):
        raise InputError(f"--closable {wanted.closable!r}: yes, no or unknown")
    schema.require_ours(connection, store.path)
    conditions = _Conditions(connection)
    base = _item_query(
        classes=bool(wanted.classes) or not columns or "classes" in columns,
        # only closed items have one
        dispositions=wanted.state != "open" and (bool(wanted.disposition) or not columns or "disposition" in columns),
    )
    if answers is not None:
        names = ("repo", "number", "closable", "because")
        connection.execute(_ANSWERS, {name: [row[name] for row in answers] for name in names})
        base = f"SELECT item.*, {_CLOSABLE}, because FROM ({base}) AS item LEFT JOIN answers USING (repo, number)"
    _add_plain(conditions, wanted)
    _add_verdicts(conditions, wanted)
    _add_words(conditions, wanted, base)
    _add_timeline(conditions, wanted)
    if wanted.closable:
        conditions.add("closable = ?", wanted.closable)
    direction = "DESC" if wanted.descending else "ASC"
    order = f"{SORTS[wanted.sort]} {direction} NULLS LAST, repo, number {direction}"
    return conditions.chosen(base, order, wanted.limit), conditions.parameters


def _add_plain(conditions: _Conditions, wanted: ItemFilter) -> None:
    """Conditions on one value of an item."""
    if wanted.repo:
        conditions.add("repo = ?", repository(conditions.connection, wanted.repo))
    if wanted.items:
        conditions.add("repo || '#' || number IN (SELECT unnest(?))", list(wanted.items))
    if wanted.state:
        conditions.add("state = ?", wanted.state)
    if wanted.disposition:
        value = conditions.known(
            "disposition", wanted.disposition, "SELECT DISTINCT disposition FROM item_dispositions"
        )
        conditions.add("disposition = ?", value)
    if wanted.status:
        value = conditions.known("status", wanted.status, "SELECT DISTINCT status FROM statuses")
        conditions.add("list_contains(statuses, ?)", value)
    if wanted.has_case is not None:
        conditions.add("len(cases) > 0" if wanted.has_case else "len(cases) = 0")
    if wanted.origin:
        value = nearest("origin", wanted.origin, ORIGINS)
        conditions.add("list_contains(origins, ?)", value)


def _add_words(conditions: _Conditions, wanted: ItemFilter, base: str) -> None:
    """Conditions on lists and texts of an item."""
    for label in wanted.labels:
        value = conditions.known("label", label, "SELECT DISTINCT name FROM labels")
        conditions.add("list_contains(labels, ?)", value)
    column = "classes" if wanted.min_confidence == "low" else f"{wanted.min_confidence}_classes"
    conditions.add_classes(wanted.classes, f"SELECT DISTINCT unnest(classes) FROM ({base})", column)
    if wanted.backend:
        value = conditions.known("backend", wanted.backend, f"SELECT DISTINCT unnest(backends) FROM ({base})")
        conditions.add("list_contains(backends, ?)", value)
    if wanted.operator is not None:
        name = wanted.operator.removeprefix("torch.").strip()
        if not name:
            raise InputError(f"--operator {wanted.operator!r}: name an operator, as sum or nn.functional.pad")
        conditions.add("regexp_matches(words, '(^|\\W)' || regexp_escape(?) || '(\\W|$)')", name)


def _add_verdicts(conditions: _Conditions, wanted: ItemFilter) -> None:
    """Conditions on what the cases of an item do on a build."""
    verdicts = (
        "(SELECT list(lv.verdict) FROM latest_verdicts lv JOIN cases c ON c.case_hash = lv.case_hash AND c.current "
        "JOIN case_items ci ON ci.case_hash = c.case_hash JOIN builds b ON b.build = lv.build "
        "WHERE ci.repo = item.repo AND ci.number = item.number AND split_part(b.version, '+', 1) = ?)"
    )
    if wanted.occurs_on:
        conditions.add(f"list_contains({verdicts}, 'occurs')", _release(conditions, wanted.occurs_on))
    if wanted.absent_on:
        conditions.add(
            f"list_distinct(list_filter({verdicts}, lambda v: v <> 'untestable')) = ['absent']",
            _release(conditions, wanted.absent_on),
        )


def _add_timeline(conditions: _Conditions, wanted: ItemFilter) -> None:
    """Conditions on what the script of an item's report does."""
    if wanted.flips:
        conditions.add(f"list_bool_or([s.flip IN {FLIPS} FOR s IN segments])")
    if wanted.as_reported_on:
        releases = "SELECT DISTINCT unnest(versions) FROM timelines"
        release = conditions.known("release with a timeline", wanted.as_reported_on, releases)
        reported = "[s.match = 'as_reported' AND list_contains(s.versions, ?) FOR s IN segments]"
        conditions.add(f"list_bool_or({reported})", release)
    if wanted.crash_gone:
        signals = f"[{SIGNAL} FOR s IN segments]"
        conditions.add(f"list_bool_or({signals}) AND NOT list_last({signals})")


def _release(conditions: _Conditions, build: str) -> str:
    """The release that a build's name or version stands for."""
    query = "SELECT DISTINCT split_part(version, '+', 1) FROM builds b SEMI JOIN verdicts v USING (build)"
    named = conditions.connection.execute(
        "SELECT DISTINCT split_part(version, '+', 1) FROM builds WHERE name = ?", [build]
    ).fetchall()
    return conditions.known("build with verdicts", str(named[0][0]) if named else build, query)


def list_cases(store: Store, wanted: CaseFilter) -> list[dict[str, Any]]:
    """The cases that pass the filters: a dictionary per case with the columns of cases.sql.

    Raises:
        InputError: a filter names a class, need or build that is unknown here.
        StoreError: the database cannot be read.
    """
    base = _query("cases").replace("{newest_verdicts}", _query("newest_verdicts"))
    with store.read() as connection:
        schema.require_ours(connection, store.path)
        conditions = _Conditions(connection)
        if wanted.name:
            conditions.add("contains(lower(name), lower(?))", wanted.name)
        conditions.add_classes(wanted.classes, f"SELECT DISTINCT unnest(classes) FROM ({base})")
        for need in wanted.requires:
            value = conditions.known("need", need, "SELECT DISTINCT unnest(requires) FROM cases WHERE current")
            conditions.add("list_contains(requires, ?)", value)
        if wanted.occurs_on:
            conditions.add(
                "case_hash IN (SELECT lv.case_hash FROM latest_verdicts lv JOIN builds b USING (build) "
                "WHERE lv.verdict = 'occurs' AND split_part(b.version, '+', 1) = ?)",
                _release(conditions, wanted.occurs_on),
            )
        return mappings(connection, f"FROM {conditions.chosen(base, 'name', wanted.limit)}", conditions.parameters)


def _item_query(*, classes: bool, dispositions: bool) -> str:
    query = _query("items").replace("{item_verdicts}", _query("item_verdicts"))
    query = query.replace("{newest_verdicts}", _query("newest_verdicts"))
    return query.replace("{classes}", str(classes)).replace("{dispositions}", str(dispositions))


def _query(name: str) -> str:
    return resources.package_file("store", f"{name}.sql").read_text(encoding="utf-8")
