"""What printed numbers alone give away: impossible percentages, wholes that fit, sums, intervals, copies."""

from __future__ import annotations

from fractions import Fraction

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


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4), st.integers(60, 90))
def test_the_true_whole_is_among_those_that_fit_all_percentages(found: list[int], n: int) -> None:
    fitting = wholes([printed(rounded(k, n, 1), 1) for k in found], 100)
    assert n in [w.n for w in fitting]


@given(shares())
def test_the_count_behind_a_percentage_fits_and_all_that_fit_round_to_it(
    share: tuple[int, int, int],
) -> None:
    k, n, decimals = share
    shown = printed(rounded(k, n, decimals), decimals)
    half = Fraction(1, 2 * 10**decimals)
    assert k in counts(shown, n)
    assert all(abs(Fraction(100 * c, n) - shown.value) <= half for c in counts(shown, n))


def test_wholes_of_the_shares_that_the_paper_prints() -> None:
    assert wholes([printed(48.4), printed(22.6), printed(10.8)], 100) == [(93, (45, 21, 10))]
    assert wholes(MEMORY_TYPES, 85) == [(43, (13, 9, 6, 5, 2))]
    assert wholes([*MEMORY_TYPES, printed(9.2)], 500) == []
    assert [w.n for w in wholes([printed(44), printed(22), printed(11)], 29)] == [9, 18, 27]
    assert [counts(printed(percent), 73) for percent in (48.4, 22.6, 10.8, 30.2)] == [[]] * 4
    assert counts(printed(9.3), 43) == [4]
    assert counts(printed(50), 0) == []


def test_decimals_are_those_that_are_written() -> None:
    assert [printed(v).decimals for v in (14, 48.4, 0.00005)] == [0, 1, 5]
    assert printed(2.1, 2).half_unit == Fraction(1, 200)


def test_rounded_parts_may_miss_the_whole_by_their_rounding_only_and_be_no_more_than_it() -> None:
    parts = [printed(p) for p in (44, 22, 11, 11, 11)]
    assert consistency.sums_to(parts, Fraction(100))
    assert not consistency.sums_to(parts[:3], Fraction(100))
    assert not consistency.fits_into([printed(2), printed(5), printed(5)], Fraction(9))
    assert consistency.fits_into([printed(7), printed(4)], Fraction(20))


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


def test_one_swap_of_the_measured_42_gigabytes_copies_nothing_and_the_others_take_most_of_a_second() -> None:
    assert geometry.swaps(SHAPE) == (1, 15)
    assert geometry.gigabytes(SHAPE, 4) == pytest.approx(42.04, abs=0.005)
    assert geometry.fastest_copy(SHAPE, 4, 115.2) == pytest.approx(0.73, abs=0.005)


def test_an_order_that_misses_a_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="no order of 2 dimensions"):
        geometry.stays_contiguous((2, 3), (0, 0))
