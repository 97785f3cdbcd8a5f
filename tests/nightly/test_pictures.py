"""Pictures of the study: each kind against a picture that somebody looked at, and SVG that is safe to open.

The baselines in tests/baselines are made by the same code with Matplotlib's version of constraints.txt; with another
version, which may place text elsewhere, they are not compared. To remake them after a wanted change, and then to look
at every one of them before committing it::

    REMAKE_BASELINES=1 pytest tests/unit/test_pictures.py
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


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_what_was_counted_and_when_in_one_clause(study: Study, name: str) -> None:
    table = study.table(name)
    figure = draw.draw(table, PLAN)
    said = " ".join(texts(figure)).replace("\n", " ")
    assert table.definition.heading in said
    assert table.source.endswith("30 June 2026")
    if "Nothing is drawn" not in said:
        assert f"Source: {table.source}." in said
        assert "numbers of the tracker" not in said  # the page and the CSV have the notes


def test_a_figure_without_rows_says_what_is_missing(study: Study) -> None:
    table = derive(EXHIBITS["figure_3"], [], LIMITS)
    assert "nothing to show; missing: items with a bug type" in texts(draw.draw(table, PLAN))


def test_the_end_of_the_study_lies_within_its_half_year(study: Study) -> None:
    [line, *_] = draw.draw(study.table("figure_2"), PLAN).axes[0].lines
    # the first bar is of the first half of 2019; 31 July 2024 lies a sixth into the twelfth
    assert line.get_xdata()[0] == pytest.approx(11 - 0.5 + 1 / 6)


def test_a_curve_ends_where_few_are_followed_and_counts_them_below(study: Study) -> None:
    figure = draw.draw(pictured(study, "many_first_fixed_release"), PLAN)
    axes, below = figure.axes
    counts = [text.get_text() for text in below.texts]
    assert counts[:: len(axes.get_xticks())] == ["14", "14", "12"]  # of each group all, on the day of the report
    assert max(axes.lines[0].get_xdata()) <= axes.get_xlim()[1]
    assert min(int(count) for count in counts[: len(axes.get_xticks())]) >= LIMITS.least_at_risk


def test_parts_that_the_paper_names_are_shown_however_few_they_are(study: Study) -> None:
    figure = draw.draw(study.table("figure_4"), PLAN)
    for axes in figure.axes:
        assert [text.get_text() for text in axes.get_legend().get_texts()][:2] in (
            ["nested (0)", "dtensor (0)"],
            ["nested (1)", "dtensor (0)"],
        )


SVG = "{http://www.w3.org/2000/svg}"


def hostile(kind: str) -> tuple[str, list[Row]]:
    """A table or figure and rows with names that nobody checked."""
    base = {"sample": "candidates", "n": 50}
    if kind == "curves":
        rows = [
            {"state": name, "low": float(day), "high": day + 1.0, "gone": True}
            for name in HOSTILE
            for day in range(1, 12)
        ]
        return "first_fixed_release", rows
    if kind == "sizes":
        days = [date(2020 + place, 1, 1) for place in range(len(HOSTILE))]
        return "figure_1", [
            {"basis": "clone", "release": name, "released": day, "component": "data_path", "lines": 10}
            for name, day in zip(HOSTILE, days, strict=True)
        ]
    if kind == "releases":
        return "releases", [
            {"release": name, "released": date(2020, 1, 1 + place), "class": name, "k": 5, "n": 10}
            for place, name in enumerate(HOSTILE)
        ]
    named = {
        "shares": ("figure_3", {}),
        "stacked": ("figure_2", {"year": 2020, "half": 1}),
        "lines": ("backends", {"year": 2020, "half": 1}),
        "parts": ("figure_4", {"year": 2020, "half": 1, "basis": "folder", "subcomponent": ""}),
        "breakdown": ("figure_5", {"part": "", "type_k": 5}),
        "heat": ("figure_6", {"consequence": ""}),
    }
    name, more = named[kind]
    rows = [base | more | {"class": text, "k": 5} for text in HOSTILE]
    return name, [
        row | {key: row["class"] for key in ("part", "consequence", "subcomponent") if key in row} for row in rows
    ]


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize(
    "kind", ["shares", "stacked", "parts", "lines", "breakdown", "heat", "curves", "sizes", "releases"]
)
def test_names_from_outside_stay_text(tmp_path: Path, kind: str) -> None:
    name, rows = hostile(kind)
    table = derive(EXHIBITS[name], rows, LIMITS)
    draw.write(replace(table, source=" ".join(HOSTILE)), PLAN, tmp_path)
    root = ET.fromstring((tmp_path / f"{name}.svg").read_text(encoding="utf-8"))
    tags = {element.tag for element in root.iter() if element.tag.startswith(SVG)}
    assert tags <= {
        f"{SVG}{tag}"
        for tag in [
            "svg",
            "defs",
            "style",
            "g",
            "path",
            "text",
            "tspan",
            "use",
            "clipPath",
            "rect",
            "pattern",
            "image",
            "metadata",
            "title",
        ]
    }
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


# ---- files -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_table_gives_the_same_bytes(study: Study, tmp_path: Path, name: str) -> None:
    one, other = (draw.write(study.table(name), PLAN, tmp_path / folder) for folder in ("one", "other"))
    assert [path.name for path in one] == [f"{name}.svg", f"{name}.png"]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    assert "<text" in one[0].read_text(encoding="utf-8")
