"""What printed numbers alone give away: impossible percentages, wholes that fit, sums, intervals, copies."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.statistics.intervals import wilson
from torch_embers.study.claims import consistency, geometry
from torch_embers.study.claims.consistency import counts, printed, wholes

MEMORY_TYPES = [printed(p) for p in (30.2, 20.9, 14, 11.6, 4.7)]
SHAPE = (1, 101, 101, 101, 101, 101)


@st.composite
def shares(draw: st.DrawFn) -> tuple[int, int, int]:
    """A count, the number that it is of, and a number of decimals."""
    n = draw(st.integers(1, 300))
    return draw(st.integers(0, n)), n, draw(st.integers(0, 2))


def rounded(k: int, n: int, decimals: int) -> float:
    return float(round(Fraction(100 * k, n), decimals))


@given(shares())
def test_a_percentage_that_was_printed_from_a_count_is_never_called_impossible(share: tuple[int, int, int]) -> None:
    k, n, decimals = share
    assert k in counts(printed(rounded(k, n, decimals), decimals), n)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4), st.integers(60, 90))
def test_the_true_whole_is_among_those_that_fit_all_percentages(found: list[int], n: int) -> None:
    fitting = wholes([printed(rounded(k, n, 1), 1) for k in found], 100)
    assert n in [w.n for w in fitting]


@given(shares())
def test_every_count_that_fits_rounds_to_the_printed_percentage(share: tuple[int, int, int]) -> None:
    k, n, decimals = share
    shown = printed(rounded(k, n, decimals), decimals)
    half = Fraction(1, 2 * 10**decimals)
    assert all(abs(Fraction(100 * c, n) - shown.value) <= half for c in counts(shown, n))


@pytest.mark.parametrize("percent", [48.4, 22.6, 10.8, 30.2])
def test_no_count_of_73_bugs_gives_these_shares(percent: float) -> None:
    assert counts(printed(percent), 73) == []


def test_the_three_shares_of_figure_3_fit_45_21_and_10_of_93_alone() -> None:
    assert wholes([printed(48.4), printed(22.6), printed(10.8)], 100) == [(93, (45, 21, 10))]


def test_the_shares_of_memory_types_fit_43_bugs_and_nothing_else_below_its_double() -> None:
    assert wholes(MEMORY_TYPES, 85) == [(43, (13, 9, 6, 5, 2))]


def test_the_rest_of_the_memory_types_fits_no_number_of_bugs() -> None:
    assert wholes([*MEMORY_TYPES, printed(9.2)], 500)[:1] == []
    assert counts(printed(9.3), 43) == [4]


def test_the_shares_of_figure_7_fit_9_18_and_27_bugs_but_not_29() -> None:
    assert [w.n for w in wholes([printed(44), printed(22), printed(11)], 29)] == [9, 18, 27]


def test_decimals_are_those_that_are_written() -> None:
    assert [printed(v).decimals for v in (14, 48.4, 0.00005)] == [0, 1, 5]
    assert printed(2.1, 2).half_unit == Fraction(1, 200)


def test_a_share_of_nothing_has_no_count() -> None:
    assert counts(printed(50), 0) == []


def test_rounded_parts_may_miss_the_whole_by_their_rounding_only() -> None:
    parts = [printed(p) for p in (44, 22, 11, 11, 11)]
    assert consistency.sums_to(parts, Fraction(100))
    assert not consistency.sums_to(parts[:3], Fraction(100))


def test_parts_that_are_more_than_their_whole_do_not_fit() -> None:
    assert not consistency.fits_into([printed(2), printed(5), printed(5)], Fraction(9))
    assert consistency.fits_into([printed(7), printed(4)], Fraction(20))


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    # R. G. Newcombe, Statistics in Medicine 17, 1998, table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_published_intervals(k: int, n: int, low: float, high: float) -> None:
    assert wilson(k, n) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_stays_within_0_and_1_and_mirrors(share: tuple[int, int]) -> None:
    k, n = share
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1
    assert wilson(n - k, n) == (pytest.approx(1 - high), pytest.approx(1 - low))


@pytest.mark.parametrize(("k", "n", "confidence"), [(0, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (1, 5, 1.0)])
def test_wilson_refuses_what_is_no_share(k: int, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="no interval"):
        wilson(k, n, confidence)


def contiguous_by_strides(shape: tuple[int, ...], order: tuple[int, ...]) -> bool:
    strides = [prod(shape[d + 1 :]) for d in range(len(shape))]
    expected = 1
    for d in reversed(order):
        if shape[d] != 1:
            if strides[d] != expected:
                return False
            expected *= shape[d]
    return True


@pytest.mark.parametrize("shape", [(1, 3, 3, 3), (2, 1, 4, 1), (1, 1, 1), (5,)])
def test_contiguity_after_a_permutation_is_what_the_strides_say(shape: tuple[int, ...]) -> None:
    for order in permutations(range(len(shape))):
        assert geometry.stays_contiguous(shape, order) == contiguous_by_strides(shape, order)


def test_contiguity_after_a_permutation_is_what_pytorch_says() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.empty(1, 2, 3, 1, 2)
    for order in permutations(range(5)):
        assert geometry.stays_contiguous(tensor.shape, order) == tensor.permute(order).is_contiguous()


def test_one_swap_of_the_measured_shape_copies_nothing() -> None:
    assert geometry.swaps(SHAPE) == (1, 15)
    assert geometry.stays_contiguous(SHAPE, (1, 0, 2, 3, 4, 5))


def test_the_measured_tensor_is_42_gigabytes_and_takes_most_of_a_second_to_copy() -> None:
    assert geometry.gigabytes(SHAPE, 4) == pytest.approx(42.04, abs=0.005)
    assert geometry.fastest_copy(SHAPE, 4, 115.2) == pytest.approx(0.73, abs=0.005)


def test_an_order_that_misses_a_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="no order of 2 dimensions"):
        geometry.stays_contiguous((2, 3), (0, 0))
