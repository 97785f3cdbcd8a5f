"""The classifier of a question: what it learns, when it keeps silent, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from labelled import OPS, embed, examples, items
from torch_embers.classify.learning.calibration import (
    DIGITS,
    RISK,
    fit_temperature,
    logits,
    threshold_for,
)
from torch_embers.classify.learning.features import View, readable, table
from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.classify.learning.model import Classifier, Settings, transformed
from torch_embers.errors import InputError


@pytest.fixture(scope="module")
def fitted() -> Classifier:
    texts, labels = examples()
    return Classifier("consequence").fit(items(texts), labels, range(len(texts)))


def best(model: Classifier, texts: list[str]) -> list[str]:
    return [model.classes[column] for column in model.predict_proba(items(texts)).argmax(axis=1)]


@pytest.mark.slow
def test_it_finds_the_class_of_texts_it_has_not_seen(fitted: Classifier) -> None:
    texts = ["topk segfault on cpu", "norm deadlock", "sort slow and memory leak"]
    assert best(fitted, texts) == ["crash", "hang", "performance"]


def test_probabilities_sum_to_one_and_are_the_same_every_time(fitted: Classifier) -> None:
    texts = ["topk segfault on cpu", "something else entirely", ""]
    first = fitted.predict_proba(items(texts))
    assert first.sum(axis=1) == pytest.approx([1, 1, 1])
    assert (first == fitted.predict_proba(items(texts))).all()


@pytest.mark.slow
def test_out_of_fold_probabilities_come_from_models_that_saw_neither_text_nor_group() -> None:
    texts, labels = examples(8)
    # One group repeats one odd word, and has a class of its own: held out, nothing can point to that class.
    texts, labels = [*texts, *["zyzzyva zyzzyva"] * 5], [*labels, *["odd"] * 5]
    model = Classifier("t").fit(items(texts), labels, [*range(24), *[99] * 5])
    odd = model.classes.index("odd")
    assert model.out_of_fold is not None
    assert (model.out_of_fold[24:].argmax(axis=1) != odd).all()
    assert best(model, texts[-1:]) == ["odd"]


def test_without_calibration_the_most_likely_class_is_the_same(fitted: Classifier) -> None:
    texts, labels = examples()
    raw = Classifier("consequence", Settings(folds=0)).fit(items(texts), labels, range(len(texts)))
    assert best(raw, OPS) == best(fitted, OPS)
    assert raw.answers(raw.predict_proba(items(OPS)))[2].all()


def test_it_abstains_below_its_threshold_and_says_what_it_would_have_said(fitted: Classifier) -> None:
    doubtful = replace(fitted, threshold=0.9999)
    [column], _, [given] = doubtful.answers(doubtful.predict_proba(items(["tensor"])))
    assert not given
    assert doubtful.classes[column] in fitted.classes


@pytest.mark.slow
def test_a_model_that_learned_nothing_useful_abstains_rather_than_guesses() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(OPS, 3)) for _ in range(80)]
    model = Classifier("noise").fit(items(texts), rng.choice(["a", "b"], 80).tolist())
    assert not model.answers(model.predict_proba(items(texts)))[2][:60].any()


@pytest.mark.parametrize("classes", [2, 3, 13])
def test_an_answer_is_calibrated_the_same_alone_and_beside_answers_that_leave_classes_nothing(classes: int) -> None:
    rng = np.random.default_rng(classes)
    rows = np.vstack([rng.dirichlet([0.01] * classes, 300), rng.dirichlet([1.0] * classes, 300), np.eye(classes)])
    truth = np.array([*(rng.choice(classes, p=row) for row in rows[:-classes]), *range(classes)])
    made = fit_temperature(rows, truth, np.ones(len(rows), dtype=bool))
    batch = made.predict_proba(logits(rows))
    alone = np.vstack([made.predict_proba(logits(row[None])) for row in rows])
    assert alone == pytest.approx(batch, abs=1e-12)
    assert batch.max() > 0.99, "and no answer is kept from being sure"


@pytest.mark.slow
def test_an_item_is_answered_the_same_alone_and_in_a_batch() -> None:
    texts, labels = examples()
    for answers in (labels, ["-" if one != "hang" else one for one in labels]):
        model = Classifier("c", Settings(C=1e6)).fit(items(texts), answers, range(len(texts)))
        alone = np.vstack([model.predict_proba(items([text])) for text in texts])
        assert alone == pytest.approx(model.predict_proba(items(texts)), abs=1e-7)


def test_the_temperature_is_that_of_the_logits() -> None:
    rng = np.random.default_rng(0)
    honest = rng.dirichlet([0.3] * 3, 4_000)
    truth = np.array([rng.choice(3, p=row) for row in honest])
    sharper = honest**2 / (honest**2).sum(axis=1, keepdims=True)
    made = fit_temperature(sharper, truth, np.ones(len(truth), dtype=bool))
    again = made.predict_proba(logits(sharper))
    assert again == pytest.approx(honest, abs=0.05), "twice as sharp: the square root is honest again"


def test_a_threshold_is_set_only_where_exact_tests_in_a_fixed_order_pass() -> None:
    sure = np.linspace(1, 0.5, 200)
    assert threshold_for(sure, np.ones(200, dtype=bool), 0.9) == 0.5
    assert threshold_for(sure[:29], np.ones(29, dtype=bool), 0.9) == pytest.approx(sure[28], abs=1e-6)
    assert threshold_for(sure[:28], np.ones(28, dtype=bool), 0.9) == np.inf, "28 of 28 may be nine of ten"
    assert threshold_for(sure, np.arange(200) % 10 != 9, 0.9) == np.inf, "nine of ten is no lower bound of 0.9"
    assert sure[115] < threshold_for(sure, np.arange(200) < 100, 0.9) < sure[95]
    assert threshold_for(sure, np.arange(200) > 5, 0.9) == np.inf, "the surest are wrong: the others are not tested"


def test_a_threshold_promises_too_much_no_more_often_than_its_risk_allows() -> None:
    rng, confidence = np.random.default_rng(0), np.linspace(0.99, 0.6, 177)
    worse = 0
    for _ in range(400):
        threshold = threshold_for(confidence, rng.random(177) < confidence, 0.9)
        worse += np.isfinite(threshold) and confidence[confidence >= threshold].mean() < 0.9
    assert worse <= 400 * RISK + 3 * (400 * RISK * (1 - RISK)) ** 0.5


@pytest.mark.parametrize("lowest", [0.6, 0.57, 0.6180339887, 0.6000009999, 2 / 3])
def test_the_answer_that_sets_a_threshold_reaches_it_also_when_it_was_saved(lowest: float) -> None:
    threshold = threshold_for(np.array([0.99] * 99 + [lowest]), np.ones(100, dtype=bool), 0.9)
    assert lowest - 2e-6 < threshold <= min(lowest, round(lowest, DIGITS))


def test_nothing_is_said_of_empty_texts_and_broken_vectors(fitted: Classifier) -> None:
    vectors = embed(["segfault", "", " \n"])
    vectors[0] = np.nan
    asked = items(["segfault", "", " \n"], vectors)
    assert not readable(asked).any()
    assert fitted.predict_proba(asked) == pytest.approx(np.full((3, 3), 1 / 3))
    assert fitted.predict_proba(items([], np.zeros((0, 64), np.float32))).shape == (0, 3)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("训练时显存泄漏", False),
        ("Падение при вызове conv2d", False),
        ("Größe von `torch.Tensor` falsch", True),
        ("segfault 段错误", True),
        ("21250 2", True),
    ],
)
def test_of_a_text_mostly_in_a_script_that_nothing_was_learned_in_nothing_is_said(text: str, read: bool) -> None:
    assert readable(items([text])).tolist() == [read]


def test_the_words_that_decided_are_named(fitted: Classifier) -> None:
    matrix = transformed(fitted.features, items(["conv2d deadlock", ""]))
    first, second = fitted.terms(matrix, ["hang", "hang"])
    assert first[0].term == "deadlock"
    assert first[0].weight > 0
    assert second == []


def test_a_class_of_one_example_and_a_text_in_another_script_can_be_learned() -> None:
    texts, labels = examples(10)
    texts, labels = [*texts, "разные результаты 不一致 🐛"], [*labels, "silent_correctness"]
    model = Classifier("c").fit(items(texts), labels)
    assert model.trained_on["silent_correctness"] == 1
    assert model.predict_proba(items(texts)).shape == (31, 4)


def test_texts_without_a_usable_term_leave_the_vote_to_the_vectors() -> None:
    vectors = np.eye(12, dtype=np.float32)
    model = Classifier("c").fit(items(["!"] * 12, vectors), ["a", "b"] * 6)
    assert model.predict_proba(items(["?"], vectors[:1])).shape == (1, 2)


def test_a_view_that_stands_twice_is_refused_by_name() -> None:
    settings = Settings(views=(View("word"), View("vector"), View("vector")), folds=0)
    with pytest.raises(InputError, match="looks at vector:text twice"):
        Classifier("c", settings).fit(items(["gather", "sort"] * 4), ["a", "b"] * 4)


def test_less_certain_labels_count_less() -> None:
    texts = ["gather", "gather", "gather", "sort", "gather", "topk"] * 4
    labels = ["crash", "crash", "crash", "crash", "hang", "hang"] * 4
    settings, asked = Settings(views=(View("word"),), folds=0), table(["gather"])
    plain, weighted = (
        Classifier("c", settings).fit(table(texts), labels, weights=weights).predict_proba(asked)[0, 1]
        for weights in (None, [0.01, 0.01, 0.01, 1.0, 1.0, 1.0] * 4)
    )
    assert weighted > 0.8 > plain


def test_votes_decide_where_words_say_nothing_and_an_unmeasured_function_counts_too() -> None:
    labels = ["crash", "hang"] * 15
    votes = [["title-segfault"], []] * 15
    named = {"title-segfault": "crash", "title-deadlock": "hang"}
    model = Classifier("c", votes=named).fit(items(["wrong"] * 30, votes=votes), labels)
    asked = items(["wrong"] * 3, votes=[["title-segfault"], [], ["title-deadlock"]])
    crash = model.predict_proba(asked)[:, model.classes.index("crash")]
    assert crash[0] > 0.9 > 0.5 > crash[1] >= crash[2]
    assert model.vote_weights()["title-segfault"] > 0
    assert model.predict_proba(items(["wrong"]))[0] == pytest.approx(model.predict_proba(asked)[1]), "no votes: none"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": ["a"] * 75}, "at least two classes"),
        ({"labels": ["a"] * 3}, "75 items, 3 labels"),
        ({"groups": [0] * 75}, "groups"),
        ({"groups": [0, 1]}, "75 items"),
        ({"weights": [0.0] * 75}, "positive"),
        ({"weights": [float("nan")] * 75}, "positive"),
        ({"items": lambda texts: items(texts, np.full((75, 4), np.nan, dtype=np.float32))}, "no numbers"),
        ({"items": lambda texts: items(texts, np.zeros((3, 4), dtype=np.float32))}, "differ in number"),
        ({"items": lambda texts: items(texts, np.zeros(75, dtype=np.float32))}, "matrix"),
        ({"items": table}, "vector:text"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(change: dict[str, object], said: str) -> None:
    texts, labels = examples()
    given = {"labels": labels, "groups": range(75), **change}
    make = given.pop("items", items)
    with pytest.raises(InputError, match=said):
        Classifier("c").fit(make(texts), **given)


def test_use_before_learning_and_vectors_of_another_embedder_are_refused(fitted: Classifier) -> None:
    with pytest.raises(InputError, match="not learned"):
        Classifier("c").predict_proba(items(["x"]))
    with pytest.raises(InputError, match="another embedder"):
        fitted.predict_proba(items(["x"], np.zeros((1, 7), dtype=np.float32)))


# ---- folds ---------------------------------------------------------------------------------------------------------


def test_folds_keep_groups_whole_and_cover_everything_once() -> None:
    labels, groups = ["a", "b", "b"] * 20, [place // 3 for place in range(60)]
    made = grouped_folds(labels, groups, 5, seed=1)
    assert len(made) == 5
    assert sorted(np.concatenate([split.test for split in made]).tolist()) == list(range(60))
    for split in made:
        assert not {groups[row] for row in split.train} & {groups[row] for row in split.test}
    again = grouped_folds(labels, groups, 5, seed=1)
    assert [split.test.tolist() for split in made] == [split.test.tolist() for split in again]


@pytest.mark.parametrize(
    ("labels", "groups", "folds"), [(["a"], [1, 2], 5), (["a", "b"], [1, 2], 1), ([], [], 5), (["a", "b"], [1, 1], 5)]
)
def test_folds_that_cannot_be_made_are_refused(labels: list[str], groups: list[int], folds: int) -> None:
    with pytest.raises(InputError):
        grouped_folds(labels, groups, folds)


def test_few_groups_make_few_folds() -> None:
    assert len(grouped_folds(["a", "b", "c"], range(3), 5)) >= 2


@pytest.mark.slow
def test_the_judged_items_alone_set_threshold_and_temperature() -> None:
    texts, labels = examples(20)
    noise = np.random.default_rng(0).permutation(labels).tolist()
    judged = [False] * len(texts) + [True] * len(texts)
    others = [f"zyzzyva{place} qoph{place}" for place in range(len(texts))]
    given = {"items": items([*texts, *others]), "labels": [*labels, *noise]}
    assert Classifier("c").fit(**given, judged=judged).threshold == np.inf, "the judged half is noise"
    turned = Classifier("c").fit(**given, judged=[not one for one in judged])
    assert np.isfinite(turned.threshold)
    assert turned.calibrator is not None
    few = Classifier("c").fit(**given, judged=[place < 3 for place in range(len(judged))])
    assert few.threshold == Classifier("c").fit(**given).threshold, "three items judge nothing"
