"""Pictures of the study: each kind against a picture that somebody looked at, and SVG that is safe to open.

The baselines in tests/baselines are made by the same code with Matplotlib's version of constraints.txt; with another
version, which may place text elsewhere, they are not compared. To remake them after a wanted change, and then to look
at every one of them before committing it::

    REMAKE_BASELINES=1 pytest tests/unit/test_pictures.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.pictures import (
    BASELINES,
    EXHIBITS,
    FIGURES,
    HOSTILE,
    LIMITS,
    PLAN,
    pictured,
    study,  # noqa: F401 - fixtures
    texts,
)
from torch_embers.errors import InputError
from torch_embers.study.figures.derive import derive
from torch_embers.study.figures.pictures import captions, draw

matplotlib = pytest.importorskip("matplotlib")

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.study.figures.make import Study


def test_there_is_no_baseline_that_nobody_compares() -> None:
    assert {path.stem for path in BASELINES.glob("*.png")} == {*FIGURES, "many_backends", "many_first_fixed_release"}


@pytest.mark.parametrize("name", ["backends", "first_fixed_release"])
def test_too_few_items_for_any_line_are_told_and_not_drawn(study: Study, name: str) -> None:
    figure = draw.draw(study.table(name), PLAN)
    assert "Nothing is drawn: too few items." in " ".join(texts(figure))
    assert not figure.axes[0].lines


def test_a_sample_that_is_too_small_is_named_and_has_no_bar(study: Study) -> None:
    figure = draw.draw(study.table("figure_3"), PLAN)
    assert "patched bugs to July 2024 (n = 4: too few)" in texts(figure)
    widths = sorted(round(float(bar.get_width()), 6) for bar in figure.axes[0].patches)
    assert widths == [10, 20, 20, 70, 80]  # 1, 2, 7 of 10 and 1, 4 of 5


def test_a_class_that_does_not_occur_in_a_half_year_is_at_zero_there(study: Study) -> None:
    panels = draw.draw(pictured(study, "many_backends"), PLAN).axes
    drawn = {
        line.get_label(): [round(float(y), 1) for y in line.get_ydata()] for axes in panels for line in axes.lines[:1]
    }
    compiler = drawn["compiler (inductor)"]
    assert compiler[:2] == [0, 20]  # from the last half year before it was first seen
    assert compiler[2] != compiler[2]  # too few items: a gap
    assert compiler[3:] == [30, 8.3, 40, 50]


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


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_is_one_short_printable_line(text: str) -> None:
    shown = captions.name(text)
    assert shown.isprintable()
    assert len(shown) <= captions.LONGEST


def test_names_of_classes_are_as_people_write_them() -> None:
    assert [
        captions.name(name)
        for name in ("cuda", "nan_inf", "silent_correctness", "onnx", "non_contiguous", "rest", "native_cpu")
    ] == [
        "CUDA",
        "NaN or infinity",
        "silent correctness",
        "ONNX",
        "non-contiguity",
        "others",
        "native CPU",
    ]


def test_settings_of_the_caller_s_matplotlib_come_back(study: Study) -> None:
    with matplotlib.rc_context({"font.size": 33}):
        draw.draw(study.table("figure_3"), PLAN)
        assert matplotlib.rcParams["font.size"] == 33


def test_a_folder_that_cannot_be_written_to_is_named(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot write there"):
        draw.write(study.table("figure_3"), PLAN, tmp_path / "file")
