"""Reads Parquet files that may be anybody's: exactly the wanted columns, of the wanted types, and nothing half-read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class UnfitError(Exception):
    """Why a file does not fit, in one line, as the end of a sentence about it and without its path."""


def read(path: Path, schema: pa.Schema, required: Iterable[str]) -> pa.Table:
    """The columns of a schema; others are left unread.

    Args:
        path: of the file.
        schema: names and types.
        required: columns in which every row must have a value.

    Raises:
        UnfitError: it cannot be read, lacks a column, or has other types or empty values.
    """
    names = schema.names
    try:
        with path.open("rb") as opened:
            file = pq.ParquetFile(opened)
            if missing := [name for name in names if name not in file.schema_arrow.names]:
                raise UnfitError(f"has no column {missing[0]}")
            found = file.read(columns=names).select(names).cast(schema)
            found.validate(full=True)
    except (OSError, pa.ArrowException, ValueError, TypeError) as error:
        told = next(iter(str(error).splitlines()), type(error).__name__)  # Arrow tells some errors in several lines
        raise UnfitError(f"cannot be read: {told}") from error
    if empty := [name for name in required if found[name].null_count]:
        raise UnfitError(f"has rows without a {empty[0]}")
    return found
