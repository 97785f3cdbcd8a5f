"""Scores against scikit-learn's and against what can be counted by hand, and splits of texts that are alike."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers.errors import InputError
from torch_embers.statistics import metrics
from torch_embers.statistics.splits import join_groups, linked_groups, near_duplicates

NAMES = ("crash", "hang", "nan_inf")
labels = st.sampled_from(NAMES)
pairs = st.lists(st.tuples(labels, labels), min_size=1, max_size=40)


@given(pairs)
@settings(max_examples=example_count(60))
def test_macro_f1_and_kappa_are_those_of_scikit_learn(answers: list[tuple[str, str]]) -> None:
    reference = pytest.importorskip("sklearn.metrics")
    truth, said = zip(*answers, strict=True)
    assert metrics.macro_f1(truth, said) == pytest.approx(
        reference.f1_score(truth, said, average="macro", zero_division=0)
    )
    if len({*truth, *said}) > 1:
        groups = range(len(truth))
        found = metrics.kappa(truth, said, groups, samples=10).value
        assert found == pytest.approx(reference.cohen_kappa_score(truth, said))


@given(pairs, st.integers(0, 5))
@settings(max_examples=example_count(40))
def test_an_interval_is_ordered_stays_in_range_and_repeats_itself(answers: list[tuple[str, str]], seed: int) -> None:
    truth, said = zip(*answers, strict=True)
    groups = [place // 2 for place in range(len(truth))]
    one = metrics.macro_f1_interval(truth, said, groups, samples=50, seed=seed)
    assert 0 <= one.low <= one.high <= 1
    assert one == metrics.macro_f1_interval(truth, said, groups, samples=50, seed=seed)


def test_many_groups_are_drawn_a_part_at_a_time_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, said = ["a", "b", "b"] * 20, ["a", "a", "b"] * 20
    whole = metrics.macro_f1_interval(truth, said, range(60), samples=50)
    monkeypatch.setattr(metrics, "KEPT_DRAWS", 500)
    assert metrics.macro_f1_interval(truth, said, range(60), samples=50) == whole


@pytest.mark.parametrize("score", ["accuracy", "kappa", "macro_f1"])
def test_a_difference_is_that_of_scikit_learns_scores_and_the_opposite_the_other_way_round(score: str) -> None:
    reference = pytest.importorskip("sklearn.metrics")
    of = {
        "accuracy": reference.accuracy_score,
        "kappa": reference.cohen_kappa_score,
        "macro_f1": lambda *both: reference.f1_score(*both, average="macro"),
    }[score]
    rng = np.random.default_rng(0)
    truth = rng.choice(NAMES, 60).tolist()
    one = [label if rng.random() < 0.9 else "hang" for label in truth]
    other = [label if rng.random() < 0.3 else "hang" for label in truth]
    there = metrics.paired_difference(truth, one, other, range(60), score=score)
    back = metrics.paired_difference(truth, other, one, range(60), score=score)
    assert there.value == pytest.approx(of(truth, one) - of(truth, other))
    assert not there.low <= 0 <= there.high
    assert (there.value, there.low, there.high) == pytest.approx((-back.value, -back.high, -back.low))
    same = metrics.paired_difference(truth, one, one, range(60), score=score)
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)


def test_texts_of_one_group_are_drawn_together_so_the_interval_is_wider() -> None:
    rng = np.random.default_rng(1)
    truth = rng.choice(["a", "b"], 40).tolist()
    said = [label if rng.random() < 0.7 else "a" for label in truth]
    alone = metrics.macro_f1_interval(truth * 5, said * 5, range(200))
    grouped = metrics.macro_f1_interval(truth * 5, said * 5, list(range(40)) * 5)
    assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)


def test_a_bootstrap_interval_holds_the_true_value_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(200):
        truth = ["a", "b"] * 60
        said = [label if rng.random() < 0.8 else "b" if label == "a" else "a" for label in truth]
        found = metrics.macro_f1_interval(truth, said, range(120), samples=300)
        held += found.low <= 0.8 <= found.high
    assert 0.88 <= held / 200 <= 0.99


def test_kappa_of_the_textbook_example() -> None:
    one = ["yes"] * 25 + ["no"] * 25
    other = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert metrics.kappa(one, other, range(50)).value == pytest.approx(0.4)
    assert metrics.kappa(["a"] * 4, ["a"] * 4, range(4), samples=10).value == 1.0


def test_calibration_error_is_the_gap_between_confidence_and_accuracy() -> None:
    assert metrics.calibration_error([0.75] * 4, [True, True, True, False]) == pytest.approx(0.0)
    assert metrics.calibration_error([0.95] * 4, [False] * 4) == pytest.approx(0.95)
    assert metrics.calibration_error([], []) == 0.0


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50))
def test_every_answer_is_in_one_bin(answers: list[tuple[float, bool]]) -> None:
    sure, right = [pair[0] for pair in answers], [pair[1] for pair in answers]
    bars = metrics.reliability(sure, right)
    assert sum(bar.count for bar in bars) == len(answers)
    for bar in bars:
        assert bar.low - 1e-9 <= bar.confidence <= bar.high + 1e-9


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.confusion(["a"], ["a", "b"], ["a", "b"]),
        lambda: metrics.confusion(["a"], ["z"], ["a"]),
        lambda: metrics.macro_f1_interval([], [], []),
        lambda: metrics.macro_f1_interval(["a"], ["a"], [1, 2]),
        lambda: metrics.reliability([1.5], [True]),
        lambda: metrics.reliability([math.nan], [True]),
        lambda: metrics.reliability([0.5], []),
        lambda: near_duplicates(["a"], similar=0),
        join_groups,
        lambda: join_groups([1], [1, 2]),
    ],
)
def test_impossible_input_is_refused(call) -> None:
    with pytest.raises(InputError):
        call()


# ---- splits: groups stay whole, and nothing later is learned from -----------------------------------------------------

REPORT = "conv2d gives a wrong gradient for channels_last input on cuda when the weight is not contiguous"


def test_a_repost_with_other_numbers_case_and_spaces_is_the_same_report() -> None:
    other = "  " + REPORT.upper().replace(" ", "  ")
    assert near_duplicates([REPORT + " 1.12", other + " 2.05", "DataLoader hangs at exit"]).tolist() == [0, 0, 1]


def test_reports_of_different_bugs_stay_apart() -> None:
    texts = ["DataLoader hangs at exit", "cumsum overflows at 2**31", "MPS returns nan for softmax", REPORT]
    assert near_duplicates(texts).tolist() == [0, 1, 2, 3]
    assert near_duplicates(["", " ", "", "a", "a"]).tolist() == [0, 1, 2, 3, 3]


def test_groupings_are_joined_along_chains() -> None:
    assert join_groups(["x", "x", "y", "z"], [1, 2, 2, 3]).tolist() == [0, 0, 0, 1]
    assert join_groups([None, None], [None, None]).tolist() == [0, 1]


def test_pairs_group_by_way_of_others() -> None:
    assert linked_groups(5, [(3, 1), (4, 3)]).tolist() == [0, 1, 2, 1, 1]
    assert linked_groups(0, []).tolist() == []


@given(st.lists(st.text(max_size=60), max_size=12))
def test_equal_texts_are_always_grouped_and_any_text_is_accepted(texts: list[str]) -> None:
    groups = near_duplicates(texts + texts)
    for place, text in enumerate(texts):
        assert not text.strip() or groups[place] == groups[place + len(texts)]
