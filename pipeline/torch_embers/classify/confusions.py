"""Confusion matrices of a classifier on the items that it was held out from, kept beside it as ``confusion.json``.

They count the likeliest class of every item, also below the abstention threshold, as ``predictions.likeliest`` does.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from torch_embers.classify.bundle import shipped_folder
from torch_embers.errors import InputError
from torch_embers.toml_models import wrong

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.classify.bundle import Bundle

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


def of_bundle(bundle: Bundle, schemes: Sequence[str] = SCHEMES) -> list[Confusion]:
    """The matrices of those schemes that a bundle answers, from its own answers out of fold."""
    found = []
    for scheme in schemes:
        if not (answered := bundle.held_out.get(scheme)):
            continue
        one = bundle.classifiers[scheme]
        truth = {(row.repo, row.number): row.label for row in bundle.rows[scheme]}
        matrix = [[0.0] * len(one.classes) for _ in one.classes]
        for own in answered:
            best = own.probabilities.index(max(own.probabilities))
            matrix[one.classes.index(truth[own.repo, own.number])][best] += 1
        found.append(
            Confusion(
                scheme=scheme,
                classes=one.classes,
                matrix=tuple(map(tuple, matrix)),
                items=len(answered),
                groups=one.groups,
                learner=bundle.name,
                settings={"split": "folds", "folds": one.settings.folds, "variant": bundle.variant},
                source="answers out of fold of the training",
            )
        )
    return found


def as_json(confusions: Sequence[Confusion]) -> bytes:
    """The matrices as the bytes of ``confusion.json``."""
    lines = ",\n".join(json.dumps(asdict(one)) for one in confusions)
    return f'{{"format": 1, "confusions": [\n{lines}\n]}}\n'.encode()


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
        raise InputError(f"{place}: damaged ({wrong(error)}): train the model again") from error
    known = {one.scheme: one for one in file.confusions}
    if scheme not in known:
        raise InputError(f"{place}: knows nothing of {scheme!r} (known: {', '.join(known)})")
    return known[scheme]
