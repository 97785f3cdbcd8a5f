"""Statistics of the study, against worked examples from print, SciPy, and hand-computed cases."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers.classify import confusions
from torch_embers.classify.confusions import Confusion
from torch_embers.errors import InputError
from torch_embers.statistics import agreement, trend
from torch_embers.statistics.corrections import holm
from torch_embers.statistics.insufficient import InsufficientData
from torch_embers.statistics.intervals import newcombe, wilson
from torch_embers.statistics.metrics import Interval
from torch_embers.statistics.trend import ShareTrend
from torch_embers.statistics.turnbull import Span, Turnbull, turnbull
from torch_embers.study import prevalence
from torch_embers.study.prevalence import Prevalence

if TYPE_CHECKING:
    from collections.abc import Sequence


def matrix(counts: Sequence[Sequence[float]], names: str = "") -> Confusion:
    classes = tuple(names.split() or [f"c{place}" for place in range(len(counts))])
    return Confusion("bug_type", classes, tuple(map(tuple, counts)))


# Remission of leukaemia in weeks with 6-MP (Freireich et al., Blood 21, 1963; Klein and Moeschberger 2003).
TREATED = ([6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], [True] * 9 + [False] * 12)
# Cosmetic deterioration of the breast after radiotherapy, in months (Finkelstein and Wolfe, Biometrics 41, 1985).
RADIOTHERAPY = (
    "45- 6,10 0,7 46- 46- 7,16 17- 7,14 37,44 0,8 4,11 15- 11,15 22- 46- 46- 25,37 46- 26,40 46- 27,34 36,44 46- 36,48 37- "
    "40- 17,25 46- 11,18 38- 5,12 37- 0,5 18- 24- 36- 5,11 19,35 17,25 24- 32- 33- 19,26 37- 34- 36-"
)
seen = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12), st.booleans()), min_size=1, max_size=25)


def intervals_of(text: str) -> tuple[list[float], list[float | None]]:
    """Ends as "low,high", or "low-" where none was seen."""
    pairs = [word.rstrip("-").split(",") for word in text.split()]
    return [float(pair[0]) for pair in pairs], [float(pair[1]) if len(pair) > 1 else None for pair in pairs]


def estimated(low: Sequence[float], high: Sequence[float | None], **options: Any) -> Turnbull:
    found = turnbull(low, high, **({"samples": 20} | options))
    assert isinstance(found, Turnbull)
    return found


# ---- survival


def test_the_published_estimate_of_interval_censored_ends_is_reproduced() -> None:
    found = estimated(*intervals_of(RADIOTHERAPY))
    # as R's package `interval` prints it for this trial
    printed = {(4, 5): 0.0463, (6, 7): 0.0334, (7, 8): 0.0887, (11, 12): 0.0708, (24, 25): 0.0926, (33, 34): 0.0818}
    printed |= {(38, 40): 0.1209, (46, 48): 0.4656}
    assert {(s.low, s.high): round(m, 4) for s, m in zip(found.spans, found.mass, strict=True)} == printed
    assert (found.items, found.events, found.median) == (46, 21, Span(38, 40))
    assert sum(found.mass) == pytest.approx(1)


def test_exact_ends_with_right_censoring_give_the_kaplan_meier_curve() -> None:
    days, ended = TREATED
    found = estimated([float(day) for day in days], [float(d) if e else None for d, e in zip(days, ended, strict=True)])
    # Klein and Moeschberger, table 4.1A
    printed = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert {day: round(found.bounds(day + 0.5)[1], 3) for day in printed} == pytest.approx(printed, abs=1e-3)
    assert found.median == Span(23, 23)


def test_nothing_is_known_inside_an_interval_and_of_a_median_that_is_never_reached() -> None:
    found = estimated([10.0] * 8, [20.0] * 8)
    assert [found.bounds(day) for day in (10, 15, 20)] == [(1, 1), (0, 1), (0, 0)]
    assert (found.median, found.low, found.high) == (Span(10, 20), 10, 20)
    never = estimated([5.0] * 6 + [50.0] * 30, [9.0] * 6 + [None] * 30)
    assert (never.median, never.high, never.spans[-1]) == (None, None, Span(50, None))


@settings(max_examples=example_count(60))
@given(seen)
def test_no_shift_of_probability_makes_the_ends_more_likely(items: list[tuple[int, int, bool]]) -> None:
    low = [float(day) for day, _, _ in items]
    high = [float(day + width) if ended else None for day, width, ended in items]
    found = turnbull(low, high, least=1, samples=1)
    if not isinstance(found, Turnbull):
        assert str(found) == f"0 of {len(items)} ended, 1 are needed"
        return
    tops = [math.inf if end is None else end for end in high]
    likely = [found.bounds(a)[1] - (found.bounds(b)[1] if b < math.inf else 0) for a, b in zip(low, tops, strict=True)]
    assert min(likely) > 0
    for moment in {*tops, *(end + 0.5 for end in low)}:  # probability moved there would gain less than it costs
        gain = sum(1 / p for a, b, p in zip(low, tops, likely, strict=True) if a < moment <= b)
        assert gain <= len(items) * (1 + 1e-5)


def test_too_few_ends_are_refused_as_data() -> None:
    found = turnbull([5.0] * 40, [6.0] * 5 + [None] * 35)
    assert str(found) == "5 of 40 ended, 6 are needed"
    assert isinstance(turnbull([], [], least=0), InsufficientData)


@pytest.mark.parametrize(
    ("low", "high"),
    [([1.0], []), ([-1.0], [1.0]), ([math.nan], [1.0]), ([1.0], [math.nan]), ([math.inf], [None]), ([2.0], [1.0])],
)
def test_times_that_are_none_are_errors(low: list[float], high: list[float | None]) -> None:
    with pytest.raises(InputError):
        turnbull(low, high)


@pytest.mark.parametrize(
    ("found", "low", "high"),
    [
        (wilson(0, 15, 0.95), 0.0, 0.20388330103584862),
        (wilson(29, 46, 0.95), 0.48600096423389705, 0.7547624540916037),
        (wilson(263, 287, 0.9), 0.8854550172069253, 0.9395205671414293),
        (wilson(73, 73, 0.99), 0.916683553514702, 1.0),
        (newcombe(56, 70, 48, 80, 0.95), 0.05243147240236498, 0.333872654036906),
        (newcombe(0, 10, 0, 20, 0.95), -0.16112515805281938, 0.2775327998628892),
        (newcombe(10, 10, 0, 10, 0.99), 0.43593513184017507, 1.0),
    ],
)
def test_intervals_are_those_of_statsmodels(found: tuple[float, float], low: float, high: float) -> None:
    assert found == pytest.approx((low, high), abs=1e-12)


def test_holm_gives_the_known_values() -> None:
    # as p.adjust of R gives them
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, 0.04, 0.03, 0.005, 0.03]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.09])  # statsmodels 0.15.0
    assert holm([]) == []
    with pytest.raises(ValueError, match="between"):
        holm([1.5])


@given(st.floats(0.55, 1), st.floats(0.55, 1), st.floats(0, 1))
def test_two_classes_give_rogan_and_gladens_clipped_estimate(found: float, spared: float, seen_share: float) -> None:
    rates = np.array([[found, 1 - found], [1 - spared, spared]])
    estimate = (seen_share + spared - 1) / (found + spared - 1)
    shares = prevalence.solve(rates, np.array([seen_share, 1 - seen_share]))
    assert shares == pytest.approx([min(1, max(0, estimate)), 1 - min(1, max(0, estimate))], abs=1e-7)


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    size = draw(st.integers(2, 5))
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rates = chance.dirichlet(np.ones(size), size) + draw(st.sampled_from([0.3, 1, 5])) * np.eye(size)
    return rates / rates.sum(axis=1, keepdims=True), chance.dirichlet(np.full(size, draw(st.sampled_from([0.2, 1]))))


@given(problems())
@settings(max_examples=example_count(40))
def test_the_solution_is_the_best_of_the_simplex(problem: tuple[np.ndarray, np.ndarray]) -> None:
    rates, observed = problem
    shares = prevalence.solve(rates, observed)
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    # at the best point no corner of the simplex lies downhill
    slope = 2 * rates @ (rates.T @ shares - observed)
    assert (slope >= slope @ shares - 1e-8).all()


@given(problems())
@settings(max_examples=example_count(40))
def test_expected_answers_give_the_true_shares_back(problem: tuple[np.ndarray, np.ndarray]) -> None:
    rates, truth = problem
    if np.linalg.cond(rates) < 100:
        assert prevalence.solve(rates, rates.T @ truth) == pytest.approx(truth, abs=1e-6)


def test_the_correction_undoes_a_known_error() -> None:
    # 1,000 items, 200 of them a; of a 80 % are found, of b 10 % are called a: 160 + 80 = 240 are called a
    found = prevalence.correct(matrix([[800, 200], [100, 900]], "a b"), {"a": 240, "b": 760})
    assert isinstance(found, Prevalence)
    first = found.shares[0]
    assert (first.name, first.predicted) == ("a", 240)
    assert first.raw.value == 0.24
    assert (first.raw.low, first.raw.high) == wilson(240, 1000)
    assert first.corrected.value == pytest.approx(0.2, abs=1e-3)
    assert first.corrected.low < 0.2 < first.corrected.high
    assert sum(share.corrected.value for share in found.shares) == pytest.approx(1)
    assert prevalence.correct(matrix([[800, 200], [100, 900]], "a b"), {"a": 240, "b": 760}) == found


def test_classes_with_little_gold_or_never_recognised_become_the_rest() -> None:
    counts = [[40.0, 5.0, 5.0, 0.0], [5.0, 40.0, 5.0, 0.0], [7.0, 7.0, 1.0, 0.0], [0.0, 0.0, 0.0, 9.0]]
    found = prevalence.correct(matrix(counts, "a b blind rare"), {"a": 50, "b": 50, "blind": 10, "rare": 5})
    assert isinstance(found, Prevalence)
    assert [share.name for share in found.shares] == ["a", "b", "rest"]
    assert found.merged == (("blind", "7% recognised"), ("rare", "9 gold items"))
    assert found.shares[-1].predicted == 15


@pytest.mark.parametrize(
    ("counts", "predicted", "reason"),
    [
        ([[20.0, 0], [0, 20]], {"c0": 3}, "3 predictions, 100 are needed"),
        ([[20.0, 0], [0, 20]], {}, "0 predictions"),
        ([[20.0, 0], [0, 20]], {"c0": 40, "new": 1}, "no gold for the predicted new"),
        ([[20.0, 20], [20, 20]], {"c0": 400}, "told apart|near singular"),
        ([[4.0, 0], [0, 4]], {"c0": 400}, "told apart"),
    ],
)
def test_what_cannot_be_corrected_is_refused_as_data(
    counts: list[list[float]], predicted: dict[str, int], reason: str
) -> None:
    found = prevalence.correct(matrix(counts), predicted)
    assert isinstance(found, InsufficientData)
    assert re.search(reason, found.reason)


def test_the_shipped_classifier_has_a_matrix_of_each_scheme_that_is_corrected() -> None:
    for scheme in confusions.SCHEMES:
        found = confusions.load(scheme)
        assert {len(found.classes)} == {len(found.matrix), *map(len, found.matrix)}
        assert sum(map(sum, found.matrix)) > 300
    with pytest.raises(InputError, match="knows nothing of 'backend'"):
        confusions.load("backend")


# ---- agreement

# Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, section C: 4 observers, 12 units, gaps.
RELIABILITY = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


def said(table: tuple[str, ...]) -> list[tuple[str, int, str]]:
    return [
        (f"annotator {number}", item, value)
        for number, row in enumerate(table)
        for item, value in enumerate(row.split())
        if value != "."
    ]


def test_alpha_of_the_published_example_is_reproduced() -> None:
    found = agreement.alpha(said(RELIABILITY))
    assert isinstance(found, Interval)
    assert found.value == pytest.approx(0.743, abs=5e-4)
    assert found.low < found.value < found.high <= 1


def test_each_scheme_gets_its_pairs_and_one_number() -> None:
    table = [("type", *row) for row in said(RELIABILITY)] + [("thin", "annotator 0", 1, "a")]
    thin, found = agreement.by_scheme(table, least=9)
    assert (found.scheme, found.items, len(found.annotators)) == ("type", 11, 4)
    assert {(pair.one, pair.other) for pair in found.pairs} >= {("annotator 0", "annotator 1")}
    assert isinstance(found.alpha, Interval)
    assert thin.alpha == InsufficientData("0 items with two or more labels, 9 are needed")
    assert agreement.alpha(said(("a a", "a a")), least=1) == InsufficientData("all labels are the same class")


# ---- trend


def test_a_trend_of_too_few_items_is_insufficient() -> None:
    assert isinstance(trend.share_trend([1, 2], [5, 5]), InsufficientData)
    assert isinstance(trend.share_trend([9] * 6, [9] * 6), InsufficientData)
    with pytest.raises(InputError):
        trend.share_trend([3], [2])


def test_the_published_trends_of_shares_are_reproduced() -> None:
    # smokers among lung cancer patients: 8.2249, p 0.004132 (Fleiss 1981, in R's prop.trend.test), falling
    smokers = trend.share_trend([83, 90, 129, 70], [86, 93, 136, 82], least_periods=4, least_events=1)
    assert isinstance(smokers, ShareTrend)
    assert smokers.z == pytest.approx(-(8.2249**0.5), abs=1e-5)
    assert smokers.p == pytest.approx(0.004132, abs=5e-7)
    # malformations by alcohol: 6.57 with these scores (Agresti, Categorical Data Analysis, 2002, section 3.4)
    totals = [17066 + 48, 14464 + 38, 788 + 5, 126 + 1, 37 + 1]
    alcohol = trend.share_trend([48, 38, 5, 1, 1], totals, [0, 0.5, 1.5, 4, 7])
    assert isinstance(alcohol, ShareTrend)
    assert alcohol.z**2 == pytest.approx(6.57, abs=5e-3)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=10), st.integers(-5, 5))
def test_a_trend_of_shares_mirrors_and_does_not_depend_on_the_zero_of_time(
    pairs: list[tuple[int, int]], start: int
) -> None:
    hits, totals = [a for a, _ in pairs], [a + b for a, b in pairs]
    one = trend.share_trend(hits, totals, least_periods=2, least_events=1)
    if isinstance(one, InsufficientData):
        return
    times = [float(start + at) for at in range(len(pairs))]
    moved = trend.share_trend(hits, totals, times, least_periods=2, least_events=1)
    backwards = trend.share_trend(hits[::-1], totals[::-1], least_periods=2, least_events=1)
    assert isinstance(moved, ShareTrend)
    assert isinstance(backwards, ShareTrend)
    assert (moved.z, -backwards.z) == pytest.approx((one.z, one.z), abs=1e-9)


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
