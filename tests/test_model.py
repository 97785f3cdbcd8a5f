"""The classifier: what it learns, when it keeps silent, how it is kept, and what it refuses."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import pickle
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("sklearn")

from torch_embers.classify.evaluate import (
    Hybrid,
    Majority,
    Table,
    TfidfBaseline,
    agreement,
    compare,
    evaluate_tables,
    held_out,
    read_table,
)
from torch_embers.classify.features import Inputs
from torch_embers.classify.model import FORMAT, HybridClassifier, ModelError, Settings, View, _json, _seal
from torch_embers.classify.protocols import gold, gold_groups, gold_items, mhnurf_splits, nlbse
from torch_embers.classify.splits import Split
from torch_embers.errors import InputError

WORDS = {
    "crash": ["segfault", "abort", "core dumped", "illegal memory access"],
    "hang": ["deadlock", "stuck forever", "never returns", "hangs"],
    "performance": ["slow", "memory leak", "regression in speed", "takes longer"],
}
OPS = ["conv2d", "cumsum", "softmax", "linear", "sort", "gather", "matmul", "topk", "cat", "norm"]


def embed(texts) -> np.ndarray:
    """A stand-in for the embedder: a bag of letters and of pairs, normalised."""
    made = np.zeros((len(texts), 64), dtype=np.float32)
    for row, text in enumerate(texts):
        for one, other in itertools.pairwise(text):
            made[row, (ord(one) * 31 + ord(other)) % 64] += 1
    return made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9)


def examples(count: int = 25, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for label, words in WORDS.items():
        for place in range(count):
            texts.append(f"{rng.choice(OPS)} {words[place % 4]} with {rng.choice(OPS)} input {place}")
            labels.append(label)
    return texts, labels


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
    (folder / "model.json").write_bytes(_json({**about, "seal": _seal(about)}))


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


def test_baselines_and_model_are_compared_on_the_same_texts() -> None:
    texts, labels = examples(15)
    report = compare(
        "consequence",
        Inputs.of(texts, embed(texts)),
        labels,
        range(len(texts)),
        (Majority(), TfidfBaseline(balanced=False), TfidfBaseline(), Hybrid()),
    )
    assert [score.name for score in report.scores] == ["majority", "tfidf+lr", "tfidf+lr balanced", "hybrid"]
    assert report.score("hybrid").differences["majority"].excludes_zero
    assert report.score("majority").macro_f1.value < 0.35
    assert report.texts == sum(report.classes.values()) == 45
    assert len(report.table()) == 4
    json.dumps(report.as_dict())
    with pytest.raises(InputError):
        report.score("nobody")


def test_a_learner_sees_no_text_of_the_test_half() -> None:
    seen: list[set[str]] = []

    class Spy(Majority):
        def answer(self, train, labels, groups, test):
            seen.append(set(train.fields["text"]) & set(test.fields["text"]))
            assert len(labels) == len(groups) == len(train)
            return super().answer(train, labels, groups, test)

    texts, labels = examples(10)
    compare("t", Inputs.of(texts), labels, range(30), (Spy(),))
    assert seen == [set()] * 5


def test_overlapping_test_halves_are_refused() -> None:
    texts, labels = examples(5)
    split = Split(np.arange(5), np.arange(5, 10))
    with pytest.raises(InputError, match="two test halves"):
        held_out(Majority(), Inputs.of(texts), labels, range(15), [split, split])


def test_csv_files_are_evaluated_by_folds_or_on_a_test_file(tmp_path: Path) -> None:
    texts, labels = examples(12)
    for name, start in (("train.csv", 0), ("test.csv", 1)):
        rows = [f'"{text}",{label},{place}' for place, (text, label) in enumerate(zip(texts, labels, strict=True))]
        (tmp_path / name).write_text("\n".join(["text,label,thread", *rows[start::2]]))
    train, test = (read_table(tmp_path / name, ["text"], "label", "thread") for name in ("train.csv", "test.csv"))
    report = evaluate_tables(train, test, embed, [*train.groups, *test.groups])
    assert report.texts == len(test.texts)
    assert evaluate_tables(train, None, embed, train.groups).texts == len(train.texts)
    repeated = evaluate_tables(train, train, embed, [*train.groups, *train.groups])
    assert "18 of 18" in repeated.notes[0]
    strange = Table(test.texts, ("unheard of",) * len(test.texts), test.groups)
    with pytest.raises(InputError, match="unheard of"):
        evaluate_tables(train, strange, embed, [*train.groups, *test.groups])


@pytest.mark.parametrize(
    ("content", "columns", "said"),
    [
        (None, ["text"], "cannot read"),
        (b"", ["text"], "cannot read"),
        (b"text,label\n", ["text"], "no rows"),
        (b"text,label\na,\n", ["text"], "row 2 has no label"),
        (b"text,label\na,b\n", ["body"], "no column body"),
        (b'text,label\n"a,b\n', ["text"], "cannot read"),
        (b"text,label\n\xff\xfe,b\n", ["text"], "cannot read"),
    ],
)
def test_a_csv_file_that_cannot_be_used_is_refused(
    tmp_path: Path, content: bytes | None, columns: list[str], said: str
) -> None:
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_table(path, columns, "label")


def entry(number: int, **labels: str) -> dict[str, object]:
    rows = [
        {"scheme": "bug_type", "annotator": who, "annotator_kind": "automated", "value": value}
        for who, value in labels.items()
    ]
    return {
        "number": number,
        "title": f"[MPS] bug {number}",
        "summary": "SECRET",
        "created_at": "2022-01-01",
        "taxonomy": rows,
    }


def test_a_summary_of_the_catalog_never_becomes_model_text() -> None:
    items = gold_items([entry(1, one="memory"), entry(2)], "bug_type", "one", {1: "the real body"})
    assert [(item.number, item.from_body) for item in items] == [(1, True)]
    assert "SECRET" not in items[0].text
    assert "the real body" in items[0].text
    untagged = gold_items([entry(1, one="memory")], "bug_type", "one", {}, tags=False, titles_only=True)
    assert untagged[0].text == "bug 1"


def test_related_catalog_entries_share_a_group() -> None:
    rows = [
        {**entry(place, one="memory"), "title": title}
        for place, title in enumerate(("alpha", "beta", "gamma", "delta"))
    ]
    items = gold_items(rows, "bug_type", "one", {})
    assert gold_groups(items, {0: [2], 2: [3], 3: [77]}).tolist() == [0, 1, 0, 0]


def test_gold_is_compared_by_folds_and_by_time() -> None:
    texts, labels = examples(10)
    rows = [
        {**entry(place, one=label), "title": text, "created_at": f"20{20 + place % 5}-05-01"}
        for place, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    items = gold_items(rows, "bug_type", "one", {})
    assert gold("bug_type", items, embed, np.arange(30)).texts == 30
    later = gold("bug_type", items, embed, np.arange(30), cut=datetime(2023, 1, 1, tzinfo=UTC))
    assert later.texts == 12
    assert any("trained on 18" in note for note in later.notes)


def test_agreement_counts_entries_labelled_twice() -> None:
    rows = [entry(1, one="memory", two="memory"), entry(2, one="logical", two="logical"), entry(3, one="other")]
    found, count = agreement(rows, "bug_type", "one", "two")
    assert (found.value, count) == (1.0, 2)
    with pytest.raises(InputError):
        agreement(rows, "bug_type", "one", "three")


def test_the_published_splits_are_reproduced() -> None:
    splits = mhnurf_splits(752)
    assert len(splits) == 30
    assert {(len(split.train), len(split.test)) for split in splits} == {(601, 151)}
    assert splits[0].test[:5].tolist() == mhnurf_splits(752)[0].test[:5].tolist()


def test_nlbse_scores_each_repository_by_itself() -> None:
    pandas = pytest.importorskip("pandas")
    texts, labels = examples(6)
    frame = pandas.DataFrame({"repo": ["a", "b"] * 9, "label": labels, "title": texts, "body": [""] * 18})
    found = nlbse(frame, embed, Majority(), folds=2, repeats=2)
    assert sorted(found) == ["a", "b"]
    assert len(found["a"].scores) == 2
    with pytest.raises(InputError, match="no column"):
        nlbse(frame.drop(columns="body"), embed)
