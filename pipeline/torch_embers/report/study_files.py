"""Tables, figures and claims of the study, from the folder that `embers study` and its subcommands wrote."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from torch_embers import toml_models
from torch_embers.errors import InputError
from torch_embers.report import places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SUMMARY = "study.json"
EXPERIMENTS = "experiments.json"
MEASURED = {
    "figure_8": "Figure 8: What staying contiguous is worth",
    "figure_9": "Figure 9: The time of permute() and contiguous()",
}
"""Figures that analysis/figures_8_and_9.py measures, which study.json does not list."""
CLAIMS = "claims.json"
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


class Claim(BaseModel):
    """A number that the paper prints beside ours."""

    section: str
    place: str
    states: str
    printed: float | None
    ours: float | None
    unit: str | None
    verdict: str
    why: str

    def shown(self, number: float | None) -> str:
        """A number with its unit; empty where there is none."""
        return "" if number is None else f"{number:g} {self.unit or ''}".strip()


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
    verdicts: Mapping[str, int]


class _Sample(BaseModel):
    name: str
    label: str


class _Declared(BaseModel):
    id: str
    heading: str
    notes: list[str]


class _Summary(BaseModel):
    as_of: str
    items: int
    figures: list[_Declared]
    samples: list[_Sample] = []


class _Experiments(BaseModel):
    finding: list[str]


class _Claims(BaseModel):
    claims: list[Claim]
    verdicts: dict[str, int]


_File = TypeVar("_File", bound=BaseModel)


def read(folder: Path) -> Study | None:
    """The study in a folder; None where none was written there.

    Raises:
        InputError: a file of it cannot be read.
    """
    known = _checked(folder / SUMMARY, _Summary, "embers study")
    if known is None:
        return None
    measured = _checked(folder / EXPERIMENTS, _Experiments, "python analysis/figures_8_and_9.py")
    compared = _checked(folder / CLAIMS, _Claims, "embers study claims") or _Claims(claims=[], verdicts={})
    labels = {sample.name: sample.label for sample in known.samples}
    figures = [_figure(folder, declared, labels) for declared in known.figures]
    if measured is not None:
        for name, heading in MEASURED.items():
            about = [said for said in measured.finding if said.startswith(heading.partition(":")[0])]
            figures.append(_figure(folder, _Declared(id=name, heading=heading, notes=about), {}))
    return Study(known.as_of, known.items, figures, compared.claims, compared.verdicts)


def _checked(path: Path, form: type[_File], maker: str) -> _File | None:
    """A file that ``maker`` writes; None where it is not there."""
    if not path.is_file():
        return None
    try:
        return form.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        reason = toml_models.wrong(error) if isinstance(error, ValidationError) else error.strerror
        raise InputError(f"{path}: cannot be read: {reason}; `{maker}` writes it anew") from error


def _figure(folder: Path, declared: _Declared, samples: Mapping[str, str]) -> Figure:
    """A figure of a folder; a table names each sample by its label: ``paper`` would read as the paper's own number."""
    name = places.slug(declared.id)
    try:
        files = {
            kind: path.read_bytes()
            for kind in ("csv", "svg")
            if (path := folder / f"{name}.{kind}").is_file() and path.stat().st_size <= LARGEST
        }
        rows = _rows(files["csv"], samples) if "csv" in files and "svg" not in files else []
    except (OSError, csv.Error, IndexError) as error:
        raise InputError(f"{folder / name}: cannot be read: {error}; `embers study` writes it anew") from error
    picture = f"{name}.svg" if "svg" in files else ""
    written = [(f"{name}.{kind}", body) for kind, body in files.items()]
    return Figure(
        name, declared.heading, declared.notes, written, picture, rows[: SHOWN_ROWS + 1], max(0, len(rows) - 1)
    )


def _rows(body: bytes, samples: Mapping[str, str]) -> list[list[str]]:
    """A table, heading first, without ``LEFT_OUT`` and with the labels of samples for their names."""
    rows = list(csv.reader(io.StringIO(body.decode("utf-8", "replace"))))
    kept = [(place, column) for place, column in enumerate(rows[0] if rows else ()) if column != LEFT_OUT]
    return [
        [samples.get(row[place], row[place]) if column == "sample" else row[place] for place, column in kept]
        for row in rows
    ]
