"""The SQL that writes a staged batch: keep what is newest, never lose what only an older source knew."""

from __future__ import annotations

from torch_embers.store.tables import COLUMNS, FOLLOWS, KEYS

ITEM_KEY = KEYS["items"]
_PROVENANCE = ("source", "fetched_at", "page_id")
_ITEM_VALUES = tuple(n for n in COLUMNS["items"] if n not in (*ITEM_KEY, "updated_at", *_PROVENANCE))

GIT = "git"
"""Source of rows that a history of commits gives: every other source wins over them."""
TRACKERS_RANK = "TIMESTAMP '0001-01-03'"
"""Rank of what a tracker states without a time; what a git history says ranks below it."""
_TRACKER = f"source IS DISTINCT FROM '{GIT}'"
_LIVE = "source IN ('graphql', 'rest')"
OWNERS = {"pull_files": ("repo", "number")}
"""Rows of these tables belong to an owner as a list: two sources that name different files are not added up."""
EVENT_TRAITS = ("repo", "number", "type", "created_at", "actor", "label")
"""Rows of events that are equal in these, to the second, can tell of one event."""
EVENT_DETAILS = ("other_repo", "other_number", "commit_sha", "title_from", "title_to")
"""Columns in which two rows of one event agree, unless one of them does not state it."""
_EVENT_RANK = (
    "CASE WHEN starts_with(event_id, 'archive:') THEN 0 "
    "WHEN contains(event_id, ':') OR regexp_full_match(event_id, '[0-9]+') THEN 1 ELSE 2 END"
)
"""Rank of an event's key: GH Archive has its own, REST had a number or none before it had GitHub's node id."""
VERSIONS = dict.fromkeys(("comments", "reviews", "review_comments"), "updated_at")
"""Column by which a row is newer than another of the same key; elsewhere the later arrival counts."""


def _typed(name: str) -> str:
    """Staged columns are text; times (``..._at``) and dates get their type here, in C++."""
    if name.endswith("_at"):
        return f"try_cast({name} AS TIMESTAMP)"
    return f"try_cast({name} AS DATE)" if name == "facts_as_of" else name


def replace_rows(table: str) -> list[str]:
    """Statements that put the staged rows of ``table`` in place; the last of equal keys wins."""
    names = list(COLUMNS[table])
    columns = ", ".join(names)
    typed = ", ".join(f"{_typed(n)} AS {n}" for n in names)
    key = ", ".join(KEYS[table])
    match = " AND ".join(f"{table}.{k} = fresh.{k}" for k in KEYS[table])
    version = VERSIONS.get(table)
    newest = "rank DESC NULLS LAST, " if version else ""
    staged = f"SELECT {typed}, position FROM stage"
    if version:
        staged = f"SELECT *, {_version_rank(version, key)} AS rank FROM ({staged})"
    outdated = [
        f"DELETE FROM fresh USING {table} WHERE {match} "
        f"AND {_said(version, f'{table}.')} > {_said(version, 'fresh.')} "
        # a time of the future does not keep out what GitHub shows afterwards
        f"AND NOT coalesce({table}.{version} > {table}.fetched_at AND fresh.{_LIVE}, false)"
    ]
    owner = OWNERS.get(table)
    if owner:
        newest = f"{_TRACKER} DESC, "
    return [
        f"CREATE OR REPLACE TEMP TABLE fresh AS SELECT {columns}, position FROM ({staged}) "
        f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {newest}position DESC) = 1",
        *(outdated if version else []),
        *(_tracker_wins(table, owner) if owner else []),
        f"DELETE FROM {table} USING fresh WHERE {match}",
        f"INSERT INTO {table} ({columns}) SELECT {columns} FROM fresh ORDER BY position",
        "DROP TABLE fresh",
    ]


def _said(version: str | None, row: str = "") -> str:
    """When a row was said: nothing was said later than it was fetched."""
    return f"CASE WHEN {row}{version} > {row}fetched_at THEN {row}fetched_at ELSE {row}{version} END"


def _version_rank(version: str, key: str) -> str:
    """The time of a staged row among others: one of the future does not outrank what GitHub shows afterwards."""
    corrected = (
        f"min({version}) FILTER ({_LIVE} AND NOT coalesce({version} > fetched_at, false)) OVER "
        f"(PARTITION BY {key} ORDER BY position ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)"
    )
    return f"CASE WHEN {version} > fetched_at THEN least(fetched_at, {corrected}) ELSE {version} END"


def _tracker_wins(table: str, owner: tuple[str, ...]) -> list[str]:
    """Statements by which the rows that a tracker gives for an owner leave no row of a git history beside them."""
    own = " AND ".join(f"{table}.{k} = fresh.{k}" for k in owner)
    of_git, of_tracker = "{0}.source = '" + GIT + "'", "{0}.source IS DISTINCT FROM '" + GIT + "'"
    staged = f"(SELECT DISTINCT {', '.join(owner)} FROM fresh WHERE {_TRACKER}) better"
    same = " AND ".join(f"better.{k} = fresh.{k}" for k in owner)
    return [
        f"DELETE FROM fresh USING {staged} WHERE {same} AND {of_git.format('fresh')}",
        f"DELETE FROM fresh USING {table} WHERE {own} AND {of_git.format('fresh')} AND {of_tracker.format(table)}",
        f"DELETE FROM {table} USING fresh WHERE {own} AND {of_git.format(table)} AND {of_tracker.format('fresh')}",
    ]


def only_last_page(table: str) -> list[str]:
    """Statements that delete what is not of the page of the last staged row."""
    return [f"DELETE FROM {table} WHERE page_id <> (SELECT max_by(page_id, position) FROM stage)"]


def merge_users() -> list[str]:
    """Statements for staged accounts: per column the latest value, because many places say no more than a login."""
    return [*_latest_values("users"), *_put("users"), "DROP TABLE fresh"]


def merge_events() -> list[str]:
    """Statements for staged events: per column the latest value, and of one event under two keys one row.

    An event does not change, but sources differ in what they say of it and in how they name it. The key of a row
    shows where the name is from; where two rows of different rank tell of the same event, the higher rank stays.
    """
    same = " AND ".join(f"low.{name} IS NOT DISTINCT FROM high.{name}" for name in EVENT_TRAITS)
    agree = " AND ".join(f"coalesce(low.{name} = high.{name}, true)" for name in EVENT_DETAILS)
    second = "date_trunc('second', created_at)"
    columns = f"* REPLACE ({second} AS created_at), {_EVENT_RANK} AS rank"
    return [
        *_latest_values("events"),
        f"CREATE OR REPLACE TEMP TABLE beside AS SELECT {columns} FROM ("
        "SELECT * EXCLUDE (position) FROM fresh UNION ALL BY NAME "
        "FROM events SEMI JOIN fresh USING (repo, number) ANTI JOIN fresh USING (repo, event_id))",
        "CREATE OR REPLACE TEMP TABLE gone AS SELECT DISTINCT low.repo, low.event_id FROM beside low "
        f"JOIN beside high ON {same} AND low.created_at IS NOT NULL AND low.rank < high.rank AND {agree}",
        "DELETE FROM events USING gone WHERE events.repo = gone.repo AND events.event_id = gone.event_id",
        "DELETE FROM fresh USING gone WHERE fresh.repo = gone.repo AND fresh.event_id = gone.event_id",
        *_put("events"),
        "DROP TABLE gone",
        "DROP TABLE beside",
        "DROP TABLE fresh",
    ]


def _latest_values(table: str) -> list[str]:
    """Statement that makes ``fresh``: the staged keys, per column the latest value of store and stage."""
    key = ", ".join(KEYS[table])
    names = [name for name in COLUMNS[table] if name not in KEYS[table]]
    latest = ", ".join(f"arg_max({name}, position) AS {name}" for name in names)
    staged = ", ".join(f"{_typed(name)} AS {name}" for name in COLUMNS[table])
    return [
        f"CREATE OR REPLACE TEMP TABLE fresh AS SELECT {key}, {latest}, max(position) AS position FROM ("
        f"SELECT *, -1 AS position FROM {table} SEMI JOIN stage USING ({key}) "
        f"UNION ALL BY NAME SELECT {staged}, position FROM stage) GROUP BY {key}",
    ]


def _put(table: str) -> list[str]:
    """Statements that put the rows of ``fresh`` into a table, in the order of their arrival."""
    match = " AND ".join(f"{table}.{k} = fresh.{k}" for k in KEYS[table])
    return [
        f"DELETE FROM {table} USING fresh WHERE {match}",
        f"INSERT INTO {table} BY NAME SELECT * EXCLUDE (position) FROM fresh ORDER BY position",
    ]


def append_rows(table: str) -> list[str]:
    """Statements for staged rows of which none is known yet (``all_new``), or of a table without a key."""
    names = list(COLUMNS[table])
    typed = ", ".join(f"{_typed(n)} AS {n}" for n in names)
    return [f"INSERT INTO {table} ({', '.join(names)}) SELECT {typed} FROM stage"]


def all_new(table: str) -> list[str]:
    """Queries that are all true where every staged row is new and stands once: nothing needs replacing.

    That is so for a usual bulk load. One query for all of it would take twice the time.
    """
    key = ", ".join(KEYS[table])
    known, mixed = key, ""
    if table == "events":
        return _all_new_events(key)
    if table in OWNERS:
        known = ", ".join(OWNERS[table])
        mixed = f" AND count(DISTINCT ({known})) = count(DISTINCT ({known}, {_TRACKER}))"
    return [
        f"SELECT count(*) = count(DISTINCT ({key})){mixed} FROM stage",
        f"SELECT NOT EXISTS (FROM {table} SEMI JOIN stage USING ({known}))",
    ]


def _all_new_events(key: str) -> list[str]:
    """The same for events, where a row can also be known under another key."""
    second = "date_trunc('second', {0}) AS second"
    traits = ", ".join(f"date_trunc('second', {_typed(n)})" if n == "created_at" else n for n in EVENT_TRAITS)
    known = f"(SELECT repo, number, {second.format('created_at')} FROM events)"
    staged = f"(SELECT repo, number, {second.format(_typed('created_at'))} FROM stage)"
    return [
        f"SELECT count(*) = count(DISTINCT ({key})) AND count(*) = count(DISTINCT ({traits})) FROM stage",
        f"SELECT NOT EXISTS (FROM events SEMI JOIN stage USING ({key}))",
        f"SELECT NOT EXISTS (FROM {known} SEMI JOIN {staged} USING (repo, number, second))",
    ]


CONTENT_HASH = "md5(coalesce(title, '') || chr(10) || coalesce(body, ''))"
"""Hash of an item's text."""
_GONE = ("deleted_at", "transferred_to")
"""Columns of a tombstone: void once GitHub shows the item again."""
_SEEN = f"{_LIVE} AND deleted_at IS NULL AND title IS NOT NULL AND updated_at IS NOT NULL"
"""Rows by which GitHub itself showed an item, when they were fetched; a record of the past shows nothing alive."""
_ALIVE = "coalesce(seen_at > deleted_at.value, false)"
_VOID_WHEN = {
    "closed_at": "state = 'open'",
    "state_reason": "state = 'open' AND state_reason IS DISTINCT FROM 'reopened'",
    "closed_by": "state = 'open'",
}
"""An open item was closed at no time, by nobody and, unless it was reopened, for no reason: NULL is then a value."""


def _moment(row: str = "", *, typed: bool = False) -> str:
    """When a row's source said it: ``updated_at``, else a rank that is older than any time.

    Nothing was said later than it was fetched, whatever a record's own time is.
    A tracker's statement without a time (the catalog, datasets) ranks above what a git history says, and of
    that the later landing of a pull request above the earlier, and above an issue that is merely named as fixed.
    """
    updated, fetched, merged = (f"{row}{name}" for name in ("updated_at", "fetched_at", "merged_at"))
    if typed:
        updated, fetched, merged = _typed(updated), _typed(fetched), _typed(merged)
    return (
        f"coalesce(CASE WHEN {updated} > {fetched} THEN {fetched} ELSE {updated} END, "
        f"CASE WHEN {row}source IS DISTINCT FROM '{GIT}' THEN {TRACKERS_RANK} "
        f"WHEN {merged} IS NULL THEN TIMESTAMP '0001-01-01' "
        f"ELSE TIMESTAMP '0001-01-02' + to_microseconds(epoch({merged})::BIGINT) END)"
    )


_CORRECTED = (
    f"min(updated_at) FILTER ({_SEEN} AND NOT coalesce(updated_at > fetched_at, false)) OVER "
    "(PARTITION BY repo, number ORDER BY position ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)"
)
"""The earliest time with which GitHub showed the item after a row came."""
_RANKED = f"CASE WHEN updated_at > fetched_at THEN least({_moment()}, {_CORRECTED}) ELSE {_moment()} END"
"""The moment of a row among others: one with a time of the future does not outrank what GitHub shows afterwards."""


def _item_value(name: str, value: str) -> str:
    if name in FOLLOWS:
        return f"CASE WHEN {FOLLOWS[name]} IS NOT NULL THEN {value} END AS {name}"
    if name in _VOID_WHEN:
        return f"CASE WHEN {_VOID_WHEN[name]} THEN NULL ELSE {value} END AS {name}"
    return f"{value} AS {name}"


def _insert_items(origin: str, *, typed: bool) -> str:
    names = (*ITEM_KEY, *_ITEM_VALUES, "updated_at", *_PROVENANCE)
    columns = ", ".join(names)
    values = ", ".join(_item_value(n, _typed(n) if typed else n) for n in names)
    stamps = "NULL" if typed else "stamps"
    filled = f"{columns}, content_hash, stamps"
    return f"INSERT INTO items ({filled}) SELECT {values}, {CONTENT_HASH}, {stamps} FROM {origin}"


def insert_new_items() -> list[str]:
    """Statements for staged items of which none is known yet (``all_new``)."""
    return [_insert_items("stage", typed=True)]


def _newest(name: str) -> str:
    """Aggregates of the newest statement about a column: ``name`` and the time ``name_at`` of it."""
    leader = FOLLOWS.get(name, name)
    rank = f"ROW(coalesce(stamps['{leader}'], moment), position)"
    stated = f"{leader} IS NOT NULL OR stamps['{leader}'] IS NOT NULL"
    if name in _VOID_WHEN:
        stated += " OR state = 'open'"
    # in a struct, because arg_max passes over a bare NULL, and here NULL can be a value
    newest = f"arg_max({{'value': {name}, 'at': coalesce(stamps['{leader}'], moment)}}, {rank}) FILTER ({stated})"
    return f"{newest} AS {name}"


def _stamp(name: str) -> str:
    """Map entry of a column's time, NULL where ``updated_at`` (or an open state) implies it."""
    needed = f"{name}.at <> moment"
    if name in _VOID_WHEN:
        needed += f" OR ({name}.at IS NOT NULL AND {name}.value IS NULL AND state.value IS DISTINCT FROM 'open')"
    if name in _GONE:
        needed = f"({needed}) AND NOT {_ALIVE}"
    return f"CASE WHEN {needed} THEN {{'key': '{name}', 'value': {name}.at}} END"


def _replaceable() -> str:
    """Condition under which staged row ``s`` may take the place of known row ``i`` as it is.

    It is the newest and has a value wherever the known row has one, so a merge column by column would give the same.
    """
    stated = []
    for n in _ITEM_VALUES:
        if n in FOLLOWS:
            continue
        if n in _VOID_WHEN:
            stated.append(
                f"(s.{n} IS NOT NULL OR s.state = 'open' OR (i.{n} IS NULL AND i.state IS DISTINCT FROM 'open'))"
            )
        else:
            stated.append(f"(s.{n} IS NOT NULL OR i.{n} IS NULL)")
    newer = f"{_moment('s.', typed=True)} >= {_moment('i.')}"
    return f"i.repo IS NULL OR (i.stamps IS NULL AND {newer} AND {' AND '.join(stated)})"


def merge_items() -> list[str]:
    """Statements that merge staged items into ``items``.

    Per column the newest row with a value wins (by ``updated_at``, then by arrival), so a thin late
    event cannot blank a body and an old event cannot undo a newer state. Because ``stamps`` keeps the time of
    columns that are older than their row, it makes no difference where one batch ends and the next begins.
    Rows that can simply be replaced are (temporary table ``plain``): that is most of them, and much quicker.
    """
    key = ", ".join(ITEM_KEY)
    names = (*_ITEM_VALUES, "updated_at", *_PROVENANCE)
    columns = ", ".join(names)
    staged = ", ".join(_item_value(n, _typed(n)) for n in names)
    newest = ", ".join(_newest(n) for n in _ITEM_VALUES)
    provenance = ", ".join(f"arg_max({n}, ROW(moment, position)) AS {n}" for n in _PROVENANCE)
    values = ", ".join(
        f"CASE WHEN NOT {_ALIVE} THEN {n}.value END AS {n}" if n in _GONE else f"{n}.value AS {n}" for n in _ITEM_VALUES
    )
    stamps = ", ".join(_stamp(n) for n in _ITEM_VALUES if n not in FOLLOWS)
    return [
        # the table is wide and grows: it is scanned once
        f"CREATE OR REPLACE TEMP TABLE known AS FROM items SEMI JOIN stage USING ({key})",
        "CREATE OR REPLACE TEMP TABLE plain AS SELECT s.position FROM stage s "
        f"SEMI JOIN (SELECT {key} FROM stage GROUP BY ALL HAVING count(*) = 1) once USING ({key}) "
        f"LEFT JOIN known i ON i.repo = s.repo AND i.number = s.number WHERE {_replaceable()}",
        "CREATE OR REPLACE TEMP TABLE merged AS WITH staged AS (FROM stage ANTI JOIN plain USING (position)), "
        f"everything AS (SELECT {key}, {columns}, stamps, -1 AS position FROM known SEMI JOIN staged USING ({key}) "
        f"UNION ALL SELECT {key}, {staged}, NULL, position FROM staged), ranked AS ("
        f"SELECT *, {_RANKED} AS moment FROM everything), newest AS ("
        f"SELECT {key}, {newest}, arg_max(updated_at, ROW(moment, position)) AS updated_at, max(moment) AS moment, "
        f"{provenance}, "
        f"max(fetched_at) FILTER ({_SEEN}) AS seen_at "
        f"FROM ranked GROUP BY {key}), stamped AS ("
        f"SELECT *, [s FOR s IN [{stamps}] IF s IS NOT NULL] AS entries FROM newest) "
        f"SELECT {key}, {values}, updated_at, {', '.join(_PROVENANCE)}, "
        "CASE WHEN len(entries) > 0 THEN map_from_entries(entries) END AS stamps FROM stamped",
        "DELETE FROM items USING stage WHERE items.repo = stage.repo AND items.number = stage.number",
        _insert_items("stage SEMI JOIN plain USING (position)", typed=True),
        _insert_items("merged", typed=False),
        "DROP TABLE merged",
        "DROP TABLE plain",
        "DROP TABLE known",
    ]
