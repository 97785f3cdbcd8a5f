"""Files that the study writes, each aside and then moved into place; the same study gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from torch_embers import folders
from torch_embers.errors import InputError
from torch_embers.escaping import csv_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


def as_csv(rows: Sequence[Mapping[str, Any]], cell: Callable[[Any], Any] = lambda value: value) -> str:
    """Rows as CSV with a heading; empty where there is no value.

    Args:
        rows: all with the same keys.
        cell: turns a value into what stands in the file.
    """
    out = io.StringIO()
    if rows:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([None if value is None else csv_cell(cell(value)) for value in row.values()] for row in rows)
    return out.getvalue()


def as_json(record: Mapping[str, Any], indent: int = 1) -> str:
    """A record as JSON, with a line end."""
    return json.dumps(record, indent=indent, ensure_ascii=False) + "\n"


def write(path: Path, text: str) -> Path:
    """Write a file aside and move it into place.

    Raises:
        InputError: it cannot be written.
    """
    try:
        folders.write(path, text.encode())
    except InputError as error:
        raise InputError(f"{error}; choose another folder with --out") from error
    return path
