"""The experiments of figures 8 and 9: equal arms, right operations, geometry of orders, arithmetic, files."""

from __future__ import annotations

import colorsys
import csv
import json
import sys
from dataclasses import replace
from io import BytesIO
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers.errors import InputError
from torch_embers.study.experiments import (
    devices,
    images,
    machine,
    orders,
    plan,
    results,
    run,
    sentences,
    summary,
)
from torch_embers.study.experiments.measured import (
    AUGMENTATION,
    AWARE,
    CHAIN,
    COPYING,
    DEFAULT,
    FRESH,
    PERMUTATION,
    PLACED,
    YARDSTICK,
    Facts,
    Measured,
)

torch = pytest.importorskip("torch")

from torch_embers.study.experiments import augmentation, chain_times, copy_times  # noqa: E402 (they need torch)

NUMBERS = plan.chain()
CPU = devices.Device("cpu")


def pixels(count: int = 5, seed: int = 3) -> Any:
    return torch.from_numpy(images.made(count, seed))


def a_draw(**changed: Any) -> augmentation.Draw:
    return replace(augmentation.draws(NUMBERS, 1, 0, "cpu")[0], **changed)


def a_series(size: int, threads: int | None = None, steps: Any = None) -> chain_times.Series:
    given = pixels()
    draws = augmentation.draws(NUMBERS, -(-len(given) // size), 1, "cpu")
    steps = steps or augmentation.steps(NUMBERS, "cpu")
    return chain_times.Series(f"batch {size}", given, size, steps, draws, CPU, threads)


def facts(**changed: Any) -> Facts:
    made = Facts({"processor": "p", "cores": 2, "threads": 2, "memory_gb": 8, "torch": "2", "capability": "c"}, "quick",
                 plan.plan("quick"), 0, "made")  # fmt: skip
    return replace(made, **changed)


def arm(variant: str, seconds: list[float], step: str = CHAIN, amount: int = 10) -> list[Measured]:
    return [Measured(AUGMENTATION, "cpu", "batch 1", variant, step, i, s, amount) for i, s in enumerate(seconds)]


def copies(variant: str, fresh: list[float], placed: list[float], side: int = 25) -> list[Measured]:
    return [
        Measured(PERMUTATION, "cpu", f"d = {side}", variant, step, i, s, orders.size(side))
        for step, times in ((FRESH, fresh), (PLACED, placed))
        for i, s in enumerate(times)
    ]


# the chain


@pytest.mark.parametrize("size", [1, 2, 5])
def test_both_arms_compute_the_same(size: int) -> None:
    series = a_series(size)
    worst, layouts = series.compare()
    assert worst <= results.TOLERANCE
    assert layouts["to tensor"] == "channels last"
    assert layouts["crop with padding"] == "window"
    assert layouts["grayscale"] == "expanded"


def test_the_aware_arm_is_contiguous_behind_each_operation() -> None:
    seen: list[bool] = []
    steps = [
        (name, lambda x, d, step=step: (seen.append(x.is_contiguous()), step(x, d))[1])
        for name, step in augmentation.steps(NUMBERS, "cpu")
    ]
    assert augmentation.through(pixels(), a_draw(), steps, aware=True).is_contiguous()
    assert seen == [True] * len(steps)


def test_to_tensor_turns_and_scales() -> None:
    given = pixels()
    assert torch.equal(augmentation.to_tensor(given), torch.stack([given[..., c] for c in range(3)], 1).float() / 255)


def test_a_window_is_the_square_at_its_place() -> None:
    numbers = torch.arange(36.0).view(1, 1, 6, 6)
    assert augmentation.window(numbers, (1, 3), 2).flatten().tolist() == [9, 10, 15, 16]


def test_rotation_by_a_quarter_turns_every_pixel() -> None:
    given = torch.rand(2, 3, 6, 6)
    quarter = torch.tensor([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]])
    assert any(torch.equal(augmentation.rotate(given, quarter), torch.rot90(given, k, (2, 3))) for k in (1, 3))
    still = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    assert torch.equal(augmentation.rotate(given, still), given)


def test_grey_is_the_weighted_sum() -> None:
    given = torch.rand(2, 3, 4, 4)
    expected = torch.einsum("nchw,c->nhw", given, torch.tensor(NUMBERS.weights))
    assert torch.allclose(augmentation.grey(given, NUMBERS.weights)[:, 0], expected)


@given(st.tuples(*[st.floats(0, 1, width=32)] * 3), st.floats(-0.5, 0.5))
@settings(max_examples=example_count(60))
def test_hue_turns_as_in_the_standard_library(colour: tuple[float, float, float], by: float) -> None:
    hue, saturation, value = colorsys.rgb_to_hsv(*colour)
    expected = colorsys.hsv_to_rgb((hue + by) % 1, saturation, value)
    got = augmentation.turn_hue(torch.tensor(colour, dtype=torch.float64).view(1, 3, 1, 1), by).flatten()
    assert got.tolist() == pytest.approx(expected, abs=1e-6)


def test_jitter_with_neutral_factors_changes_nothing() -> None:
    given = torch.rand(2, 3, 5, 5)
    neutral = a_draw(brightness=1.0, contrast=1.0, saturation=1.0, hue=0.0)
    assert torch.allclose(augmentation.jitter(given, neutral, NUMBERS.weights), given, atol=1e-6)


def test_jitter_follows_its_formulas() -> None:
    given = torch.rand(1, 3, 5, 5)
    draw = a_draw(brightness=0.9, contrast=1.3, saturation=0.0, hue=0.0)
    bright = given * 0.9
    grey = augmentation.grey(bright, NUMBERS.weights)
    strong = (1.3 * bright - 0.3 * grey.mean()).clamp(0, 1)
    expected = augmentation.grey(strong, NUMBERS.weights).expand(-1, 3, -1, -1)
    assert torch.allclose(augmentation.jitter(given, draw, NUMBERS.weights), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("vertical", "horizontal", "dims"), [(True, False, (2,)), (False, True, (3,)), (True, True, (2, 3))]
)
def test_flips_follow_the_draw(vertical: bool, horizontal: bool, dims: tuple[int, ...]) -> None:
    steps = dict(augmentation.steps(NUMBERS, "cpu"))
    given, draw = torch.rand(1, 3, 4, 4), a_draw(vertical=vertical, horizontal=horizontal)
    assert torch.equal(steps["horizontal flip"](steps["vertical flip"](given, draw), draw), given.flip(dims))


def test_normalise_uses_the_channels_own_numbers() -> None:
    steps = dict(augmentation.steps(NUMBERS, "cpu"))
    given = torch.tensor(NUMBERS.mean).view(1, 3, 1, 1) + torch.tensor(NUMBERS.deviation).view(1, 3, 1, 1)
    assert torch.allclose(steps["normalise"](given, a_draw()), torch.ones(1, 3, 1, 1), atol=1e-5)


def test_the_result_has_the_size_of_the_second_crop() -> None:
    made = augmentation.through(pixels(), a_draw(), augmentation.steps(NUMBERS, "cpu"), aware=False)
    assert made.shape == (5, 3, NUMBERS.second_size, NUMBERS.second_size)


def test_draws_are_the_same_for_a_seed_and_stay_inside() -> None:
    first, again = (augmentation.draws(NUMBERS, 50, 7, "cpu") for _ in range(2))
    assert [d.first for d in first] == [d.first for d in again]
    assert all(0 <= place <= 2 * NUMBERS.padding for d in first for place in d.first)
    assert all(0 <= place <= NUMBERS.first_size - NUMBERS.second_size for d in first for place in d.second)
    assert {d.vertical for d in first} == {True, False}


def test_layouts_have_their_names() -> None:
    plain = torch.zeros(2, 3, 4, 4)
    named = {
        "contiguous": plain,
        "channels last": plain.contiguous(memory_format=torch.channels_last),
        "window": plain[..., 1:],
        "expanded": plain[:, :1].expand(-1, 3, -1, -1),
    }
    assert {name: augmentation.layout(made) for name, made in named.items()} == {name: name for name in named}


def test_a_series_measures_pairs_and_every_operation() -> None:
    wanted = plan.plan("quick").model_copy(update={"repeats": 7, "step_repeats": 2})
    found = list(a_series(2, threads=1).measure(wanted, lambda n: None))
    whole = [(m.variant, m.repeat) for m in found if m.step == CHAIN]
    assert sorted(whole) == sorted((a, r) for a in (DEFAULT, AWARE) for r in range(7))
    assert [a for a, _ in whole][:4] == [DEFAULT, AWARE, AWARE, DEFAULT]
    names = [name for name, _ in augmentation.steps(NUMBERS, "cpu")]
    assert {m.step for m in found if m.variant == DEFAULT} == {CHAIN, *names}
    assert {m.step for m in found if m.variant == AWARE} == {CHAIN, *names, *(COPYING + n for n in names)}
    assert all(m.seconds >= 0 and m.amount == 5 for m in found)


def test_larger_batches_go_over_the_images_several_times_with_other_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_times.vision, "functions", lambda: None)
    wanted = plan.plan("quick").model_copy(update={"batches": (1, 2), "rounds": 3})
    found = list(chain_times.all_series(pixels(), wanted, NUMBERS, CPU, 0))
    amounts = {one.name.split(",")[0]: (one.amount, len(one.batches), len(one.draws)) for one in found}
    assert amounts == {"batch 1": (5, 5, 5), "batch 2": (15, 9, 9)}


class Recorder:
    """Stands for torchvision's functions: notes the calls, and hands the tensor on."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(given: Any, *rest: Any) -> Any:
            self.calls.append((name, rest))
            return torch.from_numpy(given) if isinstance(given, np.ndarray) else given

        return call


def test_torchvision_gets_the_same_numbers() -> None:
    recorder = Recorder()
    draw = a_draw(vertical=True, horizontal=False)
    augmentation.through(pixels(1), draw, chain_times.vision.steps(NUMBERS, recorder), aware=False)
    calls = dict(recorder.calls[:7])
    assert [name for name, _ in recorder.calls] == [
        "to_tensor", "pad", "crop", "vflip", "rotate", "adjust_brightness", "adjust_contrast", "adjust_saturation",
        "adjust_hue", "crop", "rgb_to_grayscale", "normalize",
    ]  # fmt: skip
    assert calls["crop"] == (*draw.first, 32, 32)
    assert calls["rotate"] == (draw.degrees,)
    assert calls["adjust_brightness"] == (draw.brightness,)


def test_torchvisions_arms_compute_the_same() -> None:
    functional = chain_times.vision.functions()
    if functional is None:
        pytest.skip("needs a torchvision that fits the torch")
    worst, _ = a_series(1, steps=chain_times.vision.steps(NUMBERS, functional)).compare()
    assert worst <= results.TOLERANCE


def test_a_torchvision_that_is_not_there_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.setitem(sys.modules, "torchvision.transforms", None)
    assert chain_times.vision.functions() is None


def test_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    with pytest.raises(KeyError), devices.threads(torch, 1):
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == before


# orders


def test_the_geometry_of_all_orders_is_what_torch_makes_of_them() -> None:
    tensor = torch.empty(orders.shape(2))
    for order in permutations(range(6)):
        there = orders.geometry(order, 2)
        permuted = tensor.permute(order)
        assert there.untouched == permuted.is_contiguous() == (permuted.contiguous().data_ptr() == tensor.data_ptr())
        real = [stride for stride, size in zip(permuted.stride(), permuted.shape, strict=True) if size > 1]
        assert there.step == real[-1] * orders.ELEMENT
        assert real[len(real) - 1 - there.place] == 1


def test_geometry_of_known_orders() -> None:
    still = orders.geometry((1, 2, 3, 4, 5, 0), 101)
    assert (still.moved, still.untouched, still.place) == (6, True, 0)
    swap = orders.geometry((0, 5, 2, 3, 4, 1), 10)
    assert (swap.moved, swap.untouched, swap.last_kept, swap.place) == (2, False, False, 4)
    assert (swap.step, swap.reuse) == (4 * 10**4, 64 * 10**4)
    kept = orders.geometry((0, 4, 3, 2, 1, 5), 10)
    assert (kept.moved, kept.last_kept, kept.step, kept.reuse) == (4, True, 4, 0)


def test_an_order_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no order"):
        orders.geometry((0, 1, 1, 2, 3, 4), 3)


def test_every_order_is_there_once_with_those_that_move_the_dimension_of_size_one() -> None:
    found = orders.every()
    assert len(found) == len(set(found)) == 125
    assert sum(orders.geometry(o, 3).untouched for o in found) == 6
    assert sum(not orders.geometry(o, 3).untouched for o in found) == orders.ALL_MOVING


def test_a_sample_has_every_place_and_no_order_twice() -> None:
    found = orders.sample(2, seed=5)
    assert found == orders.sample(2, seed=5)
    assert len(found) == len(set(found)) == 4 + 2 * 5
    assert {orders.geometry(o, 3).place for o in found} == set(range(5))


@given(st.integers(0, 10**12))
def test_the_largest_side_fits_and_the_next_does_not(limit: int) -> None:
    side = orders.side_within(limit)
    assert side == 0 or orders.size(side) <= limit
    assert orders.size(side + 1) > limit


def test_the_printed_tensor_has_42_gigabytes() -> None:
    assert orders.size(plan.printed().side) / 1e9 == pytest.approx(42.04, abs=0.01)


def test_permuted_copies_are_right_and_measured_in_both_ways() -> None:
    series = copy_times.Series(3, orders.sample(1, 0), CPU, 0, untouched_calls=3)
    found = list(series.measure(2, 60.0, lambda n: None))
    times = summary.order_times(found)
    assert {t.order for t in times} == {orders.name(o) for o in orders.sample(1, 0)}
    assert [t.order for t in times if t.placed is None] == ["0 1 2 3 4 5"]
    assert all(t.repeats == 2 for t in times)


def test_a_tensor_that_does_not_fit_is_refused_with_a_size_that_does() -> None:
    with pytest.raises(InputError, match=r"--dimension 101: its tensors take 126 GB, and 2 GB .* try --dimension 44"):
        copy_times.side_that_fits(8 * 10**9, 0.25, 500, 101)
    with pytest.raises(InputError, match="free some memory"):
        copy_times.side_that_fits(1000, 0.25, 500, None)
    with pytest.raises(InputError, match="at least 2"):
        copy_times.side_that_fits(8 * 10**9, 0.25, 500, 1)


def test_the_side_follows_memory_and_settings() -> None:
    assert copy_times.side_that_fits(10**12, 0.25, 500, None) == 41
    assert copy_times.side_that_fits(8 * 10**9, 0.25, 500, 20) == 20
    assert orders.size(copy_times.side_that_fits(10**9, 0.25, 500, None)) * copy_times.COPIES <= 0.25 * 10**9


def test_memory_that_runs_out_all_the_same_is_a_clean_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 42 bytes")

    monkeypatch.setattr(torch, "rand", refuse)
    with pytest.raises(InputError, match="no memory for d = 10: try --dimension 8"):
        list(copy_times.Series(10, orders.sample(1, 0), CPU, 0, 1).measure(1, 1.0, lambda n: None))


# arithmetic


def test_the_printed_times_give_both_printed_percentages() -> None:
    printed = plan.printed()
    ratio = printed.default_seconds / printed.aware_seconds
    assert round(summary.faster(ratio), 1) == 73.9
    assert round(summary.saved(ratio), 1) == 42.5


def test_pairs_are_compared_pair_by_pair() -> None:
    found = [*arm(DEFAULT, [40, 80, 60]), *arm(AWARE, [20, 40, 60]), *arm(DEFAULT, [1], step="crop")]
    (one,) = summary.compared(found, 0.95)
    assert (one.default.value, one.aware.value, one.ratio.value, one.pairs) == (6, 4, 2, 3)
    assert (one.ratio.low, one.ratio.high, one.ratio.confidence) == (1, 2, 0.75)
    assert (one.faster, one.saved) == (100, 50)


def test_a_pass_without_its_partner_is_left_out() -> None:
    (one,) = summary.compared([*arm(DEFAULT, [40, 80]), *arm(AWARE, [20])], 0.95)
    assert one.pairs == 1


@pytest.mark.parametrize(("n", "k", "held"), [(6, 1, 0.96875), (10, 2, 0.978515625), (40, 14, 0.9615226)])
def test_the_interval_of_a_median_has_the_tabled_ranks(n: int, k: int, held: float) -> None:
    found = summary.middle([float(i) for i in range(1, n + 1)], 0.95)
    assert (found.low, found.high, found.value) == (k, n + 1 - k, (n + 1) / 2)
    assert found.confidence == pytest.approx(held)


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=60), st.floats(0.5, 0.99))
def test_the_interval_encloses_the_median(values: list[float], confidence: float) -> None:
    found = summary.middle(values, confidence)
    assert min(values) <= found.low <= found.value <= found.high <= max(values)


def test_no_median_of_nothing() -> None:
    with pytest.raises(ValueError, match="nothing"):
        summary.middle([], 0.95)


def test_steps_stand_beside_their_copies() -> None:
    found = [
        *arm(DEFAULT, [30, 20], "crop"),
        *arm(AWARE, [10, 15], "crop"),
        *arm(AWARE, [7, 5], COPYING + "crop"),
        *arm(DEFAULT, [99, 99]),
        *arm(AWARE, [99, 99]),
    ]
    (step,) = summary.step_times(found)
    assert (step.step, step.default, step.aware, step.copying) == ("crop", 2, 1, 0.5)


def test_orders_are_set_beside_a_plain_copy() -> None:
    found = [
        *copies(YARDSTICK, [2, 4], [1, 1]),
        *copies("0 5 2 3 4 1", [9, 8], [4, 5]),
        *copies("1 0 2 3 4 5", [1e-6], []),
    ]
    moved, still = summary.order_times(found)
    assert (moved.fresh, moved.fresh_median, moved.fresh_most, moved.placed) == (8, 8.5, 9, 4)
    assert (moved.share_fresh, moved.share_placed, moved.geometry.place) == (0.25, 0.25, 4)
    assert (still.placed, still.geometry.untouched) == (None, True)
    (plain,) = summary.yardsticks(found)
    assert plain.bandwidth_placed == pytest.approx(2 * 25**5 * 4 / 1e9)


def test_shares_of_variance_by_hand() -> None:
    share, adjusted = summary.r_squared([1, 3, 5, 7], ["a", "a", "b", "b"])
    assert share == pytest.approx(16 / 20)
    assert adjusted == pytest.approx(1 - 0.2 * 3 / 2)
    assert summary.r_squared([1, 2], ["a", "b"]) == (1.0, None)
    assert summary.r_squared([2, 2], ["a", "b"]) == (1.0, None)
    assert summary.r_squared([], []) == (0.0, None)


# words


@pytest.mark.parametrize(
    ("default", "aware", "said"),
    [
        (2.0, 1.0, "is 100.0 % faster, or saves 50.0 %"),
        (1.0, 2.0, "is slower: it takes 100.0 % more time"),
    ],
)
def test_the_finding_follows_the_numbers(default: float, aware: float, said: str) -> None:
    (one,) = summary.compared([*arm(DEFAULT, [default] * 6), *arm(AWARE, [aware] * 6)], 0.95)
    assert said in sentences.on_arms(one, plan.printed())


def test_no_difference_is_said_where_the_interval_holds_one() -> None:
    (one,) = summary.compared([*arm(DEFAULT, [4, 5, 4, 5, 4, 5]), *arm(AWARE, [5, 4, 5, 4, 5, 4])], 0.95)
    text = sentences.on_arms(one, plan.printed())
    assert "no difference" in text
    assert "above this interval" in text
    said = sentences.on_augmentation([one], plan.printed())
    assert "of 1 series, 0 show staying contiguous to be faster than the default, 0 slower, 1 no difference." in said


def test_an_interval_that_holds_everything_decides_nothing() -> None:
    (one,) = summary.compared([*arm(DEFAULT, [1, 2, 1, 2, 1, 2]), *arm(AWARE, [2, 1, 2, 1, 2, 1])], 0.95)
    assert "too disturbed" in sentences.on_arms(one, plan.printed())
    said = sentences.on_augmentation([one], plan.printed())
    assert said.endswith("0 no difference, 1 unclear. The printed 73.9 % lies within the interval of 0.")


def test_operations_that_get_the_same_in_both_arms_bound_what_can_be_saved() -> None:
    found = [
        *arm(DEFAULT, [10.0] * 6),
        *arm(AWARE, [9.0] * 6),
        *(
            m
            for n, d in (("to tensor", 0.5), ("rotation", 3.5), ("jitter", 6.0))
            for m in arm(DEFAULT, [d], n) + arm(AWARE, [d / 2], n)
        ),
    ]
    (one,) = summary.compared(found, 0.95)
    steps = summary.step_times(found)
    text = sentences.on_steps(one, steps, {"rotation": "contiguous", "jitter": "contiguous"}, plan.printed())
    assert "To tensor and jitter get a contiguous tensor" in text
    assert "could not save more than 35%, less than the printed 42.5 %" in text


def test_the_order_is_set_against_the_number() -> None:
    found = [
        *copies(YARDSTICK, [1], [1]),
        *copies("0 2 1 3 4 5", [1], [1]),
        *copies("0 5 2 3 4 1", [4], [1]),
        *copies("0 2 3 1 4 5", [2], [1]),
    ]
    text = sentences.on_permutation(summary.order_times(found))
    assert "that move 2 dimensions the slowest takes 4 times as long" in text
    assert "differ by a factor of 1.2" in text
    assert "that moves 2 takes 4 s, the quickest that moves 3 2 s" in text


def test_repeats_that_do_not_agree_explain_nothing() -> None:
    steady = [*copies(YARDSTICK, [1, 1], [1, 1])]
    noisy = list(steady)
    for place, order in enumerate(orders.sample(3, 0)[1:], start=1):
        steady += copies(orders.name(order), [place, place + 0.01], [place, place])
        noisy += copies(orders.name(order), [1 + place % 2, 2 - place % 2], [1, 1])
    assert {e.repeatable > 0.99 for e in summary.explained(steady) if e.step == FRESH} == {True}
    shaky = [e for e in summary.explained(noisy) if e.step == FRESH]
    assert {e.repeatable < 0.1 for e in shaky} == {True}
    assert "too busy" in sentences.on_explanations(shaky)
    assert "The number explains" in sentences.on_explanations(summary.explained(steady))


def test_disturbed_operations_explain_nothing() -> None:
    found = [*arm(DEFAULT, [1.0] * 6), *arm(AWARE, [1.0] * 6), *arm(DEFAULT, [9.0], "crop"), *arm(AWARE, [9.0], "crop")]
    (one,) = summary.compared(found, 0.95)
    assert "explain nothing" in sentences.on_steps(one, summary.step_times(found), {}, plan.printed())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(53.0, "53 s"), (0.0123, "12.3 ms"), (4.2e-7, "0.42 µs"), (1.234e-5, "12.3 µs"), (4321.0, "4,321 s")],
)
def test_times_are_readable(seconds: float, text: str) -> None:
    assert sentences.time_text(seconds) == text


def test_sizes_are_readable() -> None:
    assert [sentences.bytes_text(n) for n in (64, 1600, 25e6, 42.04e9)] == ["64 B", "1.6 kB", "25 MB", "42 GB"]


def test_arms_that_differ_are_told() -> None:
    found = [*arm(DEFAULT, [1.0] * 6), *arm(AWARE, [1.0] * 6)]
    said = results.results(found, facts(differences={("cpu", "batch 1"): 0.5})).finding
    assert any("differ by up to 0.5" in line for line in said)
    said = results.results(found, facts(differences={("cpu", "batch 1"): float("nan")})).finding
    assert any("not the same work" in line for line in said)


# images


def batch_file(path: Path, count: int, label: int = 3) -> np.ndarray:
    records = np.random.default_rng(1).integers(0, 256, (count, images.RECORD), dtype=np.uint8)
    records[:, 0] = label
    records.tofile(path)
    return records


def test_binary_batches_are_read_as_height_width_channel(tmp_path: Path) -> None:
    records = batch_file(tmp_path / "data_batch_1.bin", 4)
    found, told = images.load(tmp_path / "data_batch_1.bin", 3, 0)
    assert found.shape == (3, 32, 32, 3)
    assert found.flags["C_CONTIGUOUS"]
    assert found[1, 2, 5].tolist() == [records[1, 1 + 1024 * c + 32 * 2 + 5] for c in range(3)]
    assert told == "3 images of CIFAR-10's binary files"


def test_a_folder_gives_its_batches_in_order(tmp_path: Path) -> None:
    first = batch_file(tmp_path / "data_batch_1.bin", 2)
    batch_file(tmp_path / "data_batch_2.bin", 2)
    (tmp_path / "data_batch_3.bin").write_bytes(b"not needed, so not read")
    found, _ = images.load(tmp_path, 4, 0)
    assert len(found) == 4
    assert found[0, 0, 0, 0] == first[0, 1]


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_plain_arrays_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    (np.save if suffix == "npy" else np.savez)(path, images.made(3, 0))
    found, told = images.load(path, 2, 0)
    assert found.tolist() == images.made(3, 0)[:2].tolist()
    assert told == "2 images of an array file"


def pickled() -> bytes:
    made = BytesIO()
    np.save(made, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return made.getvalue()


def array(shape: tuple[int, ...], kind: str = "uint8") -> bytes:
    made = BytesIO()
    np.save(made, np.zeros(shape, dtype=kind))
    return made.getvalue()


def packed(**arrays: np.ndarray) -> bytes:
    made = BytesIO()
    np.savez(made, **arrays)
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("data_batch_1", b"\x80\x04.", "pickled file would execute"),
        ("a.pkl", b"\x80\x04.", "pickled file would execute"),
        ("a.bin", b"\x00" * 3074, "no whole number"),
        ("a.bin", b"\x0a" + b"\x00" * 3072, "label 10"),
        ("a.bin", b"", "no image"),
        ("a.npy", b"", "no plain array"),
        ("a.npy", b"\x80\x04.", "no plain array"),
        ("a.npy", pickled(), "no plain array"),
        ("a.npy", array((2, 3, 32, 32)), "uint8 in"),
        ("a.npy", array((2, 32, 32, 3), "float32"), "float32 in"),
        ("a.npy", array((0, 32, 32, 3)), "no image"),
        ("a.npy", array((2, 32, 32, 3))[:-5], "no plain array"),
        ("a.npy", packed(a=images.made(1, 0)), "no array in"),
        ("a.npz", b"PK\x03\x04broken", "no plain array"),
        ("a.npz", packed(a=images.made(1, 0), b=images.made(1, 0)), "one array"),
        ("a.npz", packed(a=images.made(1, 0))[:-40], "no plain array"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        images.load(path, 5, 0)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "binary version" in str(caught.value)


def test_a_folder_without_batches_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no data_batch"):
        images.load(tmp_path, 5, 0)
    for name in ("none.bin", "none"):
        with pytest.raises(InputError, match="no such file"):
            images.load(tmp_path / name, 5, 0)


def test_an_array_that_claims_more_than_it_may_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "LARGEST", 100)
    path = tmp_path / "a.npz"
    path.write_bytes(packed(a=images.made(1, 0)))
    with pytest.raises(InputError, match="at most"):
        images.load(path, 1, 0)


@given(st.binary(max_size=300), st.sampled_from(["bin", "npy", "npz"]))
@settings(max_examples=example_count(80))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, content: bytes, suffix: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError):
        images.load(path, 2, 0)


def test_made_images_are_smooth_and_seeded() -> None:
    found = images.made(2, 4)
    assert found.shape == (2, 32, 32, 3)
    assert found.dtype == np.uint8
    assert (found == images.made(2, 4)).all()
    assert np.abs(np.diff(found.astype(int), axis=1)).mean() < np.abs(found.astype(int) - 127).mean()


# devices and machine


def fake_torch(*, cuda: bool = False, mps: bool = False) -> Any:
    calls: list[str] = []
    return SimpleNamespace(
        calls=calls,
        cuda=SimpleNamespace(
            is_available=lambda: cuda,
            synchronize=lambda: calls.append("cuda"),
            mem_get_info=lambda: (10, 20),
        ),
        mps=SimpleNamespace(
            synchronize=lambda: calls.append("mps"),
            recommended_max_memory=lambda: 70,
            driver_allocated_memory=lambda: 20,
        ),
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps)),
    )


def test_all_present_devices_are_taken_and_waited_for() -> None:
    fake = fake_torch(cuda=True, mps=True)
    found = devices.choose(fake, None)
    assert [one.name for one in found] == ["cpu", "cuda", "mps"]
    for one in found:
        one.now()
    assert fake.calls == ["cuda", "mps"]


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="'cuda' is not usable here: this torch can use cpu"):
        devices.choose(fake_torch(), ["cuda"])
    with pytest.raises(InputError, match="'abacus' is no device"):
        devices.choose(fake_torch(cuda=True), ["abacus"])


def test_free_memory_is_that_of_the_device() -> None:
    fake = fake_torch(cuda=True, mps=True)
    assert [devices.free_bytes(fake, name, 1000) for name in devices.KNOWN] == [1000, 10, 50]


def test_rounds_end_early_only_after_the_least() -> None:
    assert list(devices.rounds(9, 2, -1.0)) == [0, 1]
    assert list(devices.rounds(3, 2, 60.0)) == [0, 1, 2]


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"torch-embers\[study\]"):
        run.run(tmp_path)


def test_the_machine_is_described_without_names_or_paths() -> None:
    import platform

    found = machine.describe(torch, ("cpu",))
    assert {"processor", "cores", "threads", "memory_gb", "system", "torch", "capability"} <= set(found)
    assert platform.node() not in map(str, found.values())
    assert not any("/home" in str(value) or str(Path.cwd()) in str(value) for value in found.values())


def test_a_containers_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = tmp_path / "meminfo"
    memory.write_text("MemTotal: 1000 kB\nMemAvailable:    500 kB\n")
    (tmp_path / "memory.max").write_text("300000\n")
    (tmp_path / "memory.current").write_text("100000\n")
    monkeypatch.setattr(machine, "MEMORY", memory)
    monkeypatch.setattr(machine, "GROUP", tmp_path)
    assert (machine.free_bytes(), machine.total_bytes()) == (200_000, 1_024_000)
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.free_bytes() == 512_000


# settings


def test_every_setting_has_a_reason() -> None:
    from torch_embers import resources

    for section in resources.load_toml(plan.DEFINITIONS).values():
        assert all(len(entry["reason"]) > 10 for entry in section.values())


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(InputError, match="no settings 'slow'"):
        plan.plan("slow")


def test_an_incomplete_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan.resources, "load_toml", lambda name: {"settings": {}})
    with pytest.raises(InputError, match=r"data/experiments\.toml: settings: images: Field required"):
        plan.plan()


# the whole


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Heard(run.Silent):
    def __init__(self) -> None:
        self.total: int | None = None
        self.done = 0
        self.lines: list[str] = []

    def expects(self, total: int | None) -> None:
        self.total = total

    def advanced(self, count: int) -> None:
        self.done += count

    def said(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"batches": (1, 2), "rounds": 1, "step_repeats": 1, "untouched_calls": 2, "series_seconds": 600.0}
    small = plan.plan("quick").model_copy(update=changes)
    monkeypatch.setattr(plan, "plan", lambda profile="default": small)
    monkeypatch.setattr(chain_times, "thread_counts", lambda device: (1,))
    monkeypatch.setattr(chain_times.vision, "functions", lambda: None)


@pytest.mark.usefixtures("tiny")
def test_a_run_writes_every_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_embers.study.experiments.pictures.write", lambda *_: ())
    heard = Heard()
    out = tmp_path / "new" / "results"
    found = run.run(out, count=3, repeats=2, dimension=3, devices=["cpu"], profile="quick", progress=heard)
    names = {f"figure_{n}{tail}" for n in (8, 9) for tail in (".csv", "_raw.csv")}
    names |= {"figure_8_steps.csv", "figure_9_explained.csv", "experiments.json"}
    assert {path.name for path in out.iterdir()} == names
    assert heard.done == heard.total
    assert len(heard.lines) == 3
    told = json.loads((out / "experiments.json").read_text(encoding="utf-8"))
    assert told["images"].endswith("not CIFAR-10")
    assert max(told["arms_differ_by"].values()) <= results.TOLERANCE
    assert told["machine"]["torch"] == torch.__version__
    assert told["settings"]["images"] == 3
    assert any("always non-contiguous is false" in line for line in told["finding"])
    assert any("d = 16 is left out" in line for line in told["notes"])
    assert any("torchvision is not installed" in line for line in told["notes"])
    assert len(rows(out / "figure_8_raw.csv")) + len(rows(out / "figure_9_raw.csv")) == len(found)
    assert {row["series"] for row in rows(out / "figure_8.csv")} == {"batch 1, 1 thread", "batch 2, 1 thread"}
    assert len(rows(out / "figure_9.csv")) == 125


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_a_run_draws_both_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run.run(tmp_path, count=3, repeats=2, dimension=3, devices=["cpu"], profile="quick")
    for name in ("figure_8", "figure_9"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_an_interruption_leaves_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(copy_times.Series, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.run(tmp_path, count=2, repeats=2, dimension=3, devices=["cpu"], profile="quick")
    assert {"figure_8.csv", "figure_8_raw.csv", "experiments.json"} <= {path.name for path in tmp_path.iterdir()}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("option", "said"), [({"count": 0}, "--count 0"), ({"repeats": 0}, "--repeats 0")])
def test_impossible_options_are_refused(tmp_path: Path, option: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        run.run(tmp_path, **option)


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--out"):
        results.write(tmp_path / "file" / "under", [], results.results([], facts()), facts())
