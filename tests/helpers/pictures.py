"""What the tests in test_pictures.py share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mini_study
from torch_embers import drawing
from torch_embers.study import samples
from torch_embers.study.figures import definitions
from torch_embers.study.figures.derive import derive
from torch_embers.study.figures.make import make
from torch_embers.study.figures.pictures import draw

matplotlib = pytest.importorskip("matplotlib")

if TYPE_CHECKING:
    from torch_embers.study.figures.make import Study
    from torch_embers.study.figures.table import Row, Table

ROOT = Path(__file__).resolve().parents[2]
BASELINES = ROOT / "tests" / "baselines"
DPI = 60
EXHIBITS = {definition.id: definition for definition in definitions.load()}
FIGURES = [definition.id for definition in EXHIBITS.values() if definition.draw]
LIMITS = samples.load(mini_study.AS_OF).limits
PLAN = samples.load(mini_study.AS_OF)


@pytest.fixture(scope="module")
def study() -> Study:
    """The tables and figures of the database counted by hand."""
    with mini_study.small_facts():
        return make(mini_study.database(), PLAN)


def many() -> dict[str, list[Row]]:
    """Rows that the small database is too small for: lines by half year and curves of several groups."""
    halves = [(year, half) for year in range(2022, 2026) for half in (1, 2)]
    shown = {"cpu": (9, 8, 8, 7, 6, 7, 5, 6), "inductor": (0, 0, 2, 0, 3, 1, 4, 5), "mps": (1, 2, 0, 1, 0, 2, 0, 3)}
    whole = (10, 10, 10, 4, 10, 12, 10, 10)  # too few in the second half of 2023
    backends = [
        {"sample": "candidates", "year": year, "half": half, "class": name, "k": counts[place], "n": whole[place]}
        for place, (year, half) in enumerate(halves)
        for name, counts in shown.items()
        if counts[place]
    ]
    ends = {"open": range(10, 700, 60), "closed as fixed": range(100, 1500, 100), "closed otherwise": range(5, 60, 4)}
    gone = [
        {
            "number": place,
            "state": name,
            "low": float(day),
            "high": None if place % 4 == 3 else day + 40.0,
            "gone": True,
        }
        for name, every in ends.items()
        for place, day in enumerate(every)
    ]
    return {"backends": backends, "first_fixed_release": [row | {"gone": row["high"] is not None} for row in gone]}


def pictured(study: Study, name: str) -> Table:
    """The table behind a baseline."""
    if not name.startswith("many_"):
        return study.table(name)
    definition = EXHIBITS[name.removeprefix("many_")]
    return replace(derive(definition, many()[definition.id], LIMITS), notes=("made-up rows",))


def png(table: Table, path: Path) -> Path:
    """The picture of a table, small."""
    with drawing.styled():
        draw.draw(table, PLAN).savefig(path, dpi=DPI, metadata={"Software": None})
    return path


# ---- what is drawn -------------------------------------------------------------------------------------------------------


def texts(figure: Any) -> list[str]:
    """All words of a figure."""
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


# ---- text from outside -----------------------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    "$x^2$",
    "$\\frac{1}{",
    "a&b]]>\"'",
    "bell\x07 escape\x1b[31m null\x00",
    "two\nlines",
    "_hidden",
    "\u202eright to left",
    "long " * 100,
]
