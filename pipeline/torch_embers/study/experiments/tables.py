"""The results of the experiments as CSV and JSON."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from torch_embers.study import files
from torch_embers.study.experiments.measured import AUGMENTATION, PERMUTATION, Measured
from torch_embers.study.experiments.results import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from torch_embers.study.experiments.measured import Facts
    from torch_embers.study.experiments.results import Results

MEASURED = tuple(field.name for field in fields(Measured))


def write(out: Path, found: Sequence[Measured], results: Results, facts: Facts) -> tuple[Path, ...]:
    """Write raw times, summaries and experiments.json.

    Raises:
        InputError: the folder cannot be written to.
    """
    tables = {
        "figure_8.csv": [_arms(one) for one in results.compared],
        "figure_8_steps.csv": [asdict(one) for one in results.steps],
        "figure_8_raw.csv": [asdict(one) for one in found if one.experiment == AUGMENTATION],
        "figure_9.csv": [_flat(asdict(one)) for one in results.orders],
        "figure_9_explained.csv": [asdict(one) for one in results.explained],
        "figure_9_raw.csv": [asdict(one) for one in found if one.experiment == PERMUTATION],
    }
    texts = {name: files.as_csv(rows, _cell) for name, rows in tables.items() if rows}
    texts["experiments.json"] = files.as_json(as_json(results, facts), indent=2)
    return tuple(files.write(out / name, text) for name, text in texts.items())


def _cell(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def _arms(one: Any) -> dict[str, Any]:
    return _flat(asdict(one)) | {"faster_percent": one.faster, "saved_percent": one.saved}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Inner records become columns: ``ratio.low`` is ``ratio_low``."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat |= dict(_columns(name, value)) if isinstance(value, dict) else {name: value}
    return flat


def _columns(name: str, inner: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    for part, value in inner.items():
        yield (f"{name}_{part}", value)
