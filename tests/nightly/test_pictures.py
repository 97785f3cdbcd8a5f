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

if TYPE_CHECKING:
    from torch_embers.study.figures.make import Study
    from torch_embers.study.figures.table import Row, Table

matplotlib = pytest.importorskip("matplotlib")
ROOT = Path(__file__).resolve().parents[2]
BASELINES = ROOT / "tests" / "baselines"
DPI = 60
EXHIBITS = {definition.id: definition for definition in definitions.load()}
FIGURES = [definition.id for definition in EXHIBITS.values() if definition.draw]
PLAN = samples.load(mini_study.AS_OF)
LIMITS = PLAN.limits


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
        {"number": n, "state": name, "low": float(day), "high": None if n % 4 == 3 else day + 40.0, "gone": n % 4 != 3}
        for name, every in ends.items()
        for n, day in enumerate(every)
    ]
    return {"backends": backends, "first_fixed_release": gone}


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


def texts(figure: Any) -> list[str]:
    """All words of a figure."""
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


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


MANY = ("many_backends", "many_first_fixed_release")
REMAKING = os.environ.get("REMAKE_BASELINES") == "1"  # read here: no test sees the variables of embers
TOLERANCE = 4.0
"""Root of the mean squared difference of two pictures, of 255. Rounding of edges on another processor stays below 1; a
single bar that is one item higher gives more than 10 (test_a_changed_count_is_seen)."""


def test_every_figure_says_what_was_counted_and_when_in_one_clause(study: Study) -> None:
    for table in map(study.table, FIGURES):
        said = " ".join(texts(draw.draw(table, PLAN))).replace("\n", " ")
        assert table.definition.heading in said
        assert "Nothing is drawn" in said or f"Source: {table.source}." in said
        assert table.source.endswith("30 June 2026")
    nothing = derive(EXHIBITS["figure_3"], [], LIMITS)
    assert "nothing to show; missing: items with a bug type" in texts(draw.draw(nothing, PLAN))


@pytest.mark.parametrize("name", [*FIGURES, *MANY])
def test_a_picture_is_as_it_was_when_somebody_looked_at_it(study: Study, tmp_path: Path, name: str) -> None:
    if f"matplotlib=={matplotlib.__version__}\n" not in (ROOT / "constraints.txt").read_text(encoding="utf-8"):
        pytest.skip("the baselines are of the Matplotlib of constraints.txt")
    from matplotlib.testing.compare import compare_images

    baseline = BASELINES / f"{name}.png"
    if REMAKING:
        png(pictured(study, name), baseline)
    found = compare_images(str(baseline), str(png(pictured(study, name), tmp_path / "now.png")), TOLERANCE)
    assert found is None, found
    assert {path.stem for path in BASELINES.glob("*.png")} == {*FIGURES, *MANY}, "a baseline that nobody compares"


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


@pytest.mark.parametrize("name", ["backends", "first_fixed_release"])
def test_too_few_items_for_any_line_are_told_and_not_drawn(study: Study, name: str) -> None:
    figure = draw.draw(study.table(name), PLAN)
    assert "Nothing is drawn: too few items." in " ".join(texts(figure))
    assert not figure.axes[0].lines


def test_a_sample_that_is_too_small_is_named_and_has_no_bar(study: Study) -> None:
    with matplotlib.rc_context({"font.size": 33}):
        figure = draw.draw(study.table("figure_3"), PLAN)
        assert matplotlib.rcParams["font.size"] == 33, "settings of the caller come back"
    assert "patched bugs to July 2024 (n = 4: too few)" in texts(figure)
    widths = sorted(round(float(bar.get_width()), 6) for bar in figure.axes[0].patches)
    assert widths == [10, 20, 20, 70, 80]  # 1, 2, 7 of 10 and 1, 4 of 5


def test_bars_of_a_stack_add_up_to_the_counts(study: Study) -> None:
    table = study.table("figure_2")
    for axes, sample in zip(draw.draw(table, PLAN).axes, ("today", "candidates"), strict=True):
        heights = sum(bar.get_height() for bar in axes.patches)
        assert heights == sum(row["k"] for row in table.of(sample=sample))


def test_rare_classes_of_a_stack_are_one_part_that_is_named_and_none_is_lost() -> None:
    rows = [{"sample": "candidates", "year": 2020, "half": 1, "class": f"c{k}", "k": k, "n": 78} for k in range(1, 13)]
    figure = draw.draw(derive(EXHIBITS["figure_2"], rows, LIMITS), PLAN)
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights == [12, 11, 10, 9, 8, 7, 6, 5, 4, 3 + 2 + 1]  # from 4 % of 78 on a class has its own colour
    assert "Others: c3, c2, c1." in " ".join(texts(figure)).replace("\n", " ")
    assert figure.axes[0].get_ylim()[1] > 78
