"""The SQL that writes a staged batch: keep what is newest, never lose what only an older source knew."""

from __future__ import annotations

from torch_embers.store.tables import KEYS, SHAPES

ITEM_KEY = KEYS["items"]
_PROVENANCE = ("source", "fetched_at", "page_id")
_ITEM_VALUES = tuple(n for n in SHAPES["items"].names if n not in (*ITEM_KEY, "updated_at", *_PROVENANCE))

TIME_COLUMNS = frozenset(
    {
        "created_at",
        "updated_at",
        "closed_at",
        "merged_at",
        "deleted_at",
        "fetched_at",
        "authored_at",
        "committed_at",
        "tagged_at",
        "labelled_at",
    }
)


def _typed(name: str) -> str:
    """Staged columns are text; times and dates get their type here, in C++."""
    if name in TIME_COLUMNS:
        return f"try_cast({name} AS TIMESTAMP)"
    if name == "facts_as_of":
        return f"try_cast({name} AS DATE)"
    return name


def replace_rows(table: str) -> list[str]:
    """Statements that put the staged rows of ``table`` in place; the last of equal keys wins."""
    names = SHAPES[table].names
    columns = ", ".join(names)
    typed = ", ".join(f"{_typed(n)} AS {n}" for n in names)
    key = KEYS[table]
    if not key:
        return [f"INSERT INTO {table} ({columns}) SELECT {typed} FROM stage ORDER BY position"]
    keys = ", ".join(key)
    match = " AND ".join(f"{table}.{k} = stage.{k}" for k in key)
    return [
        f"DELETE FROM {table} USING stage WHERE {match}",
        f"INSERT INTO {table} ({columns}) SELECT {typed} FROM stage "
        f"QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY position DESC) = 1 ORDER BY position",
    ]


ITEMS_NEW = """
SELECT count(*) = count(DISTINCT (repo, number)) AND NOT EXISTS (FROM items SEMI JOIN stage USING (repo, number))
FROM stage
"""
"""Whether every staged item is new and stands once: then nothing needs merging, which is the usual bulk load."""

_HASH = "md5(coalesce(title, '') || chr(10) || coalesce(body, ''))"
_VOID_WHEN = {"closed_at": "state = 'open'", "state_reason": "state = 'open' AND state_reason <> 'reopened'"}
"""An open item has no closing time and, unless it was reopened, no reason."""


def _item_value(name: str, value: str) -> str:
    if name in _VOID_WHEN:
        return f"CASE WHEN {_VOID_WHEN[name]} THEN NULL ELSE {value} END AS {name}"
    return f"{value} AS {name}"


def _insert_items(origin: str, *, typed: bool) -> str:
    names = (*ITEM_KEY, *_ITEM_VALUES, "updated_at", *_PROVENANCE)
    columns = ", ".join(names)
    values = ", ".join(_item_value(n, _typed(n) if typed else n) for n in names)
    return (
        f"INSERT INTO items ({columns}, content_hash) SELECT {values}, {_HASH} AS content_hash "
        f"FROM {origin} ORDER BY {', '.join(ITEM_KEY)}"
    )


def insert_new_items() -> list[str]:
    """Statements for staged items of which none is known yet (``ITEMS_NEW``)."""
    return [_insert_items("stage", typed=True)]


def merge_items() -> list[str]:
    """Statements that merge staged items into ``items``.

    Per column the newest row that says something wins (by ``updated_at``, then by arrival), so a thin late
    event cannot blank a body and an old event cannot undo a newer state.
    """
    key = ", ".join(ITEM_KEY)
    names = (*_ITEM_VALUES, "updated_at", *_PROVENANCE)
    known = ", ".join(names)
    staged = ", ".join(f"{_typed(n)} AS {n}" for n in names)
    newest = ", ".join(f"arg_max({n}, rank) FILTER ({n} IS NOT NULL) AS {n}" for n in _ITEM_VALUES)
    provenance = ", ".join(f"arg_max({n}, rank) AS {n}" for n in _PROVENANCE)
    return [
        "CREATE OR REPLACE TEMP TABLE merged AS WITH everything AS ("
        f"SELECT {key}, {known}, -1 AS position FROM items SEMI JOIN stage USING (repo, number) "
        f"UNION ALL SELECT {key}, {staged}, position FROM stage), ranked AS ("
        "SELECT *, ROW(coalesce(updated_at, TIMESTAMP '0001-01-01'), position) AS rank FROM everything) "
        f"SELECT {key}, {newest}, max(updated_at) AS updated_at, {provenance} FROM ranked GROUP BY {key}",
        "DELETE FROM items USING stage WHERE items.repo = stage.repo AND items.number = stage.number",
        _insert_items("merged", typed=False),
        "DROP TABLE merged",
    ]
