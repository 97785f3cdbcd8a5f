"""From probabilities, votes and runs to the labels of items, and how sure they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from torch_embers.classify import aggregation, confidence
from torch_embers.classify import model as models
from torch_embers.classify.aggregation import Aggregator, Label
from torch_embers.classify.examples import BODIES, TITLES, Example
from torch_embers.classify.features import Item
from torch_embers.classify.labels.gold import GoldItem
from torch_embers.classify.labels.weak import WeakLabel
from torch_embers.classify.model import About, Classifier, ModelError, of_parts
from torch_embers.classify.questions import questions
from torch_embers.classify.text import ItemText
from torch_embers.taxonomy import Taxonomy
from unit.test_model import ABOUT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REPO = "o/r"
RUN = WeakLabel("consequence", "hang", "run-hang", "execution", "case a")


def classifier(held_out: dict[str, dict[str, tuple[float, ...]]] | None = None, **classes: Sequence[str]) -> Classifier:
    """A classifier of these questions that knows no word: what it says is given to the aggregator."""
    asked = {
        name.replace("__", "."): {"classes": tuple(own), "temperature": 1.0, "trained_on": {}, "sources": {}}
        for name, own in classes.items()
    }
    cut = {"scheme": "consequence", "value": "crash", "confidence": "high", "probability": 0.8, "measured": ()}
    nothing = dict.fromkeys(("title_terms", "words", "marks"), ())
    told = {"questions": asked, "cuts": (cut,), "dim": 1, "held_out": held_out or {}}
    about = About.model_validate(ABOUT | nothing | told)
    size, none = sum(map(len, classes.values())), np.zeros(0)
    parts = {"weights": np.zeros((2, size)), "intercepts": np.zeros(size), "title_rarity": none, "word_rarity": none}
    return of_parts(about, parts)


def labelled(
    made: Classifier, *votes: Sequence[WeakLabel], readable: bool = True, **said: list[list[float]]
) -> list[Label]:
    """The labels of items 1, 2, ... of which the classifier says this, with the votes on each."""
    keys = [(REPO, number) for number, _ in enumerate(next(iter(said.values())), start=1)]
    answers = {name.replace("__", "."): np.array(rows) for name, rows in said.items()}
    return Aggregator(made).labels(keys, answers, [readable] * len(keys), dict(zip(keys, votes, strict=False)))


def by_scheme(labels: Sequence[Label], place: int = 0) -> dict[str, str]:
    return {one.scheme: one.value for one in labels if one.place == place}


def test_children_are_asked_under_the_likeliest_class_of_their_parent_and_are_no_surer() -> None:
    labels = labelled(
        classifier(bug_type=("logical", "memory"), memory_type=("concurrency", "segment_fault")),
        bug_type=[[0.1, 0.9], [0.9, 0.1]],
        memory_type=[[0.8, 0.2], [0.9, 0.1]],
    )
    assert by_scheme(labels) == {"bug_type": "memory", "memory_type": "concurrency", "memory_subtype": "miss_lock"}
    assert [round(one.probability, 2) for one in labels if one.place == 0] == [0.9, 0.72, 0.72]
    assert by_scheme(labels, 1) == {"bug_type": "logical"}


def test_every_memory_type_of_the_taxonomy_has_a_question_of_its_subtype() -> None:
    asked = {question.under for question in questions(Taxonomy.load()) if question.scheme == "memory_subtype"}
    assert asked == set(Taxonomy.load().scheme("memory_type").names())


def test_of_what_reports_no_bug_nothing_else_is_said() -> None:
    made = classifier(bug_type=("logical", "not_a_bug"), consequence=("crash", "hang"), backend__mps=("-", "mps"))
    said: dict[str, Any] = {"consequence": [[0.9, 0.1]] * 2, "backend__mps": [[0.1, 0.9]] * 2}
    labels = labelled(made, bug_type=[[0.4, 0.6], [0.6, 0.4]], **said)
    assert by_scheme(labels) == {"bug_type": "not_a_bug"}
    assert by_scheme(labels, 1) == {"bug_type": "logical", "consequence": "crash", "backend": "mps"}
    assert {one.scheme: round(one.probability, 2) for one in labels if one.place == 1}["consequence"] == 0.54


def test_a_run_overrules_the_text_and_shows_that_it_is_a_bug() -> None:
    made = classifier(bug_type=("logical", "not_a_bug"), consequence=("crash", "hang"))
    labels = labelled(made, [RUN], bug_type=[[0.1, 0.9]], consequence=[[0.9, 0.1]])
    assert by_scheme(labels) == {"consequence": "hang", "bug_type": "logical"}
    assert {one.scheme: one.confidence for one in labels} == {"consequence": "high", "bug_type": "low"}
    assert labels[0].provenance == "execution"


def test_of_several_things_that_runs_showed_the_worst_is_said() -> None:
    made = classifier(consequence=("crash", "hang"))
    crash = WeakLabel("consequence", "crash", "run-signal", "execution", "case b")
    assert by_scheme(labelled(made, [RUN, crash], consequence=[[0.5, 0.5]])) == {"consequence": "crash"}


def test_of_an_unreadable_item_a_run_alone_can_speak() -> None:
    made = classifier(consequence=("crash", "hang"))
    labels = labelled(made, [], [RUN], readable=False, consequence=[[0.5, 0.5]] * 2)
    assert [(one.place, one.value, one.provenance) for one in labels] == [(1, "hang", "execution")]


def test_held_out_answers_stand_for_items_that_were_learned_from() -> None:
    made = classifier({"consequence": {f"{REPO}#1": (0.2, 0.8)}}, consequence=("crash", "hang"))
    [one] = labelled(made, consequence=[[0.99, 0.01]])
    assert (one.value, one.provenance, one.probability) == ("hang", aggregation.OUT_OF_FOLD, 0.8)


def test_questions_keep_their_weights_when_they_are_saved(tmp_path: Path) -> None:
    made = classifier(memory_type=("checking", "logic"), consequence=("crash", "hang"))
    made.weights[:, made.slices["memory_type"]] = [[9, -9], [9, -9]]
    body = models.weight_bytes(made)
    about = made.about.model_copy(update={"weights_sha256": models.digest(body)})
    Classifier(about, made.features, made.weights, made.intercepts, made.slices).save(tmp_path, {})
    row = made.features.rows([Item(ItemText("x", "", ()))], np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))
    for one in (made, models.load(tmp_path)):
        found = one.probabilities(row)
        assert found["memory_type"][0, 0] > 0.99
        assert found["consequence"][0, 0] == 0.5


@pytest.mark.parametrize(("question", "classes"), [("consequence", ("crash", "gone")), ("mood", ("good", "bad"))])
def test_a_classifier_of_another_taxonomy_is_refused(question: str, classes: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match=f"answers {question} with '(gone|bad)', which is no class"):
        Aggregator(classifier(**{question: classes}))


# ---- how sure ------------------------------------------------------------------------------------------------------


def cuts(*samples: list[tuple[float, bool]]) -> dict[str, float]:
    """The cuts of crashes where items of two samples got this probability, and were crashes or not."""
    rows, chances = [], []
    for sample, answers in zip((TITLES, BODIES), samples, strict=True):
        for probability, right in answers:
            gold = GoldItem(REPO, 1, {}, {}, None, {"consequence": frozenset({"crash" if right else "hang"})})
            rows.append(Example((REPO, 1), Item(ItemText("a title", "", ())), gold, sample))
            chances.append([probability, 1 - probability])
    found = confidence.cuts(classifier(consequence=("crash", "hang")), rows, {"consequence": np.array(chances)})
    return {cut.confidence: cut.probability for cut in found if cut.value == "crash"}


SURE = [(0.9, True)] * 40


def test_a_level_needs_its_share_of_right_labels_on_each_of_two_samples() -> None:
    assert cuts(SURE, SURE) == {"high": 0.3, "medium": 0.3}
    assert cuts(SURE + [(0.6, False)] * 10, SURE) == {"high": 0.61, "medium": 0.3}
    assert cuts(SURE, [(0.9, True)] * 30 + [(0.9, False)] * 10) == {"medium": 0.3}
    assert cuts(SURE, [(0.9, True), (0.9, False)] * 20) == {}


def test_a_level_needs_25_labels_on_each_sample() -> None:
    assert cuts(SURE, [(0.9, True)] * 24) == {}
    assert cuts(SURE, [(0.9, True)] * 25) == {"high": 0.3, "medium": 0.3}


def test_nine_of_ten_of_few_is_no_lower_bound() -> None:
    assert "high" not in cuts(SURE, [(0.9, True)] * 27 + [(0.9, False)] * 3), "27 of 30: the bound is 0.78"
