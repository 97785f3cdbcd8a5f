"""The classifier: what it learns, when it keeps silent, how it is kept, and what it refuses."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("sklearn")

from labelled import OPS, embed, examples
from support import example_count
from torch_embers.classify.learning import ngrams
from torch_embers.classify.learning.features import ANALYZERS, Inputs
from torch_embers.classify.learning.jointly import Together
from torch_embers.classify.learning.linear import View
from torch_embers.classify.learning.model import HybridClassifier, Settings
from torch_embers.classify.learning.ngrams import TermCounter
from torch_embers.classify.learning.sealed import FORMAT, ModelError, json_bytes, seal
from torch_embers.errors import InputError


@pytest.fixture(scope="module")
def fitted() -> HybridClassifier:
    texts, labels = examples()
    return HybridClassifier("consequence").fit(texts, embed(texts), labels, range(len(texts)))


def test_it_finds_the_class_of_texts_it_has_not_seen(fitted: HybridClassifier) -> None:
    texts = ["topk segfault on cpu", "norm deadlock", "sort slow and memory leak"]
    assert [one.best for one in fitted.predict(texts, embed(texts))] == ["crash", "hang", "performance"]


def test_probabilities_sum_to_one_and_are_the_same_every_time(fitted: HybridClassifier) -> None:
    texts = ["topk segfault on cpu", "something else entirely", ""]
    first = fitted.predict_proba(texts, embed(texts))
    assert first.sum(axis=1) == pytest.approx([1, 1, 1])
    assert (first == fitted.predict_proba(texts, embed(texts))).all()


def test_out_of_fold_probabilities_come_from_models_that_saw_neither_text_nor_group() -> None:
    texts, labels = examples(8)
    # One group repeats one odd word, and has a class of its own: held out, nothing can point to that class.
    texts, labels = [*texts, *["zyzzyva zyzzyva"] * 5], [*labels, *["odd"] * 5]
    groups = [*range(24), *[99] * 5]
    model = HybridClassifier("t").fit(texts, embed(texts), labels, groups)
    odd = model.classes.index("odd")
    assert model.out_of_fold is not None
    assert (model.out_of_fold[24:].argmax(axis=1) != odd).all()
    assert model.predict(texts[-1:], embed(texts[-1:]))[0].best == "odd"


def test_without_calibration_the_most_likely_class_is_the_same(fitted: HybridClassifier) -> None:
    texts, labels = examples()
    raw = HybridClassifier("consequence", Settings(folds=0)).fit(texts, embed(texts), labels, range(len(texts)))
    said = raw.predict_proba(OPS, embed(OPS)).argmax(axis=1)
    assert (said == fitted.predict_proba(OPS, embed(OPS)).argmax(axis=1)).all()
    assert not any(one.abstained for one in raw.predict(OPS, embed(OPS)))


def test_it_abstains_below_its_threshold_and_says_what_it_would_have_said(fitted: HybridClassifier) -> None:
    doubtful = replace(fitted, threshold=0.999)
    one = doubtful.predict(["tensor"], embed(["tensor"]))[0]
    assert (one.value, one.abstained) == (None, True)
    assert one.best in fitted.classes


def test_a_model_that_learned_nothing_useful_abstains_rather_than_guesses() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(OPS, 3)) for _ in range(80)]
    labels = rng.choice(["a", "b"], 80).tolist()
    model = HybridClassifier("noise").fit(texts, embed(texts), labels, range(80))
    said = model.predict(texts, embed(texts))
    assert sum(one.abstained for one in said) >= 60


def test_nothing_is_said_of_empty_texts_and_broken_vectors(fitted: HybridClassifier) -> None:
    vectors = embed(["segfault", "", " \n"])
    vectors[0] = np.nan
    for one in fitted.predict(["segfault", "", " \n"], vectors):
        assert (one.value, one.abstained, one.best) == (None, True, None)
        assert one.probability == pytest.approx(1 / 3)


def test_no_items_are_no_predictions(fitted: HybridClassifier) -> None:
    assert fitted.predict([], np.zeros((0, 64), dtype=np.float32)) == []


def test_predictions_name_the_model_they_came_from(fitted: HybridClassifier) -> None:
    assert fitted.predict(["x"], embed(["x"]))[0].provenance == f"model:consequence:{fitted.digest[:12]}"


def test_the_words_that_decided_are_named(fitted: HybridClassifier) -> None:
    reasons = fitted.explain("conv2d deadlock", embed(["conv2d deadlock"])[0])
    assert reasons[0].term == "deadlock"
    assert reasons[0].weight > 0
    assert fitted.explain("", embed([""])[0]) == []


def test_a_class_of_one_example_and_a_text_in_another_script_can_be_learned() -> None:
    texts, labels = examples(10)
    texts, labels = [*texts, "разные результаты 不一致 🐛"], [*labels, "silent_correctness"]
    model = HybridClassifier("c").fit(texts, embed(texts), labels)
    assert model.trained_on["silent_correctness"] == 1
    assert model.predict_proba(texts, embed(texts)).shape == (31, 4)


def test_texts_without_a_usable_term_leave_the_vote_to_the_vectors() -> None:
    vectors = np.eye(12, dtype=np.float32)
    model = HybridClassifier("c").fit(["!"] * 12, vectors, ["a", "b"] * 6, range(12))
    assert model.predict_proba(["?"], vectors[:1]).shape == (1, 2)


def test_less_certain_labels_count_less() -> None:
    texts = ["gather", "gather", "gather", "sort", "gather", "topk"] * 4
    labels = ["crash", "crash", "crash", "crash", "hang", "hang"] * 4
    doubt = [0.01, 0.01, 0.01, 1.0, 1.0, 1.0] * 4
    inputs = Inputs({"text": texts}, {})
    settings = Settings(views=(View("word"),))
    plain, weighted = (
        HybridClassifier("c", settings).fit(inputs, None, labels, range(24), weights) for weights in (None, doubt)
    )
    hang = plain.classes.index("hang")
    one = Inputs({"text": ["gather"]}, {})
    assert weighted.predict_proba(one)[0, hang] > 0.8 > plain.predict_proba(one)[0, hang]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": ["a"] * 75}, "at least two classes"),
        ({"labels": ["a"] * 3}, "do not go together"),
        ({"groups": [0] * 75}, "groups"),
        ({"groups": [0, 1]}, "groups"),
        ({"weights": [0.0] * 75}, "positive"),
        ({"weights": [float("nan")] * 75}, "positive"),
        ({"vectors": np.full((75, 4), np.nan, dtype=np.float32)}, "no numbers"),
        ({"vectors": np.zeros((3, 4), dtype=np.float32)}, "differ in number"),
        ({"vectors": np.zeros(75, dtype=np.float32)}, "matrix"),
        ({"vectors": None}, "vector:text"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(change: dict[str, object], said: str) -> None:
    texts, labels = examples()
    given = {"vectors": embed(texts), "labels": labels, "groups": range(75), **change}
    with pytest.raises(InputError, match=said):
        HybridClassifier("c").fit(texts, **given)


def test_use_before_learning_and_vectors_of_another_embedder_are_refused(
    fitted: HybridClassifier, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="not learned"):
        HybridClassifier("c").predict(["x"], embed(["x"]))
    with pytest.raises(InputError, match="not learned"):
        HybridClassifier("c").save(tmp_path)
    with pytest.raises(InputError, match="another embedder"):
        fitted.predict(["x"], np.zeros((1, 7), dtype=np.float32))


def test_a_saved_model_gives_exactly_the_same_answers(fitted: HybridClassifier, tmp_path: Path) -> None:
    texts = ["topk segfault on cpu", "norm deadlock", "", "не работает"]
    fitted.save(tmp_path / "m")
    again = HybridClassifier.load(tmp_path / "m")
    assert (again.predict_proba(texts, embed(texts)) == fitted.predict_proba(texts, embed(texts))).all()
    assert again.predict(texts, embed(texts)) == fitted.predict(texts, embed(texts))
    assert again.explain(texts[0], embed(texts)[0]) == fitted.explain(texts[0], embed(texts)[0])
    assert (again.digest, again.threshold, again.trained_on) == (fitted.digest, fitted.threshold, fitted.trained_on)


def test_equal_training_gives_equal_files(fitted: HybridClassifier, tmp_path: Path) -> None:
    texts, labels = examples()
    fitted.save(tmp_path / "one")
    HybridClassifier("consequence").fit(texts, embed(texts), labels, range(len(texts))).save(tmp_path / "two")
    for name in ("arrays.npz", "model.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_an_always_abstaining_model_can_be_saved(fitted: HybridClassifier, tmp_path: Path) -> None:
    replace(fitted, threshold=float("inf")).save(tmp_path)
    assert HybridClassifier.load(tmp_path).threshold == float("inf")


def _reseal(folder: Path, **change: object) -> None:
    """Change a model as someone would who knows the format."""
    about = {**json.loads((folder / "model.json").read_text()), **change}
    (folder / "model.json").write_bytes(json_bytes({**about, "seal": seal(about)}))


def _swap_arrays(folder: Path, content: bytes) -> None:
    (folder / "arrays.npz").write_bytes(content)
    _reseal(folder, sha256={"arrays.npz": hashlib.sha256(content).hexdigest()})


def _pickled_array(folder: Path) -> None:
    inner, stream = io.BytesIO(), io.BytesIO()
    np.save(inner, np.array([print], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("weights0.npy", inner.getvalue())
    _swap_arrays(folder, stream.getvalue())


def _bomb(folder: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed, packed.open("weights0.npy", "w") as entry:
        for _ in range(600):
            entry.write(bytes(2**20))
    _swap_arrays(folder, stream.getvalue())


def _rewrite(folder: Path, name: str, old: bytes, new: bytes) -> None:
    (folder / name).write_bytes((folder / name).read_bytes().replace(old, new))


TAMPERINGS = {
    "arrays cut": lambda at: (at / "arrays.npz").write_bytes((at / "arrays.npz").read_bytes()[:-1]),
    "text changed": lambda at: _rewrite(at, "model.json", b'"crash"', b'"hang_"'),
    "other version": lambda at: _reseal(at, format=FORMAT + 1),
    "no version": lambda at: (at / "model.json").write_text("[]"),
    "not json": lambda at: (at / "model.json").write_bytes(b"\xff{"),
    "deep json": lambda at: (at / "model.json").write_text("[" * 100_000),
    "no arrays": lambda at: (at / "arrays.npz").unlink(),
    "no text": lambda at: (at / "model.json").unlink(),
    "fewer classes": lambda at: _reseal(at, classes=["crash", "hang"]),
    "other settings": lambda at: _reseal(at, settings={"views": []}),
    "no members": lambda at: _reseal(at, members=None),
    "not a zip": lambda at: _swap_arrays(at, b"no zip"),
    "pickled array": _pickled_array,
    "bare pickle": lambda at: _swap_arrays(at, pickle.dumps({"weights0": print})),
    "bomb": _bomb,
}


@pytest.mark.parametrize("how", list(TAMPERINGS))
def test_a_changed_damaged_or_foreign_model_is_refused(fitted: HybridClassifier, tmp_path: Path, how: str) -> None:
    fitted.save(tmp_path)
    TAMPERINGS[how](tmp_path)
    with pytest.raises(ModelError):
        HybridClassifier.load(tmp_path)


# ---- several classifiers at once ----------------------------------------------------------------------------------

SAID = st.text(st.sampled_from("abcdef XYZ._-\n\t\u3000é结ß"), max_size=40) | st.text(max_size=20)


@settings(max_examples=example_count(80))
@given(st.lists(SAID, min_size=1, max_size=6), st.lists(SAID, max_size=6), st.sampled_from(sorted(ANALYZERS)))
def test_terms_are_counted_as_scikit_learn_counts_them(known: list[str], texts: list[str], analyzer: str) -> None:
    from sklearn.feature_extraction.text import CountVectorizer

    options = dict(ANALYZERS[analyzer])
    try:
        terms = CountVectorizer(**options).fit(known).vocabulary_
    except ValueError:  # no term at all
        return
    expected = CountVectorizer(vocabulary=terms, **options).transform(texts)
    counter = TermCounter(analyzer, terms)
    for _ in range(2):  # the second time from what it remembers
        assert (counter(texts).toarray() == expected.toarray()).all()


def test_what_a_counter_remembers_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams, "WORDS_KEPT", 50)
    counter = TermCounter("char", {"ab": 0, "ab ": 1})
    for start in range(0, 500, 20):
        counts = counter([f"ab{n} cab" for n in range(start, start + 20)])
        assert counts.sum(axis=0).tolist() == [[40.0, 20.0]]
        assert len(counter._pieces) <= 50 + 21


def test_classifiers_together_say_what_each_says_alone(fitted: HybridClassifier) -> None:
    texts, labels = examples(8)
    other = HybridClassifier("other", Settings(views=(View("word"), View("vector")))).fit(
        texts, embed(texts), ["x" if label == "crash" else "y" for label in labels]
    )
    models = {"consequence": fitted, "other": other}
    asked = [*texts, "topk segfault on cpu", "", "не работает", "~", "segfault " * 5_000]
    vectors = embed(asked)
    vectors[2] = np.nan
    together = Together(models)
    inputs = Inputs.of(asked, vectors)
    found = together.probabilities(inputs)
    for scheme, model in models.items():
        assert found[scheme] == pytest.approx(model.predict_proba(asked, vectors), abs=1e-12)
        expected = [(one.scheme, one.value, one.best, one.provenance) for one in model.predict(asked, vectors)]
        assert [
            (one.scheme, one.value, one.best, one.provenance) for one in together.predict(inputs)[scheme]
        ] == expected
    assert together.probabilities(Inputs.of([], np.zeros((0, 64), np.float32)))["other"].shape == (0, 2)
    with pytest.raises(InputError, match="another embedder"):
        together.probabilities(Inputs.of(["x"], np.zeros((1, 7), dtype=np.float32)))
    with pytest.raises(InputError, match="not learned"):
        Together({"c": HybridClassifier("c")}).probabilities(inputs)
