"""Figures 8 and 9 from raw times: pairs and their intervals, orders beside a plain copy, what explains them."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import draw_figures_8_and_9 as drawn
import numpy as np
import pytest

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.study import result_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Times = list[tuple[str, str, int, float]]
    Read = Callable[..., drawn.Measured]

HEADING = "experiment,device,series,variant,step,repeat,seconds,amount"
PAIR = [("default", "chain", 0, 40), ("contiguity-aware", "chain", 0, 20)]
ORDERS = [("plain copy", step, 0, 2) for step in ("fresh", "placed")]
ORDERS += [("0 5 2 3 4 1", step, n, seconds) for step in ("fresh", "placed") for n, seconds in enumerate((9, 8))]
ORDERS += [("0 1 2 3 5 4", step, n, 4) for step in ("fresh", "placed") for n in range(2)]
ORDERS += [("1 0 2 3 4 5", "fresh", 0, 1e-6)]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The tables of made-up raw times of both figures."""

    def read_times(chain: Times = PAIR, orders: Times = ORDERS, side: int = 10) -> drawn.Measured:
        (tmp_path / drawn.FACTS).write_text("{}", encoding="utf-8")
        for figure, series, amount, times in ((8, "batch 1", 10, chain), (9, f"d = {side}", 4 * side**5, orders)):
            lines = [f"x,cpu,{series},{v},{step},{repeat},{seconds},{amount}" for v, step, repeat, seconds in times]
            (tmp_path / f"figure_{figure}_raw.csv").write_text("\n".join([HEADING, *lines, ""]), encoding="utf-8")
        return drawn.read(tmp_path)

    return read_times


def pairs(default: list[float], aware: list[float]) -> Times:
    """Passes of the chain in both arms."""
    arms = {"default": default, "contiguity-aware": aware}
    return [(arm, "chain", n, float(seconds)) for arm, times in arms.items() for n, seconds in enumerate(times)]


def test_the_committed_tables_and_sentences_follow_from_the_committed_raw_times() -> None:
    home = resources.CHECKOUT_DIR / "analysis" / "results"
    found = drawn.read(home)
    for name, rows in found.tables.items():
        assert result_files.as_csv(rows, drawn._cell) == (home / f"{name}.csv").read_text(encoding="utf-8"), name
    assert found.facts["finding"] == drawn.findings(found)
    assert found.facts["measured_on"] in found.where
    assert found.facts["machine"]["processor"] in found.where


def test_pairs_are_compared_pair_by_pair_and_a_pass_without_its_partner_is_left_out(read: Read) -> None:
    (one,) = read(pairs([40, 80, 60, 1], [20, 40, 60])).tables["figure_8"]
    assert (one["default_value"], one["aware_value"], one["ratio_value"], one["pairs"]) == (6, 4, 2, 3)
    assert (one["ratio_low"], one["ratio_high"], one["least"]) == (1, 2, 4)
    assert one["ratio_confidence"] == pytest.approx(0.75)
    assert (one["faster_percent"], one["saved_percent"]) == (100, 50)


def test_the_interval_of_a_median_has_the_tabled_ranks(read: Read) -> None:
    for n, k, held in ((6, 1, 0.96875), (10, 2, 0.978515625), (40, 14, 0.9615226)):
        (one,) = read(pairs([float(i) for i in range(1, n + 1)], [1.0] * n)).tables["figure_8"]
        found = [one[f"ratio_{part}"] for part in ("low", "high", "value", "confidence")]
        assert found == pytest.approx([k, n + 1 - k, (n + 1) / 2, held])


def test_steps_stand_beside_their_copies(read: Read) -> None:
    crop = [("default", "crop", n, seconds) for n, seconds in enumerate((30, 20))]
    crop += [("contiguity-aware", "crop", n, seconds) for n, seconds in enumerate((10, 15))]
    crop += [("contiguity-aware", "contiguous() crop", n, seconds) for n, seconds in enumerate((7, 5))]
    (step,) = read(PAIR + crop).tables["figure_8_steps"]
    assert (step["step"], step["default"], step["aware"], step["copying"]) == ("crop", 2, 1, 0.5)


def test_orders_are_set_beside_a_plain_copy(read: Read) -> None:
    moved, _, still = read().tables["figure_9"]
    assert (moved["fresh"], moved["fresh_median"], moved["fresh_most"], moved["placed"]) == (8, 8.5, 9, 8)
    assert (moved["share_fresh"], moved["share_placed"], moved["repeats"]) == (0.25, 0.25, 2)
    assert (moved["geometry_moved"], moved["geometry_place"], moved["geometry_last_kept"]) == (2, 4, False)
    assert (moved["geometry_step"], moved["geometry_reuse"]) == (4 * 10**4, 64 * 10**4)
    assert (still["placed"], still["geometry_untouched"]) == (None, True)


def test_the_geometry_of_all_orders_is_what_numpy_makes_of_them(read: Read) -> None:
    tensor = np.empty((1, 2, 2, 2, 2, 2), np.float32)
    times = [(" ".join(map(str, order)), "fresh", 0, 1.0) for order in permutations(range(6))]
    rows = read(orders=[*ORDERS[:2], *times], side=2).tables["figure_9"]
    assert len(rows) == 720
    for row in rows:
        order = [int(dimension) for dimension in row["order"].split()]
        view = tensor.transpose(order)
        strides = [stride for stride, dimension in zip(view.strides, order, strict=True) if dimension]
        assert row["geometry_untouched"] == view.flags.c_contiguous
        assert strides[4 - row["geometry_place"]] == 4
        assert row["geometry_step"] == strides[-1]


def test_what_groups_orders_by_their_times_explains_everything_and_what_does_not_nothing(read: Read) -> None:
    # both move the last dimension; the time goes with the place, 1 or 4, and not with the number of moved dimensions
    slow, quick = ("0 5 2 3 4 1", "0 5 3 2 4 1"), ("0 1 2 3 5 4", "0 2 1 3 5 4")
    seconds = dict.fromkeys(slow, 8) | dict.fromkeys(quick, 2)
    times = [(o, step, n, s) for o, s in seconds.items() for step in ("fresh", "placed") for n in (0, 1)]
    rows = read(orders=[*ORDERS[:2], *times]).tables["figure_9_explained"]
    place, moved = (
        next(row for row in rows if (row["step"], row["description"]) == ("fresh", description))
        for description in ("place", "moved")
    )
    assert (place["share"], place["repeatable"]) == (1, 1)
    assert (moved["share"], moved["groups"], moved["adjusted"]) == (0, 2, pytest.approx(1 - 3 / 2))


def test_what_was_measured_on_a_busy_machine_is_said_to_explain_nothing(read: Read) -> None:
    crop = [(arm, "crop", 0, 90.0) for arm, _, _, _ in PAIR] + [("contiguity-aware", "contiguous() crop", 0, 1.0)]
    orders = [("0 5 2 3 4 1", step, n, 1 + 8 * n) for step in ("fresh", "placed") for n in range(2)]
    orders += [("0 1 2 3 5 4", step, n, 8 - 6 * n) for step in ("fresh", "placed") for n in range(2)]
    said = drawn.findings(read([*pairs([10, 40], [20, 20]), *crop], [*ORDERS[:2], *orders]))
    assert [sentence.partition(" ")[0] for sentence in said] == ["Figure", "Figure"]
    assert "0 no difference, 1 unclear" in said[0]
    assert "too busy to explain anything" in said[1]


def test_a_measurement_that_is_not_finished_says_how_to_finish_it(read: Read, tmp_path: Path) -> None:
    read()
    (tmp_path / "figure_9_raw.csv").unlink()
    with pytest.raises(InputError, match=r"figure_9_raw.*python analysis/figures_8_and_9\.py"):
        drawn.read(tmp_path)


def test_bytes_are_readable() -> None:
    readable = [drawn.bytes_text(count) for count in (999, 1640, 39_062_500, 42e9)]
    assert readable == ["999 B", "1.64 kB", "39.1 MB", "42 GB"]
