"""The classifier: what it reads of items, what is kept of it, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from torch_embers.classify import model as models
from torch_embers.classify.features import Features, Item, Terms, legible
from torch_embers.classify.model import About, Classifier, ModelError, of_parts
from torch_embers.classify.text import ItemText

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def item(title: str, body: str = "", signs: tuple[str, ...] = (), votes: tuple[str, ...] = ()) -> Item:
    return Item(ItemText(title, body, signs), votes)


ITEMS = [item("segfault in sort", "it dies", ("cpp",), ("title-crash",)), item("sort is slow", "", ("cpp",))]
ABOUT: dict[str, Any] = {
    "format": models.FORMAT,
    "name": "made",
    "embedding": "words@0",
    "taxonomy": "",
    "weights_sha256": "",
    "questions": {
        "consequence": {"classes": ["crash", "performance"], "temperature": 1, "trained_on": {}, "sources": {}}
    },
    "cuts": [
        {"scheme": "consequence", "value": "crash", "confidence": level, "probability": cut, "measured": []}
        for level, cut in (("medium", 0.5), ("high", 0.8))
    ],
    "held_out": {"consequence": {"o/r#1": [0.2, 0.8]}},
    "confusion": {},
}


@pytest.fixture
def made() -> Classifier:
    """A classifier that knows two words: one of crashes, one of performance."""
    features = Features.learned(ITEMS, ["title-crash"], 2)
    weights = np.zeros((features.width, 2), np.float32)
    for name, column in (("segfault", 0), ("slow", 1)):
        weights[[place for place, term in enumerate(features.names) if term == name], column] = 2
    parts = {"title_rarity": features.title.rarity, "word_rarity": features.words.rarity}
    told = {"title_terms": features.title.terms, "words": features.words.terms, "marks": features.marks, "dim": 2}
    about = About.model_validate_json(json.dumps(ABOUT | told))
    found = of_parts(about, {"weights": weights, "intercepts": np.zeros(2, np.float32), **parts})
    digest = models.digest(models.weight_bytes(found))
    return of_parts(
        about.model_copy(update={"weights_sha256": digest}),
        {"weights": found.weights, "intercepts": found.intercepts, **parts},
    )


def rows(made: Classifier, *items: Item) -> list[Any]:
    nothing = np.zeros((len(items), 2), np.float32)
    return made.features.rows(items, nothing, nothing)


def test_words_of_titles_and_bodies_signs_and_votes_have_columns_of_their_own() -> None:
    features = Features.learned(ITEMS, ["title-crash"], 2)
    assert "segfault in" in features.title.terms
    assert "dies" not in features.title.terms
    assert features.marks == ("cpp", "title-crash")
    [one] = features.rows(ITEMS[:1], np.ones((1, 2), np.float32), np.full((1, 2), 3, np.float32))
    assert one.values[-4:].tolist() == [1, 1, 3, 3]
    assert {features.names[place] for place in one.places[:-4]} >= {"segfault in", "sort", "cpp", "title-crash"}


def test_rare_terms_weigh_more_and_a_text_has_length_one() -> None:
    terms = Terms.learned(["a1 bb", "bb cc", "bb"], 1, 1, 10)
    found = terms.weigher()("bb a1 bb")
    weights = dict(zip(np.array(terms.terms)[found.places], found.values, strict=True))
    assert np.linalg.norm(found.values) == pytest.approx(1)
    assert weights["a1"] > weights["bb"] / 1.7, "once and rare against twice and everywhere"
    assert Terms.learned(["bb cc", "bb"], 1, 2, 10).terms == ("bb",)


def test_probabilities_sum_to_one_and_do_not_depend_on_other_items(made: Classifier) -> None:
    items = [item("segfault"), item("slow"), item("")]
    together = made.probabilities(rows(made, *items))["consequence"]
    assert together.sum(axis=1) == pytest.approx([1, 1, 1])
    assert together[0, 0] > 0.8 > 0.5 == together[2, 0]
    alone = [made.probabilities(rows(made, one))["consequence"][0] for one in items]
    assert np.array_equal(np.array(alone), together)
    assert made.probabilities([])["consequence"].shape == (0, 2)


def test_the_words_that_spoke_for_a_class_are_named(made: Classifier) -> None:
    [row] = rows(made, item("segfault in sort", "it dies"))
    assert {reason.term for reason in made.terms(row, "consequence", "crash", 5)} == {"segfault"}
    assert made.terms(row, "consequence", "performance", 5) == []


@pytest.mark.parametrize(
    ("value", "probability", "level"),
    [
        ("crash", 0.9, "high"),
        ("crash", 0.8, "high"),
        ("crash", 0.79, "medium"),
        ("crash", 0.4, "low"),
        ("hang", 1, "low"),
    ],
)
def test_a_label_is_as_sure_as_the_highest_cut_that_it_reaches(
    made: Classifier, value: str, probability: float, level: str
) -> None:
    assert made.confidence("consequence", value, probability) == level


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("训练时显存泄漏", False),
        ("Падение при вызове conv2d", False),
        ("Größe von `torch.Tensor` falsch", True),
        ("segfault 段错误", True),
        ("21250 2", True),
        (" \n", False),
    ],
)
def test_of_a_text_mostly_in_a_script_that_nothing_was_learned_in_nothing_is_said(text: str, read: bool) -> None:
    assert legible(text) is read


# ---- kept ----------------------------------------------------------------------------------------------------------


def test_what_was_saved_answers_alike(made: Classifier, tmp_path: Path) -> None:
    made.save(tmp_path / "m", {"README.md": b"card"})
    again = models.load(tmp_path / "m")
    assert again.version == made.version
    assert again.held_out("consequence", "o/r", 1) == (0.2, 0.8)
    assert again.held_out("consequence", "o/r", 2) is None
    one = rows(made, item("segfault"))
    assert again.probabilities(one)["consequence"] == pytest.approx(made.probabilities(one)["consequence"], abs=1e-3)


def without_a_class(about: dict[str, Any]) -> None:
    about["questions"]["consequence"]["classes"] = ["crash"]


def short_answers(about: dict[str, Any]) -> None:
    about["held_out"]["consequence"]["o/r#1"] = [1.0]


@pytest.mark.parametrize(
    "change",
    [
        without_a_class,
        short_answers,
        lambda about: about.update(format=99),
        lambda about: about.update(weights_sha256="0" * 64),
        lambda about: about.pop("words"),
        lambda about: about.update(words=[]),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    made: Classifier, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    made.save(tmp_path, {})
    about = json.loads((tmp_path / models.FILE).read_text())
    change(about)
    (tmp_path / models.FILE).write_text(json.dumps(about))
    with pytest.raises(ModelError, match="train the classifier again"):
        models.load(tmp_path)


@pytest.mark.parametrize("body", [b"", b"PK\x03\x04", b"\x80\x04K\x01."])
def test_weights_that_are_no_arrays_are_refused(made: Classifier, tmp_path: Path, body: bytes) -> None:
    made.save(tmp_path, {})
    about = json.loads((tmp_path / models.FILE).read_text()) | {"weights_sha256": models.digest(body)}
    (tmp_path / models.FILE).write_text(json.dumps(about))
    (tmp_path / models.WEIGHTS).write_bytes(body)
    with pytest.raises(ModelError, match="damaged"):
        models.load(tmp_path)


def test_files_that_are_too_large_or_have_no_end_are_refused_unread(made: Classifier, tmp_path: Path) -> None:
    made.save(tmp_path, {})
    with (tmp_path / models.FILE).open("r+b") as stream:
        stream.truncate(2**40)
    with pytest.raises(ModelError, match="too large"):
        models.load(tmp_path)
    (tmp_path / models.FILE).unlink()
    os.mkfifo(tmp_path / models.FILE)
    with pytest.raises(ModelError, match="no file"):
        models.load(tmp_path)


def test_no_folder_and_a_place_that_is_taken_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no classifier"):
        models.load(tmp_path / "nowhere")
    (tmp_path / "taken").write_text("")
    with pytest.raises(ModelError, match="taken is no folder"):
        models.check_target(tmp_path / "taken")


def test_the_shipped_weights_with_another_byte_are_refused(tmp_path: Path) -> None:
    shutil.copytree(models.shipped_folder(), tmp_path / "model")
    place = tmp_path / "model" / models.WEIGHTS
    content = place.read_bytes()
    place.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    with pytest.raises(ModelError, match=models.WEIGHTS):
        models.load(tmp_path / "model")
