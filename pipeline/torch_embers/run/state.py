"""What a database knows by its own runs, as a sealed folder of Parquet files that is merged into others by key.

Verdicts, runs, statuses and announcements. A runner without a disk of its own loads the folder of the last re-check,
re-checks, and saves the folder for the next one: nothing is run or announced twice. A shard of a plan leaves its runs
in such a folder, and those of all shards are merged into one database; what is there already is not added again. The
folder is replaced as a whole, a manifest seals every file in it, and one command at a time holds it: of two that load
the same folder, the second would save its own over what the first has announced.
"""

from __future__ import annotations

import io
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import duckdb
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from torch_embers import folders
from torch_embers.errors import InputError
from torch_embers.store import lock
from torch_embers.store.connection import STRUCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

MANIFEST = "state.json"
FORMAT, VERSION = "embers re-check state", 2
_USED = (
    "FROM {0}s WHERE {0} IN (SELECT {0} FROM runs UNION SELECT {0} FROM oracle_runs UNION SELECT {0} FROM observations "
    "UNION SELECT {0} FROM verdicts WHERE provenance = 'own')"
)
OWN = {
    "builds": _USED.format("build"),
    "environments": _USED.format("environment"),
    "runs": "FROM runs WHERE $scripts IS NULL OR list_contains($scripts, case_hash)",
    "observations": "FROM observations",
    "verdicts": "FROM verdicts WHERE provenance = 'own'",
    "status_history": "FROM status_history WHERE provenance = 'own'",
    "announcements": "FROM announcements",
    "oracle_findings": "FROM oracle_findings",
    "oracle_runs": "FROM oracle_runs",
    "artifacts": "FROM artifacts SEMI JOIN reductions USING (name) WHERE kind = 'minimal'",
    "reductions": "FROM reductions",
}
"""What is kept, by table; ``$scripts`` are the hashes of the cases whose runs are wanted, NULL for all."""
KEYS = {
    "builds": ("build",),
    "environments": ("environment",),
    "runs": ("case_hash", "build", "environment", "batch", "injected", "attempt"),
    "observations": ("script", "build", "environment", "seed", "batch", "attempt"),
    "verdicts": ("case_hash", "build", "environment", "batch", "verdict", "k", "n"),
    "announcements": ("repo", "number", "backend", "kind", "announced_at"),
    "oracle_runs": ("run",),
    "artifacts": ("name", "kind"),
    "reductions": ("name", "build"),
}
"""Tables whose rows have a key, that of an announcement is its id in the feed; of all others equal rows are the same
row."""
PARTS = {"oracle_findings": ("oracle_runs", ("run",))}
"""Tables whose rows are parts of a row of another table: they come with it, so they are merged before it."""
NUMBER = "written"
"""A column that makes no difference between rows."""
_BATCH = "case_hash, build, environment, batch"
_FOREIGN = f"""
CREATE OR REPLACE TEMP TABLE foreign_batches AS SELECT DISTINCT {_BATCH}
FROM loaded l JOIN runs r USING ({_BATCH}, injected, attempt) WHERE r.ran_at <> l.ran_at
"""
"""Batches of a folder that are other ones than the database has under their number: an attempt ran at another time."""
UNFIT = (duckdb.DataError, duckdb.IntegrityError, duckdb.ProgrammingError, duckdb.NotSupportedError)
"""What DuckDB raises where rows do not fit a table; its other errors are those of the database."""
_TOLD = """
UPDATE announcements SET is_told = true FROM loaded
WHERE NOT announcements.is_told AND loaded.is_told AND {same}
"""


@contextmanager
def held(folder: Path | None, who: str) -> Iterator[None]:
    """Keep others from this folder while the block runs, and mend what a killed one left; None for no folder.

    Raises:
        InputError: the folder is something else, or cannot be looked at.
        StoreBusyError: another command holds it; the message names it.
        StoreError: nothing can be written beside it.
    """
    if folder is None:
        yield
        return
    place = _place(folder)
    with lock.writer_lock(place, f"{who} --state"):
        try:
            folders.mend(place)
        except OSError as error:
            raise InputError(f"--state {folder} cannot be written: {error.strerror}") from error
        yield


@contextmanager
def kept(store: Store, who: str, folder: Path | None) -> Iterator[Writer]:
    """A writer of the database with what a folder holds; all is saved to it in the end, also after an error.

    Args:
        store: the database.
        who: the command, for messages.
        folder: None for none.

    Raises:
        InputError, StoreError: as ``held``, ``load`` and ``save``.
    """
    with held(folder, who), store.writer(who) as writer:
        if folder is None:
            yield writer
            return
        load(writer, folder)
        try:
            yield writer
        finally:
            save(store, folder)


def packed(store: Store, scripts: Sequence[str] | None = None) -> dict[str, bytes]:
    """The files of a state by name: of all that a database knows, or with the runs of these cases alone, by hash.

    Raises:
        StoreError: the database cannot be read.
    """
    files, sealed = {}, {}
    with store.read() as connection:
        for name, query in OWN.items():
            asked = {"scripts": scripts} if "$scripts" in query else {}
            table: pa.Table = connection.sql(query, params=asked).to_arrow_table()
            content = files[f"{name}.parquet"] = _parquet(table)
            sealed[name] = {"rows": table.num_rows, "sha256": sha256(content).hexdigest()}
    manifest = {"format": FORMAT, "version": VERSION, "tables": sealed}
    return files | {MANIFEST: orjson.dumps(manifest, option=orjson.OPT_INDENT_2)}


def save(store: Store, folder: Path) -> None:
    """Write the state of a database to a folder, whole or not at all.

    Raises:
        InputError: the folder is something else, or cannot be written.
        StoreError: the database cannot be read.
    """
    place = _place(folder)
    files = packed(store)
    try:
        with folders.replaced(place) as made:
            for name, content in files.items():
                (made / name).write_bytes(content)
    except OSError as error:
        raise InputError(f"--state {folder} cannot be written: {error.strerror}") from error


def load(writer: Writer, folder: Path) -> int:
    """Bring a saved state into a database, beside what it has; a folder that is not there or empty is a first run.

    Returns:
        How many rows were new.

    Raises:
        InputError: the folder holds something else, or a file is missing, changed or of another embers.
        StoreError: the database cannot be written.
    """
    place = _place(folder)
    try:
        if not place.exists() or not any(place.iterdir()):
            return 0
        files = {path.name: path.read_bytes() for path in place.iterdir()}
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror or error}") from error
    return merge(writer, files, folder)


def merge(writer: Writer, files: Mapping[str, bytes], folder: Path) -> int:
    """Bring the files of a state into a database, beside what it has; ``folder`` is for messages.

    Returns:
        How many rows were new.

    Raises:
        InputError: a file is missing, changed or of another embers.
        StoreError: the database cannot be written.
    """
    tables = _read(folder, files)
    with writer.transaction() as connection:
        tables |= _whole_batches(connection, tables)
        _make_way(connection, tables)
        return sum(_merge(connection, folder, name, table) for name, table in tables.items())


def _whole_batches(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Runs and verdicts without batches that the database has from another machine: of two the first stays whole."""
    connection.register("loaded", tables["runs"])
    connection.execute(_FOREIGN)
    kept = {}
    for name in ("runs", "verdicts"):
        connection.register("loaded", tables[name])
        kept[name] = connection.sql(f"FROM loaded ANTI JOIN foreign_batches USING ({_BATCH})").to_arrow_table()
    connection.execute("DROP TABLE foreign_batches")
    return kept


def _make_way(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> None:
    """Delete reductions of which a newer one is loaded, with the small scripts that came of them."""
    connection.register("loaded", tables["reductions"])
    newer = (
        "SELECT r.name, r.build FROM reductions r JOIN loaded l USING (name, build) WHERE r.decided_at < l.decided_at"
    )
    connection.execute(f"DELETE FROM artifacts WHERE kind = 'minimal' AND name IN (SELECT name FROM ({newer}))")
    connection.execute(f"DELETE FROM reductions WHERE (name, build) IN ({newer})")


def _place(folder: Path) -> Path:
    """Where the folder is, unless it holds something that is no state: that is neither read nor replaced."""
    try:
        place = folders.place_of(folder, "--state")
        if place.exists() and any(place.iterdir()) and not (place / MANIFEST).is_file():
            raise InputError(f"{folder}: this folder holds something else (no {MANIFEST}): name another one")
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}") from error
    return place


def _read(folder: Path, files: Mapping[str, bytes]) -> dict[str, pa.Table]:
    """The tables of a state, every byte of them checked."""
    tables = _manifest(folder, files[MANIFEST])
    made = {}
    for name in OWN:
        content = files.get(f"{name}.parquet", b"")
        if sha256(content).hexdigest() != tables[name].get("sha256"):
            raise _damaged(folder, f"{name}.parquet is missing or not as it was written")
        try:
            made[name] = pq.read_table(io.BytesIO(content))
        except (pa.ArrowException, OSError) as error:
            raise _damaged(folder, f"{name}.parquet is no Parquet file") from error
    return made


def _manifest(folder: Path, content: bytes) -> Mapping[str, Mapping[str, Any]]:
    try:
        manifest = orjson.loads(content)
        kind, version, tables = manifest["format"], manifest["version"], manifest["tables"]
        is_whole = tables.keys() == OWN.keys() and all(isinstance(one, dict) for one in tables.values())
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"{MANIFEST} is not what embers writes") from error
    if kind != FORMAT or version != VERSION or not is_whole:
        raise _damaged(folder, f"{MANIFEST} is of another program or of another version of embers")
    return dict(tables)


def _merge(connection: duckdb.DuckDBPyConnection, folder: Path, name: str, table: pa.Table) -> int:
    """Add the rows of one table that are not there yet; a column that the version which saved them lacked is NULL."""
    columns = {row[0]: row[2] == "YES" for row in connection.execute(f"DESCRIBE {name}").fetchall()}
    has = set(table.column_names)
    required = {column for column, is_nullable in columns.items() if not is_nullable}
    if not required <= has <= columns.keys():
        raise _damaged(folder, f"{name}.parquet has other columns than this version of embers")
    own = name, KEYS.get(name, [column for column in table.column_names if column != NUMBER])
    whole, key = PARTS.get(name, own)
    same = _equal(whole, key)
    try:
        connection.register("loaded", table)
        added = connection.execute(
            f"INSERT INTO {name} BY NAME FROM loaded WHERE NOT EXISTS (FROM {whole} WHERE {same})"
        ).fetchall()
        if name == "announcements" and "is_told" in has:  # a database that is older than the state
            connection.execute(_TOLD.format(same=same))
        connection.unregister("loaded")  # not after an error, which it would hide: the connection ends with it
    except UNFIT as error:
        if STRUCK in str(error):
            raise
        raise _damaged(folder, f"{name}.parquet has rows that this version of embers cannot take") from error
    return int(added[0][0])


def _equal(name: str, columns: Iterable[str]) -> str:
    """Whether a row of a table has the values of a loaded one."""
    return " AND ".join(f"{name}.{column} IS NOT DISTINCT FROM loaded.{column}" for column in columns)


def _damaged(folder: Path, what: str) -> InputError:
    return InputError(f"{folder}: {what}: restore it, or leave it out (--state with an empty folder begins anew)")


def _parquet(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd")
    return stream.getvalue()
