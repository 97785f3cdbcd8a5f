"""Tables and figures of the study, from the folder that `embers study` wrote."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.report import places

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SUMMARY = "study.json"
SHOWN_ROWS = 60
"""Rows of a table on the page; the file has all."""
LARGEST = 8_000_000
"""Bytes of a file that is taken over."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure or table of the study, as data/figures.toml declares them.

    Attributes:
        files: name below ``study/`` and content.
        picture: name of its picture; empty where it has none.
        rows: heading and rows, for one without a picture.
    """

    name: str
    heading: str
    notes: Sequence[str]
    files: Sequence[tuple[str, bytes]]
    picture: str
    rows: Sequence[Sequence[str]]
    all_rows: int


@dataclass(frozen=True, slots=True)
class Study:
    """What a study says."""

    as_of: str
    items: int
    figures: Sequence[Figure]


def read(folder: Path) -> Study | None:
    """The study in a folder; None where none was written there.

    Raises:
        InputError: its summary cannot be read.
    """
    path = folder / SUMMARY
    if not path.is_file():
        return None
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        figures = [_figure(folder, row) for row in known["figures"]]
        return Study(str(known["as_of"]), int(known["items"]), figures)
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError, RecursionError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {error!r}; `embers study` writes it anew") from error


def _figure(folder: Path, row: dict[str, Any]) -> Figure:
    name = places.slug(str(row["id"]))
    files = [
        (f"{name}.{kind}", path.read_bytes())
        for kind in ("csv", "svg")
        if (path := folder / f"{name}.{kind}").is_file() and path.stat().st_size <= LARGEST
    ]
    by_kind = {name.rpartition(".")[2]: (name, body) for name, body in files}
    picture = by_kind["svg"][0] if "svg" in by_kind else ""
    rows: list[list[str]] = []
    if "csv" in by_kind and not picture:
        rows = list(csv.reader(io.StringIO(by_kind["csv"][1].decode("utf-8", "replace"))))
    notes = [str(note) for note in row["notes"]]
    return Figure(name, str(row["heading"]), notes, files, picture, rows[: SHOWN_ROWS + 1], max(0, len(rows) - 1))
