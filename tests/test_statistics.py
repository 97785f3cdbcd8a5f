"""Statistics of the study, against worked examples from print, SciPy, and hand-computed cases."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from support import example_count
from torch_embers.classify import confusions
from torch_embers.classify.bundle import shipped_folder
from torch_embers.classify.confusions import Confusion
from torch_embers.errors import InputError
from torch_embers.statistics import agreement, trend
from torch_embers.statistics.corrections import holm
from torch_embers.statistics.durations import Durations
from torch_embers.statistics.insufficient import InsufficientData
from torch_embers.statistics.intervals import newcombe, wilson
from torch_embers.statistics.log_rank import LogRank, log_rank
from torch_embers.statistics.metrics import Interval
from torch_embers.statistics.survival import Survival, by_group, kaplan_meier
from torch_embers.statistics.trend import ShareTrend
from torch_embers.study import prevalence
from torch_embers.study.prevalence import Prevalence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Remission of leukaemia in weeks, 6-MP and placebo (Freireich et al., Blood 21, 1963; Klein and Moeschberger 2003).
TREATED = ([6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], [True] * 9 + [False] * 12)
PLACEBO = ([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], [True] * 21)
# Death of rats after three treatments, in days (Klein and Moeschberger 2003, exercise 7.7).
RATS = {
    "untreated": ([20, 21, 23, 24, 24, 26, 26, 27, 28, 30], [True] * 10),
    "radiated": ([26, 28, 29, 29, 30, 30, 31, 31, 32, 35], [True] * 9 + [False]),
    "radiated and BPA": ([31, 32, 34, 35, 36, 38, 38, 39, 42, 42], [True] * 8 + [False] * 2),
}

seen = st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=40)


def curve(days: list[float] | list[int], ended: list[bool], **options: Any) -> Survival:
    found = kaplan_meier(days, ended, **options)
    assert isinstance(found, Survival)
    return found


def rows(groups: dict[str, tuple[list[int], list[bool]]]) -> tuple[list[float], list[bool], list[str]]:
    days = [float(day) for own, _ in groups.values() for day in own]
    ended = [end for _, own in groups.values() for end in own]
    return days, ended, [name for name, (own, _) in groups.items() for _ in own]


# ---- shares


def test_newcombe_gives_the_published_interval() -> None:
    # 56 / 70 against 48 / 80: Newcombe 1998, table II (a), method 10
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    # 0 / 10 against 0 / 10 and 10 / 10 against 0 / 10 in the same table
    assert newcombe(0, 10, 0, 10) == pytest.approx((-0.2775, 0.2775), abs=5e-5)
    assert newcombe(10, 10, 0, 10) == pytest.approx((0.6075, 1.0), abs=5e-5)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_newcombe_holds_the_difference_stays_in_range_and_mirrors(n: int, m: int, data: st.DataObject) -> None:
    k, j = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    low, high = newcombe(k, n, j, m)
    assert -1 <= low <= k / n - j / m <= high <= 1
    assert newcombe(j, m, k, n) == pytest.approx((-high, -low))


def test_newcombe_refuses_what_is_no_share() -> None:
    with pytest.raises(ValueError, match="no interval"):
        newcombe(1, 2, 3, 2)


# ---- survival


def test_the_curve_of_a_published_trial_is_reproduced() -> None:
    found = curve(*TREATED)
    at = dict(zip(found.days, zip(found.share, found.at_risk, strict=True), strict=True))
    # Klein and Moeschberger, table 4.1A
    printed = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert {day: round(at[day][0], 3) for day in printed} == pytest.approx(printed, abs=1e-3)
    assert [at[day][1] for day in printed] == [21, 17, 15, 12, 11, 7, 6]
    assert (found.items, found.events, found.days[0], found.share[0]) == (21, 9, 0, 1)
    # the band at 10 weeks holds one half, at 13 weeks no longer; its upper limit never gets there
    assert (found.median.value, found.median.low, found.median.high) == (23, 13, None)


def test_without_censoring_the_curve_ends_at_0() -> None:
    found = curve(*PLACEBO)
    assert found.median.value == 8
    assert (found.share[-1], found.low[-1], found.high[-1]) == (0, 0, found.high[-2])


@given(seen)
@example([(0, True)])
@example([(0, True), (0, False), (3, True)])
def test_a_curve_falls_from_1_within_its_band(items: list[tuple[int, bool]]) -> None:
    days, ended = [float(day) for day, _ in items], [end for _, end in items]
    found = kaplan_meier(days, ended, least=1)
    if not any(ended):
        assert found == InsufficientData(f"0 of {len(items)} ended, 1 are needed")
        return
    assert isinstance(found, Survival)
    share = np.array(found.share)
    assert found.days[0] == 0
    assert (np.diff(share) <= 1e-12).all()
    assert (np.array(found.low) <= share + 1e-12).all()
    assert (share <= np.array(found.high) + 1e-12).all()
    # the product over the ends, written out
    product = 1.0
    for day in sorted({day for day, end in items if end}):
        risk, died = sum(d >= day for d in days), sum(d == day and e for d, e in items)
        product *= 1 - died / risk
    assert share[-1] == pytest.approx(product)


def test_too_few_ends_are_refused_as_data() -> None:
    found = kaplan_meier([5.0] * 40, [True] * 5 + [False] * 35)
    assert isinstance(found, InsufficientData)
    assert str(found) == "5 of 40 ended, 6 are needed"
    assert isinstance(kaplan_meier([], [], least=0), InsufficientData)


@pytest.mark.parametrize(("days", "ended"), [([1.0], []), ([-1.0], [True]), ([math.nan], [True]), ([math.inf], [True])])
def test_times_that_are_none_are_errors(days: list[float], ended: list[bool]) -> None:
    with pytest.raises(InputError):
        kaplan_meier(days, ended)


def test_each_group_has_its_curve_and_too_small_ones_have_none() -> None:
    days, ended, groups = rows({"treated": TREATED, "placebo": PLACEBO, "few": ([1, 2], [True, False])})
    found = by_group(days, ended, groups)
    assert list(found) == ["few", "placebo", "treated"]
    assert isinstance(found["few"], InsufficientData)
    treated, placebo = found["treated"], found["placebo"]
    assert isinstance(treated, Survival)
    assert isinstance(placebo, Survival)
    assert (treated, placebo) == (curve(*TREATED), curve(*PLACEBO))
    with pytest.raises(InputError, match="lengths differ"):
        by_group(days, ended, groups[1:])


# ---- log-rank


def test_the_published_test_of_two_groups_is_reproduced() -> None:
    found = log_rank(*rows({"treated": TREATED, "placebo": PLACEBO}))
    assert isinstance(found, LogRank)
    # 16.79 and expected 10.75 and 19.25: Kleinbaum and Klein, Survival Analysis, 2012, chapter 2
    assert found.statistic == pytest.approx(16.79294, abs=1e-4)
    assert found.p == pytest.approx(4.168809e-05, rel=1e-5)
    assert [(one.name, one.observed, round(one.expected, 2)) for one in found.groups] == [
        ("placebo", 21, 10.75),
        ("treated", 9, 19.25),
    ]


def test_the_published_test_of_three_groups_is_reproduced() -> None:
    found = log_rank(*rows(RATS))
    assert isinstance(found, LogRank)
    # observed 10, 9, 8; expected and statistic as R's survdiff prints them for this exercise
    assert {one.name: (one.observed, round(one.expected, 4)) for one in found.groups} == {
        "untreated": (10, 2.6565),
        "radiated": (9, 7.6001),
        "radiated and BPA": (8, 16.7434),
    }
    assert (found.statistic, found.freedom) == pytest.approx((33.38033, 2), abs=1e-4)
    assert found.p == pytest.approx(5.64e-08, rel=1e-2)


@given(seen, seen)
@example([(0, False), (0, True)], [(0, False)] * 5 + [(1, True), (2, False), (2, True)])
def test_two_groups_are_tested_as_scipy_does(one: list[tuple[int, bool]], other: list[tuple[int, bool]]) -> None:
    parts = {"a": ([d for d, _ in one], [e for _, e in one]), "b": ([d for d, _ in other], [e for _, e in other])}
    found = log_rank(*rows(parts), least=1)
    if not isinstance(found, LogRank):
        return
    censored = [stats.CensoredData.right_censored(days, ~np.array(ended)) for days, ended in parts.values()]
    with np.errstate(all="ignore"):
        expected = stats.logrank(*censored)
    if math.isfinite(expected.statistic) and found.freedom:
        assert found.statistic == pytest.approx(expected.statistic**2, abs=1e-8)
        assert found.p == pytest.approx(expected.pvalue, abs=1e-8)
    assert 0 <= found.p <= 1
    assert sum(group.observed for group in found.groups) == pytest.approx(sum(group.expected for group in found.groups))


def test_small_groups_are_left_out_by_name_and_one_group_is_no_test() -> None:
    found = log_rank(*rows({**RATS, "two": ([3, 4], [True, True])}))
    assert isinstance(found, LogRank)
    assert found.left_out == ("two",)
    assert found.statistic == pytest.approx(33.38033, abs=1e-4)
    assert isinstance(log_rank(*rows({"two": ([3, 4], [True, True]), "treated": TREATED})), InsufficientData)


def test_groups_whose_items_all_end_at_once_have_nothing_to_compare() -> None:
    found = log_rank(*rows({"a": ([1] * 6, [True] * 6), "b": ([1] * 6, [True] * 6)}))
    assert isinstance(found, LogRank)
    assert (found.statistic, found.freedom, found.p) == (0, 0, 1)


def test_holm_gives_the_known_values() -> None:
    # as p.adjust of R gives them
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    with pytest.raises(ValueError, match="between"):
        holm([1.5])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_lies_between_the_value_and_bonferroni(values: list[float]) -> None:
    found = holm(values)
    for p, worth in zip(values, found, strict=True):
        assert p <= worth <= 1
    if values:
        assert min(found) == pytest.approx(min(1, len(values) * min(values)))
    ranked = [found[at] for at in sorted(range(len(values)), key=lambda at: values[at])]
    assert ranked == sorted(ranked)


def test_ends_and_items_at_risk_are_counted_at_each_time() -> None:
    own = Durations.of([1, 2, 2, 3], [True, True, False, True])
    steps = np.array([0.0, 1, 2, 2.5, 3, 4])
    assert own.at_risk(steps).tolist() == [4, 4, 3, 1, 1, 0]
    assert own.ends_at(steps).tolist() == [0, 1, 1, 0, 1, 0]


# ---- prevalence


def matrix(counts: Sequence[Sequence[float]], names: str = "") -> Confusion:
    classes = tuple(names.split() or [f"c{place}" for place in range(len(counts))])
    items = round(sum(map(sum, counts)))
    return Confusion(
        scheme="bug_type",
        classes=classes,
        matrix=tuple(map(tuple, counts)),
        items=items,
        groups=items,
        learner="model",
        settings={},
        source="test",
    )


@given(st.floats(0.55, 1), st.floats(0.55, 1), st.floats(0, 1))
def test_two_classes_give_rogan_and_gladens_clipped_estimate(found: float, spared: float, seen_share: float) -> None:
    rates = np.array([[found, 1 - found], [1 - spared, spared]])
    estimate = (seen_share + spared - 1) / (found + spared - 1)
    shares = prevalence.solve(rates, np.array([seen_share, 1 - seen_share]))
    assert shares == pytest.approx([min(1, max(0, estimate)), 1 - min(1, max(0, estimate))], abs=1e-7)


def test_rogan_and_gladen_by_hand() -> None:
    # 9 of 10 found, 8 of 10 spared, 34 % called positive: (0.34 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.2
    shares = prevalence.solve(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.34, 0.66]))
    assert shares == pytest.approx([0.2, 0.8])


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    size = draw(st.integers(2, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rates = random.dirichlet(np.ones(size), size) + draw(st.sampled_from([0.3, 1, 5])) * np.eye(size)
    return rates / rates.sum(axis=1, keepdims=True), random.dirichlet(np.full(size, draw(st.sampled_from([0.2, 1]))))


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
    assert (first.name, first.predicted, first.gold) == ("a", 240, 1000)
    assert first.raw.value == 0.24
    assert (first.raw.low, first.raw.high) == wilson(240, 1000)
    assert first.corrected.value == pytest.approx(0.2, abs=1e-3)
    assert first.corrected.low < 0.2 < first.corrected.high
    assert sum(share.corrected.value for share in found.shares) == pytest.approx(1)
    again = prevalence.correct(matrix([[800, 200], [100, 900]], "a b"), {"a": 240, "b": 760})
    assert again == found


def test_classes_with_little_gold_or_never_recognised_become_the_rest() -> None:
    counts = [[40.0, 5.0, 5.0, 0.0], [5.0, 40.0, 5.0, 0.0], [7.0, 7.0, 1.0, 0.0], [0.0, 0.0, 0.0, 9.0]]
    found = prevalence.correct(matrix(counts, "a b blind rare"), {"a": 50, "b": 50, "blind": 10, "rare": 5})
    assert isinstance(found, Prevalence)
    assert [share.name for share in found.shares] == ["a", "b", "rest"]
    assert found.merged == (("blind", "7% recognised"), ("rare", "9 gold items"))
    assert found.shares[-1].predicted == 15
    assert found.condition <= prevalence.MOST_CONDITION


@pytest.mark.parametrize(
    ("counts", "predicted", "reason"),
    [
        ([[20.0, 0], [0, 20]], {"c0": 3}, "3 predictions, 30 are needed"),
        ([[20.0, 0], [0, 20]], {}, "0 predictions"),
        ([[20.0, 0], [0, 20]], {"c0": 40, "new": 1}, "no gold for the predicted new"),
        ([[20.0, 20], [20, 20]], {"c0": 40}, "told apart|near singular"),
        ([[4.0, 0], [0, 4]], {"c0": 40}, "told apart"),
    ],
)
def test_what_cannot_be_corrected_is_refused_as_data(
    counts: list[list[float]], predicted: dict[str, int], reason: str
) -> None:
    found = prevalence.correct(matrix(counts), predicted)
    assert isinstance(found, InsufficientData)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(found.reason)


def test_negative_counts_are_an_error() -> None:
    with pytest.raises(InputError, match="negative"):
        prevalence.correct(matrix([[20, 0], [0, 20]]), {"c0": -1})


def test_the_interval_holds_the_true_shares_about_as_often_as_it_says() -> None:
    """Gold of another mix than the population; the raw shares are far off, the corrected ones are not."""
    rates = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
    truth, gold, trials = np.array([0.1, 0.3, 0.6]), [60, 50, 40], 200
    random, held, raw, means = np.random.default_rng(5), np.zeros(3), np.zeros(3), np.zeros(3)
    for trial in range(trials):
        counts: list[list[float]] = [
            [float(n) for n in random.multinomial(size, row)] for size, row in zip(gold, rates, strict=True)
        ]
        called = random.multinomial(800, rates.T @ truth).tolist()
        found = prevalence.correct(
            matrix(counts), {f"c{at}": count for at, count in enumerate(called)}, samples=200, seed=trial
        )
        assert isinstance(found, Prevalence)
        for at, share in enumerate(found.shares):
            held[at] += share.corrected.low <= truth[at] <= share.corrected.high
            raw[at] += share.raw.low <= truth[at] <= share.raw.high
            means[at] += share.corrected.value / trials
    assert ((held / trials >= 0.90) & (held / trials <= 0.99)).all(), held / trials
    assert (raw / trials).min() < 0.1
    assert means == pytest.approx(truth, abs=0.02)


# ---- the shipped confusion


@pytest.mark.parametrize("scheme", confusions.SCHEMES)
def test_the_shipped_matrix_counts_each_gold_item_once_for_the_classes_of_the_model(scheme: str) -> None:
    found = confusions.load(scheme)
    sizes = [sum(row) for row in found.matrix]
    assert sizes == pytest.approx([round(size) for size in sizes], abs=1e-3)
    assert sum(sizes) == pytest.approx(found.items, abs=1e-2)
    assert found.items <= 550
    assert found.settings["split"] == "folds"
    model = json.loads((shipped_folder() / scheme / "model.json").read_text(encoding="utf-8"))
    assert list(found.classes) == model["classes"]


def evaluation(split: str = "folds", cell: int = 6) -> dict[str, Any]:
    learners = [{"name": "majority", "confusion": [[9, 0], [9, 0]]}, {"name": "ours", "confusion": [[cell, 3], [2, 7]]}]
    report = {"task": "bug_type", "texts": 6, "groups": 5, "classes": {"a": 3, "b": 3}, "rounds": 3, "scores": learners}
    return {"about": {"split": split, "repeats": 3}, "reports": [report]}


def test_answers_of_several_rounds_count_each_item_once(tmp_path: Path) -> None:
    (tmp_path / "evaluation.json").write_text(json.dumps(evaluation()), encoding="utf-8")
    read = confusions.from_evaluation(evaluation(), "here", ["bug_type"])[0]
    assert read.matrix == ((2.0, 1.0), (0.666667, 2.333333))
    assert (read.items, read.groups, read.learner, read.classes) == (6, 5, "ours", ("a", "b"))
    with pytest.raises(InputError, match="no evaluation of memory_type, consequence"):
        confusions.write(tmp_path / "evaluation.json", tmp_path / "confusion.json")


def test_a_written_file_is_read_back(tmp_path: Path) -> None:
    found = evaluation()
    found["reports"] = [{**found["reports"][0], "task": scheme} for scheme in confusions.SCHEMES]
    (tmp_path / "evaluation.json").write_text(json.dumps(found), encoding="utf-8")
    place = tmp_path / "confusion.json"
    confusions.write(tmp_path / "evaluation.json", place)
    read = confusions.load("consequence", place)
    assert (read.scheme, read.items, read.settings["rounds"]) == ("consequence", 6, 3)
    assert read.source == f"{tmp_path.name}/evaluation.json"
    with pytest.raises(InputError, match="knows nothing of 'backend'"):
        confusions.load("backend", place)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (evaluation(split="time:2023-01-01"), "answers of folds"),
        (evaluation(cell=60), "does not add up"),
        ({}, "is no evaluation"),
        ({"about": {"split": "folds"}, "reports": [{}]}, "is no evaluation"),
    ],
)
def test_evaluations_that_do_not_fit_are_errors(found: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        confusions.from_evaluation(found, "here", ["bug_type"])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "confusions": [{}]}', '{"format": 2}', "[" * 9999])
def test_damaged_files_are_errors(tmp_path: Path, text: str) -> None:
    (tmp_path / "confusion.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"confusion\.json"):
        confusions.load("bug_type", tmp_path / "confusion.json")


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


def test_alpha_of_two_annotators_by_hand() -> None:
    # a a, a a, b b, a b: coincidences 5 a, 3 b of 8; unlike 2 of 8, by chance 2 * 15 / 56
    found = agreement.alpha(said(("a a b a", "a a b b")), least=1)
    assert isinstance(found, Interval)
    assert found.value == pytest.approx(1 - (2 / 8) / (2 * 15 / 56))


@given(st.lists(st.lists(st.sampled_from("ab."), min_size=3, max_size=3), min_size=1, max_size=8))
def test_alpha_does_not_depend_on_names_and_is_at_most_1(table: list[list[str]]) -> None:
    own = [(f"n{who}", item, value) for item, row in enumerate(table) for who, value in enumerate(row) if value != "."]
    renamed = [(f"m{9 - int(who[1])}", -item, {"a": "y", "b": "x"}[value]) for who, item, value in own]
    one, other = (agreement.alpha(rows, least=1, samples=20) for rows in (own, renamed))
    assert isinstance(one, Interval) == isinstance(other, Interval)
    if isinstance(one, Interval) and isinstance(other, Interval):
        assert one.value == pytest.approx(other.value)
        assert one.value <= 1 + 1e-12


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
    assert smokers.z**2 == pytest.approx(8.2249, abs=5e-5)
    assert smokers.z < 0
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
    assert moved.z == pytest.approx(one.z, abs=1e-9)
    assert backwards.z == pytest.approx(-one.z, abs=1e-9)
