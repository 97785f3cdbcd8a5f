"""The classifier of a question: what it learns, when it keeps silent, and what it refuses."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("sklearn")

from labelled import embed, examples, items
from torch_embers.classify.bundle import Bundle, shipped_folder
from torch_embers.classify.learning.calibration import DIGITS, fit_temperature, logits, threshold_for
from torch_embers.classify.learning.features import View, readable, table
from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.classify.learning.kept import ModelError
from torch_embers.classify.learning.model import Classifier, Settings
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def fitted() -> Classifier:
    texts, labels = examples()
    return Classifier("consequence").fit(items(texts), labels, range(len(texts)))


def test_probabilities_sum_to_one_and_are_the_same_every_time(fitted: Classifier) -> None:
    texts = ["topk segfault on cpu", "something else entirely", ""]
    first = fitted.predict_proba(items(texts))
    assert first.sum(axis=1) == pytest.approx([1, 1, 1])
    assert (first == fitted.predict_proba(items(texts))).all()


def test_it_abstains_below_its_threshold_and_says_what_it_would_have_said(fitted: Classifier) -> None:
    doubtful = replace(fitted, threshold=0.9999)
    [column], _, [given] = doubtful.answers(doubtful.predict_proba(items(["tensor"])))
    assert not given
    assert doubtful.classes[column] in fitted.classes


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


def test_less_certain_labels_count_less() -> None:
    texts = ["gather", "gather", "gather", "sort", "gather", "topk"] * 4
    labels = ["crash", "crash", "crash", "crash", "hang", "hang"] * 4
    settings, asked = Settings(views=(View("word"),), folds=0), table(["gather"])
    plain, weighted = (
        Classifier("c", settings).fit(table(texts), labels, weights=weights).predict_proba(asked)[0, 1]
        for weights in (None, [0.01, 0.01, 0.01, 1.0, 1.0, 1.0] * 4)
    )
    assert weighted > 0.8 > plain


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


@pytest.mark.parametrize("name", sorted(path.name for path in shipped_folder().iterdir()))
def test_a_shipped_classifier_with_another_byte_is_refused(tmp_path: Path, name: str) -> None:
    shutil.copytree(shipped_folder(), tmp_path / "model")
    content = (tmp_path / "model" / name).read_bytes()
    (tmp_path / "model" / name).write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    with pytest.raises(ModelError, match=name):
        Bundle.load(tmp_path / "model")
