"""Tables, figures and claims of the study, from the folder that `embers study` and its subcommands wrote."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.report import places

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

SUMMARY = "study.json"
EXPERIMENTS = "experiments.json"
MEASURED = {
    "figure_8": "Figure 8: What staying contiguous is worth",
    "figure_9": "Figure 9: The time of permute() and contiguous()",
}
"""Figures that analysis/figures_8_and_9.py measures, which study.json does not list."""
CLAIMS = "claims.json"
FAULTS = (OSError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError, csv.Error)
"""What a file that is not what it should be can raise."""
SHOWN_ROWS = 60
"""Rows of a table on the page; the file has all."""
LEFT_OUT = "definition"
"""A column of sentences, which makes every row of a table four lines high on a phone; the file has it."""
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
class Claim:
    """A number that the paper prints beside ours."""

    place: str
    states: str
    printed: str
    ours: str
    verdict: str
    why: str


@dataclass(frozen=True, slots=True)
class Study:
    """What a study says.

    Attributes:
        figures: of the database, then those that were measured.
        claims: the paper's numbers; empty where they were not compared.
        verdicts: how many claims have each verdict.
    """

    as_of: str
    items: int
    figures: Sequence[Figure]
    claims: Sequence[Claim]
    verdicts: Sequence[tuple[str, int]]


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
        samples = {str(row["name"]): str(row["label"]) for row in known.get("samples", ())}
        figures = [_figure(folder, row, samples) for row in known["figures"]]
        as_of, items = str(known["as_of"]), int(known["items"])
    except FAULTS as error:
        raise InputError(f"{path}: cannot be read: {error!r}; `embers study` writes it anew") from error
    return Study(as_of, items, [*figures, *_measured(folder)], *_claims(folder))


def _measured(folder: Path) -> list[Figure]:
    """The figures that were measured, each with the sentences about it; none where none were."""
    path = folder / EXPERIMENTS
    if not path.is_file():
        return []
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        told = [str(sentence) for sentence in known["finding"]]
        return [
            _figure(folder, {"id": name, "heading": heading, "notes": _about(heading, told)})
            for name, heading in MEASURED.items()
        ]
    except FAULTS as error:
        raise InputError(
            f"{path}: cannot be read: {error!r}; analysis/draw_figures_8_and_9.py writes it anew"
        ) from error


def _about(heading: str, told: Sequence[str]) -> list[str]:
    """The sentences that begin with the name of a figure."""
    name = heading.partition(":")[0]
    return [sentence for sentence in told if sentence.startswith(name)]


def _claims(folder: Path) -> tuple[list[Claim], list[tuple[str, int]]]:
    """What `embers study claims` compared, and how many claims have each verdict."""
    path = folder / CLAIMS
    if not path.is_file():
        return [], []
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        claims = [
            Claim(
                f"{row['section']}, {row['place']}",
                str(row["states"]),
                _value(row["printed"], row["unit"]),
                _value(row["ours"], row["unit"]),
                str(row["verdict"]),
                str(row["why"]),
            )
            for row in known["claims"]
        ]
        return claims, [(str(verdict), int(count)) for verdict, count in known["verdicts"].items()]
    except FAULTS as error:
        raise InputError(f"{path}: cannot be read: {error!r}; `embers study claims` writes it anew") from error


def _value(number: object, unit: object) -> str:
    """A number with its unit; empty where there is none."""
    return f"{number:g} {unit or ''}".strip() if isinstance(number, int | float) else ""


def _figure(folder: Path, row: dict[str, Any], samples: Mapping[str, str] | None = None) -> Figure:
    """A figure of a folder; a table names each sample by its label: ``paper`` would read as the paper's own number."""
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
        rows = _without(LEFT_OUT, csv.reader(io.StringIO(by_kind["csv"][1].decode("utf-8", "replace"))))
        place = rows[0].index("sample") if "sample" in rows[0] else None
        if samples and place is not None:
            for cells in rows[1:]:
                cells[place] = samples.get(cells[place], cells[place])
    notes = [str(note) for note in row["notes"]]
    return Figure(name, str(row["heading"]), notes, files, picture, rows[: SHOWN_ROWS + 1], max(0, len(rows) - 1))


def _without(column: str, rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """A table, heading first, without a column."""
    heading, *others = [list(row) for row in rows] or [[]]
    if column not in heading:
        return [heading, *others]
    place = heading.index(column)
    return [row[:place] + row[place + 1 :] for row in (heading, *others)]
