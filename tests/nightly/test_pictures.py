"""Pictures of the study: each kind against a picture that somebody looked at, and SVG that is safe to open.

The baselines in tests/baselines are made by the same code with Matplotlib's version of constraints.txt; with another
version, which may place text elsewhere, they are not compared. To remake them after a wanted change, and then to look
at every one of them before committing it::

    REMAKE_BASELINES=1 pytest tests/nightly/test_pictures.py
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest

from helpers.pictures import (
    BASELINES,
    EXHIBITS,
    FIGURES,
    HOSTILE,
    LIMITS,
    PLAN,
    ROOT,
    pictured,
    png,
    study,  # noqa: F401 - fixtures
    texts,
)
from torch_embers.study.figures.derive import derive
from torch_embers.study.figures.pictures import draw

matplotlib = pytest.importorskip("matplotlib")

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.study.figures.make import Study
    from torch_embers.study.figures.table import Row
REMAKE = "REMAKE_BASELINES"
remaking = os.environ.get(REMAKE) == "1"  # read here: no test sees the variables of embers
TOLERANCE = 4.0
"""Root of the mean squared difference of two pictures, of 255. Rounding of edges on another processor stays below 1; a
single bar that is one item higher gives more than 10 (test_a_changed_count_is_seen)."""


# ---- as they were when somebody looked at them ---------------------------------------------------------------------------


def pinned() -> str:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return next(line.partition("==")[2] for line in lines if line.startswith("matplotlib=="))


def test_every_figure_says_what_was_counted_and_when_in_one_clause(study: Study) -> None:
    for table in map(study.table, FIGURES):
        said = " ".join(texts(draw.draw(table, PLAN))).replace("\n", " ")
        assert table.definition.heading in said
        assert "Nothing is drawn" in said or f"Source: {table.source}." in said
        assert table.source.endswith("30 June 2026")
    nothing = derive(EXHIBITS["figure_3"], [], LIMITS)
    assert "nothing to show; missing: items with a bug type" in texts(draw.draw(nothing, PLAN))


@pytest.mark.parametrize("name", [*FIGURES, "many_backends", "many_first_fixed_release"])
def test_a_picture_is_as_it_was_when_somebody_looked_at_it(study: Study, tmp_path: Path, name: str) -> None:
    if matplotlib.__version__ != pinned():
        pytest.skip(f"the baselines are of Matplotlib {pinned()}, this is {matplotlib.__version__}")
    from matplotlib.testing.compare import compare_images

    baseline = BASELINES / f"{name}.png"
    if remaking:
        png(pictured(study, name), baseline)
    found = compare_images(str(baseline), str(png(pictured(study, name), tmp_path / "now.png")), TOLERANCE)
    assert found is None, found
    assert baseline.stat().st_size < 60_000


def test_a_changed_count_is_seen(study: Study, tmp_path: Path) -> None:
    from matplotlib.image import imread
    from matplotlib.testing.compare import calculate_rms

    table = study.table("figure_2")
    changed = [row | {"k": row["k"] + (row == table.rows[0])} for row in table.rows]
    one, other = (
        imread(png(made, tmp_path / f"{place}.png"))
        for place, made in enumerate((table, replace(table, rows=tuple(changed))))
    )
    assert calculate_rms(255 * one, 255 * other) > 2.5 * TOLERANCE


def test_a_curve_ends_where_few_are_followed_and_counts_them_below(study: Study) -> None:
    figure = draw.draw(pictured(study, "many_first_fixed_release"), PLAN)
    axes, below = figure.axes
    counts = [text.get_text() for text in below.texts]
    assert counts[:: len(axes.get_xticks())] == ["14", "14", "12"]  # of each group all, on the day of the report
    assert max(axes.lines[0].get_xdata()) <= axes.get_xlim()[1]
    assert min(int(count) for count in counts[: len(axes.get_xticks())]) >= LIMITS.least_at_risk


SVG = "{http://www.w3.org/2000/svg}"


def hostile(name: str) -> list[Row]:
    """Rows for a figure with names that nobody checked, and with what any kind of picture asks for."""
    days = range(1, 12) if name == "first_fixed_release" else (1,)
    same = {"sample": "candidates", "year": 2020, "half": 1, "k": 5, "type_k": 5, "n": 50, "lines": 10, "gone": True}
    same |= {"basis": "clone" if name == "figure_1" else "folder", "component": "data_path"}
    named = ("class", "consequence", "subcomponent", "state", "release", *(("part",) if name == "figure_5" else ()))
    return [
        same | dict.fromkeys(named, text) | {"released": date(2020 + place, 1, 1), "low": float(day), "high": day + 1.0}
        for place, text in enumerate(HOSTILE)
        for day in days
    ]


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("name", [f"figure_{n}" for n in range(1, 7)] + ["backends", "releases", "first_fixed_release"])
def test_names_from_outside_stay_text(tmp_path: Path, name: str) -> None:
    table = derive(EXHIBITS[name], hostile(name), LIMITS)
    draw.write(replace(table, source=" ".join(HOSTILE)), PLAN, tmp_path)
    root = ET.fromstring((tmp_path / f"{name}.svg").read_text(encoding="utf-8"))
    tags = {element.tag.removeprefix(SVG) for element in root.iter() if element.tag.startswith(SVG)}
    drawn = {"svg", "g", "path", "text", "tspan", "use", "rect", "pattern", "image"}
    assert tags <= drawn | {"defs", "style", "clipPath", "metadata", "title"}
    said = " ".join("".join(element.itertext()) for element in root.iter(f"{SVG}text"))
    for text in ("<script>alert(1)</script>", "$x^2$", "$\\frac{1}{", "a&b]]>\"'"):
        assert text in said, text
    assert not [c for c in said if ord(c) < 32 and c not in "\n "]
    assert all(
        value.startswith(("#", "data:image/png"))
        for element in root.iter()
        for key, value in element.attrib.items()
        if key.endswith("href")
    )
