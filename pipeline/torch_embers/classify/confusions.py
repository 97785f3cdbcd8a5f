"""What the shipped classifier takes for what, on items it has not seen: kept beside it as ``confusion.json``.

The matrices come out of an evaluation by grouped folds (`embers evaluate --out`). They count the likeliest class of
every item, also where the classifier would abstain: that is what ``predictions.likeliest`` holds. An item that was
answered in several rounds of folds counts once in all, spread over its answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.classify.bundle import shipped_folder
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FORMAT = 1
FILE = "confusion.json"
SCHEMES = ("bug_type", "memory_type", "consequence")
"""Schemes whose shares are corrected: each has one question, whose classes exclude each other."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often each class was taken for which, in items."""

    scheme: str
    classes: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    """Rows truth, columns the likeliest class, both in the order of ``classes``. Each row adds up to its items."""
    items: int
    """Items with gold, each counted once however often it was answered."""
    groups: int
    """Groups of related items among them, held out whole."""
    learner: str
    settings: Mapping[str, Any]
    """How the evaluation was made: split, rounds, text."""
    source: str
    """File that the counts come from."""


def from_evaluation(found: Mapping[str, Any], source: str, schemes: Sequence[str] = SCHEMES) -> list[Confusion]:
    """Read the matrices of the last named learner of each scheme, which is the classifier with all that it uses.

    Args:
        found: an evaluation as `embers evaluate --out` writes it.
        source: what to name as their origin.
        schemes: which to read.

    Raises:
        InputError: a scheme was not evaluated, or this is no evaluation by folds.
    """
    try:
        if found["about"]["split"] != "folds":
            raise InputError(f"{source}: answers of folds are needed, not of the split {found['about']['split']!r}")
        reports = {report["task"]: report for report in found["reports"]}
        missing = [scheme for scheme in schemes if scheme not in reports]
        if missing:
            raise InputError(f"{source}: no evaluation of {', '.join(missing)}: run `embers evaluate` without --scheme")
        return [_read(reports[scheme], found["about"], source) for scheme in schemes]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{source}: is no evaluation ({error!r}): make one with `embers evaluate --out`") from error


def _read(report: Mapping[str, Any], about: Mapping[str, Any], source: str) -> Confusion:
    score, rounds = report["scores"][-1], float(report["rounds"])
    classes, items = tuple(map(str, report["classes"])), int(report["texts"])
    matrix = tuple(tuple(round(int(cell) / rounds, 6) for cell in row) for row in score["confusion"])
    _check(str(report["task"]), classes, matrix, items, source)
    settings = {**about, "rounds": rounds}
    return Confusion(
        str(report["task"]), classes, matrix, items, int(report["groups"]), str(score["name"]), settings, source
    )


def _check(scheme: str, classes: Sequence[str], matrix: Sequence[Sequence[float]], items: int, source: str) -> None:
    square = len(matrix) == len(classes) and all(len(row) == len(classes) for row in matrix)
    if not square or not classes or any(not 0 <= cell < float("inf") for row in matrix for cell in row):
        raise InputError(f"{source}: the matrix of {scheme} does not fit its classes")
    if abs(sum(map(sum, matrix)) - items) > 1e-3 * items:
        raise InputError(f"{source}: the matrix of {scheme} does not add up to its {items} items")


def write(evaluation: Path, place: Path) -> None:
    """Write the matrices of an evaluation to a file beside a model.

    Args:
        evaluation: what `embers evaluate --out` wrote.
        place: ``confusion.json`` in the folder of the model.

    Raises:
        InputError: no such evaluation, or the file cannot be written.
    """
    found = from_evaluation(_json(evaluation), f"{evaluation.parent.name}/{evaluation.name}")
    lines = [json.dumps(_as_data(one)) for one in found]
    text = f'{{"format": {FORMAT}, "confusions": [\n' + ",\n".join(lines) + "\n]}\n"
    partial = place.with_suffix(".part")
    try:
        partial.write_text(text, encoding="utf-8")
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
    found = _json(place)
    try:
        if found["format"] != FORMAT:
            raise InputError(f"{place}: made by another version of embers: run `make evaluation` again")
        known = {str(one["scheme"]): one for one in found["confusions"]}
        if scheme not in known:
            raise InputError(f"{place}: knows nothing of {scheme!r} (known: {', '.join(known)})")
        own = known[scheme]
        classes, items = tuple(map(str, own["classes"])), int(own["items"])
        matrix = tuple(tuple(map(float, row)) for row in own["matrix"])
        _check(scheme, classes, matrix, items, str(place))
        settings, groups = dict(own["settings"]), int(own["groups"])
        return Confusion(scheme, classes, matrix, items, groups, str(own["learner"]), settings, str(own["source"]))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{place}: damaged ({error!r}): run `make evaluation` again") from error


def _as_data(one: Confusion) -> dict[str, Any]:
    return {
        "scheme": one.scheme,
        "classes": one.classes,
        "matrix": one.matrix,
        "items": one.items,
        "groups": one.groups,
        "learner": one.learner,
        "settings": dict(one.settings),
        "source": one.source,
    }


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: an object is wanted")
    return found
