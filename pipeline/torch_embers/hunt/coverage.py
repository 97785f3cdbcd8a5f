"""The coverage map of hunts: what was called how often, on which build, and what was not called and why."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from torch_embers.errors import InputError
from torch_embers.hunt.rows import Journal
from torch_embers.hunt.sweep import FILE
from torch_embers.oracles import cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.hunt.rows import Hunted

NAMES = ("build", "op", "dtype", "own", "mode", "operator", "argument", "layout", "reason")
"""Of the columns that are text; the others are counts."""
COUNTS = (*cells.COUNTED, "skipped")


def rows(one: Hunted) -> Iterator[dict[str, Any]]:
    """One row per kind of call, then one per reason for which something was not called."""
    about = {"build": one.build, "op": one.op, "dtype": one.dtype, "own": one.own}
    empty = dict.fromkeys(NAMES, "") | dict.fromkeys(COUNTS, 0) | about
    for row in one.cells:
        yield empty | dict(zip((*cells.Cell._fields, *cells.COUNTED), row, strict=True))
    for reason, number in one.skipped.items():
        yield empty | {"reason": reason, "skipped": number}
    if one.ended:
        yield empty | {"reason": one.ended, "skipped": 1}


def write(folder: Path, path: Path) -> int:
    """Write the map of a folder's journal as Parquet; the number of its rows. Of repeated results the last counts.

    Raises:
        InputError: there is no journal, or the file cannot be written.
    """
    if not (folder / FILE).is_file():
        raise InputError(f"no journal {folder / FILE}: run `embers research hunt --out {folder}` first")
    last = {(one.build, one.op, one.dtype, one.modes): one for one in Journal(folder / FILE).read()}
    found = [row for _, one in sorted(last.items()) for row in rows(one)]
    columns = ", ".join([*(f"{name}: 'VARCHAR'" for name in NAMES), *(f"{name}: 'INTEGER'" for name in COUNTS)])
    with tempfile.TemporaryDirectory() as place, duckdb.connect() as database:
        lines = Path(place) / "rows.jsonl"
        lines.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
        target = str(path).replace("'", "''")
        try:
            database.execute(
                f"copy (select * from read_json('{lines}', columns = {{{columns}}})) to '{target}' "
                "(format parquet, compression zstd)"
            )
        except duckdb.Error as error:
            raise InputError(f"{path} cannot be written: {str(error).partition(chr(10))[0]}") from error
    return len(found)
