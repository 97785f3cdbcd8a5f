"""Confusion matrices of the shipped classifier on held-out items, kept beside it as ``confusion.json``.

The matrices come from an evaluation by grouped folds (`embers evaluate --out`). They count the likeliest class of
every item, also below the abstention threshold, as ``predictions.likeliest`` does. An item that was answered in
several rounds of folds counts once in all, divided over its answers.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from torch_embers.classify.bundle import shipped_folder
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FILE = "confusion.json"
SCHEMES = ("bug_type", "memory_type", "consequence")
"""Schemes whose shares are corrected: each has one question, whose classes exclude each other."""

Cell = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Confusion:
    """How often each class was predicted as which, in items."""

    scheme: str
    classes: Annotated[tuple[str, ...], Field(min_length=1)]
    matrix: tuple[tuple[Cell, ...], ...]
    """Rows truth, columns the likeliest class, both in the order of ``classes``. Each row adds up to its items."""
    items: int
    """Items with gold labels, each counted once however often it was answered."""
    groups: int
    """Groups of related items among them, held out whole."""
    learner: str
    settings: dict[str, Any]
    """How the evaluation was made: split, rounds, text."""
    source: str
    """File that the counts come from."""

    @model_validator(mode="after")
    def _check(self) -> Confusion:
        if {len(self.matrix), *map(len, self.matrix)} != {len(self.classes)}:
            raise ValueError(f"the matrix of {self.scheme} does not fit its classes")
        if abs(sum(map(sum, self.matrix)) - self.items) > 1e-3 * self.items:
            raise ValueError(f"the matrix of {self.scheme} does not add up to its {self.items} items")
        return self


class ConfusionFile(BaseModel):
    """The whole file."""

    format: Literal[1] = 1
    confusions: tuple[Confusion, ...]


def from_evaluation(data: Mapping[str, Any], source: str, schemes: Sequence[str] = SCHEMES) -> list[Confusion]:
    """Read the matrices of the last learner of each scheme, which is the classifier with everything that it uses.

    Args:
        data: an evaluation as `embers evaluate --out` writes it.
        source: what to name as their origin.
        schemes: which to read.

    Raises:
        InputError: a scheme was not evaluated, or this is no evaluation by folds.
    """
    try:
        if data["about"]["split"] != "folds":
            raise InputError(f"{source}: answers of folds are needed, not of the split {data['about']['split']!r}")
        reports = {report["task"]: report for report in data["reports"]}
        missing = [scheme for scheme in schemes if scheme not in reports]
        if missing:
            raise InputError(f"{source}: no evaluation of {', '.join(missing)}: run `embers evaluate` without --scheme")
        return [_confusion(reports[scheme], data["about"], source) for scheme in schemes]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{source}: is no evaluation ({error}): make one with `embers evaluate --out`") from error


def _confusion(report: Mapping[str, Any], about: Mapping[str, Any], source: str) -> Confusion:
    score, rounds = report["scores"][-1], float(report["rounds"])
    return Confusion(
        scheme=report["task"],
        classes=tuple(report["classes"]),
        matrix=tuple(tuple(round(cell / rounds, 6) for cell in row) for row in score["confusion"]),
        items=report["texts"],
        groups=report["groups"],
        learner=score["name"],
        settings={**about, "rounds": rounds},
        source=source,
    )


def write(evaluation: Path, place: Path) -> None:
    """Write the matrices of an evaluation to a file beside a model.

    Args:
        evaluation: what `embers evaluate --out` wrote.
        place: ``confusion.json`` in the folder of the model.

    Raises:
        InputError: no such evaluation, or the file cannot be written.
    """
    try:
        data = json.loads(evaluation.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {evaluation}: {error}") from error
    confusions = from_evaluation(data, f"{evaluation.parent.name}/{evaluation.name}")
    lines = ",\n".join(json.dumps(asdict(one)) for one in confusions)
    partial = place.with_suffix(".part")
    try:
        partial.write_text(f'{{"format": 1, "confusions": [\n{lines}\n]}}\n', encoding="utf-8")
        partial.replace(place)
    except OSError as error:
        raise InputError(f"cannot write {place}: {error.strerror}") from error


def load(scheme: str, path: Path | None = None) -> Confusion:
    """Read the matrix of one scheme.

    Args:
        scheme: of ``SCHEMES``.
        path: the file; that of the shipped classifier when not given.

    Raises:
        InputError: no file, a damaged one, or no such scheme in it.
    """
    place = path or shipped_folder() / FILE
    try:
        file = ConfusionFile.model_validate_json(place.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {place}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{place}: damaged ({where}: {first['msg']}): run `make evaluation` again") from error
    known = {one.scheme: one for one in file.confusions}
    if scheme not in known:
        raise InputError(f"{place}: knows nothing of {scheme!r} (known: {', '.join(known)})")
    return known[scheme]
