"""The classifier of a question: what it learns, when it keeps silent, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")


from labelled import OPS, examples, items
from torch_embers.classify.learning.calibration import RISK, fit_temperature, logits, threshold_for
from torch_embers.classify.learning.model import Classifier, Settings


@pytest.fixture(scope="module")
def fitted() -> Classifier:
    texts, labels = examples()
    return Classifier("consequence").fit(items(texts), labels, range(len(texts)))


def best(model: Classifier, texts: list[str]) -> list[str]:
    return [model.classes[column] for column in model.predict_proba(items(texts)).argmax(axis=1)]


def test_it_finds_the_class_of_texts_it_has_not_seen(fitted: Classifier) -> None:
    texts = ["topk segfault on cpu", "norm deadlock", "sort slow and memory leak"]
    assert best(fitted, texts) == ["crash", "hang", "performance"]


def test_out_of_fold_probabilities_come_from_models_that_saw_neither_text_nor_group() -> None:
    texts, labels = examples(8)
    # One group repeats one odd word, and has a class of its own: held out, nothing can point to that class.
    texts, labels = [*texts, *["zyzzyva zyzzyva"] * 5], [*labels, *["odd"] * 5]
    model = Classifier("t").fit(items(texts), labels, [*range(24), *[99] * 5])
    odd = model.classes.index("odd")
    assert model.out_of_fold is not None
    assert (model.out_of_fold[24:].argmax(axis=1) != odd).all()
    assert best(model, texts[-1:]) == ["odd"]


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


def test_an_item_is_answered_the_same_alone_and_in_a_batch() -> None:
    texts, labels = examples()
    for answers in (labels, ["-" if one != "hang" else one for one in labels]):
        model = Classifier("c", Settings(C=1e6)).fit(items(texts), answers, range(len(texts)))
        alone = np.vstack([model.predict_proba(items([text])) for text in texts])
        assert alone == pytest.approx(model.predict_proba(items(texts)), abs=1e-7)


def test_a_threshold_promises_too_much_no_more_often_than_its_risk_allows() -> None:
    rng, confidence = np.random.default_rng(0), np.linspace(0.99, 0.6, 177)
    worse = 0
    for _ in range(400):
        threshold = threshold_for(confidence, rng.random(177) < confidence, 0.9)
        worse += np.isfinite(threshold) and confidence[confidence >= threshold].mean() < 0.9
    assert worse <= 400 * RISK + 3 * (400 * RISK * (1 - RISK)) ** 0.5


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
