"""The coverage map of hunts: what was called how often, on which build, and what was not called and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.hunt.journal import FILE, journal_in

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, path: Path) -> int:
    """Write the map of a folder's journal as Parquet; the number of its rows.

    Raises:
        InputError: there is no journal, a line of it is no result, or the file cannot be written.
    """
    journal_in(folder)
    query = resources.package_file("hunt", "coverage.sql").read_text(encoding="utf-8")
    with duckdb.connect() as database:
        found = database.sql(query, params={"journal": str(folder / FILE)})
        try:
            found.write_parquet(str(path), compression="zstd")
        except duckdb.Error as error:
            raise InputError(f"{path} cannot be written: {str(error).partition(chr(10))[0]}") from error
        return len(found)
