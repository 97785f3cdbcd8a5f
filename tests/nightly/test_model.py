"""The classifier of a question: what it learns, when it keeps silent, how it is kept, and what it refuses."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("sklearn")


from labelled import OPS, examples, items
from torch_embers.classify.bundle import ESTIMATORS, FILE, Bundle, HeldOut, TrainingRow
from torch_embers.classify.card import files
from torch_embers.classify.learning import kept
from torch_embers.classify.learning.calibration import RISK, fit_temperature, logits, threshold_for
from torch_embers.classify.learning.kept import ModelError
from torch_embers.classify.learning.model import Classifier

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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


# ---- how classifiers are kept: nothing in a file is executed, and a folder that was changed is refused ------------------

ROW = ["o/r", 1, "crash", 1.0, "gold:human:h"]
"""A row that was learned from."""


@pytest.fixture(scope="module")
def made() -> Bundle:
    texts, labels = examples(8)
    one = Classifier("consequence", votes={"title-segfault": "crash"})
    one.fit(items(texts, votes=[["title-segfault"] if "segfault" in text else [] for text in texts]), labels)
    rows = {"consequence": (TrainingRow(*ROW),)}
    held_out = {"consequence": (HeldOut("o/r", 1, (0.5, 0.25, 0.25)),)}
    return Bundle("made", "title", "words@0", "0", {"consequence": one}, held_out, rows)


@pytest.fixture
def folder(made: Bundle, tmp_path: Path) -> Path:
    made.save(tmp_path / "m", files(made))
    return tmp_path / "m"


def test_a_saved_bundle_gives_exactly_the_same_answers(made: Bundle, folder: Path) -> None:
    again, asked = Bundle.load(folder), items(["topk segfault on cpu", "norm deadlock", "", "не работает"])
    assert (again.probabilities(asked)["consequence"] == made.probabilities(asked)["consequence"]).all()
    assert files(again) == files(made)
    assert (again.version, again.held_out, again.rows) == (made.version, made.held_out, made.rows)
    one, other = again.classifiers["consequence"], made.classifiers["consequence"]
    assert (one.threshold, one.trained_on, one.votes) == (other.threshold, other.trained_on, other.votes)


def edit(path: Path, **change: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))


def sealed(folder: Path, **change: object) -> None:
    """Change the bundle, and seal it again."""
    edit(folder / FILE, **change)
    kept.seal(folder)


def learned(folder: Path, **change: object) -> None:
    """Change what the bundle says of its classifier, and seal it again."""
    [about] = json.loads((folder / FILE).read_text())["classifiers"].values()
    sealed(folder, classifiers={"consequence": about | change})


def resealed(folder: Path, content: bytes) -> None:
    (folder / ESTIMATORS).write_bytes(content)
    kept.seal(folder)


def bomb(folder: Path) -> None:
    with zipfile.ZipFile(folder / ESTIMATORS, "w", zipfile.ZIP_DEFLATED) as packed, packed.open("0.npy", "w") as entry:
        for _ in range(300):
            entry.write(bytes(2**20))
    kept.seal(folder)


def in_schema(folder: Path, what: bytes, by: bytes) -> None:
    """Change the first such place of the description of the estimators, and seal it again."""
    with zipfile.ZipFile(folder / ESTIMATORS) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    parts["schema.json"], changes = re.subn(what, by, parts["schema.json"], count=1)
    assert changes == 1
    with zipfile.ZipFile(folder / ESTIMATORS, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    kept.seal(folder)


TAMPERINGS: dict[str, Callable[[Path], object]] = {
    "a byte of the estimators": lambda at: (at / ESTIMATORS).write_bytes(
        bytes([b ^ 1 if n == 200 else b for n, b in enumerate((at / ESTIMATORS).read_bytes())])
    ),
    "a threshold": lambda at: (at / FILE).write_bytes((at / FILE).read_bytes().replace(b'"threshold"', b'"thresholt"')),
    "a vote": lambda at: (at / FILE).write_bytes((at / FILE).read_bytes().replace(b'segfault"', b'deadlock"')),
    "the training card": lambda at: (at / "TRAINING.md").write_text("learned from nothing"),
    "a file more": lambda at: (at / "more.txt").write_text("x"),
    "a file less": lambda at: (at / "TRAINING.md").unlink(),
    "no folder": shutil.rmtree,
    "bundle is cut": lambda at: (at / FILE).write_bytes((at / FILE).read_bytes()[:-20]),
    "bundle is a folder": lambda at: ((at / FILE).unlink(), (at / FILE).mkdir()),
    "bundle of an unknown text": lambda at: sealed(at, variant="poem"),
    "no seal": lambda at: (at / kept.SEAL).unlink(),
    "a seal of another version": lambda at: edit(at / kept.SEAL, format=99),
    "a seal that was edited": lambda at: edit(at / kept.SEAL, files={}),
    "a seal with a byte more": lambda at: (at / kept.SEAL).write_bytes((at / kept.SEAL).read_bytes() + b"\n"),
    "a seal that is a list": lambda at: (at / kept.SEAL).write_text("[]"),
    "a deep seal": lambda at: (at / kept.SEAL).write_text("[" * 100_000),
    "a pickle": lambda at: resealed(at, pickle.dumps({"estimator consequence": print})),
    "an empty file": lambda at: resealed(at, b""),
    "a bomb": bomb,
    "a foreign type": lambda at: in_schema(at, b'"Logits"', b'"Elsewhere"'),
    "fewer terms": lambda at: in_schema(at, rb'\\{3}"[a-z. ]+\\{3}", ', b""),
    "terms that are no list": lambda at: in_schema(at, rb'\[\\{3}".*?\]', b"7"),
    "a term twice": lambda at: in_schema(at, rb'(\\{3}"[a-z. ]+\\{3}"), ', rb"\1, \1, "),
    "no terms": lambda at: in_schema(at, rb'"content": "\\"\[\\{3}".*?\]\\""', b'"content": "null"'),
    "a training row of no finite weight": lambda at: sealed(
        at, rows={"consequence": [[*ROW[:3], float("inf"), ROW[4]]]}
    ),
    "a training row twice": lambda at: sealed(at, rows={"consequence": [ROW, ROW]}),
    "a cut file": lambda at: resealed(at, (at / ESTIMATORS).read_bytes()[:-200]),
    "no classifiers": lambda at: sealed(at, classifiers={}),
    "unknown classes": lambda at: learned(at, classes=["a"], votes={}),
    "a key more": lambda at: sealed(at, more=1),
    "a vote for a class that is not there": lambda at: learned(at, votes={"title-segfault": "elsewhere"}),
    "a threshold that is no number": lambda at: learned(at, threshold="nan"),
    "a threshold below 0": lambda at: learned(at, threshold=-1),
    **{
        f"a held-out answer {what}": lambda at, rows=rows: sealed(at, held_out={"consequence": rows})
        for what, rows in {
            "twice": [["o/r", 1, 0.5, 0.25, 0.25]] * 2,
            "that is no number": [["o/r", 1, "nan", 0.5, 0.5]],
            "above 1": [["o/r", 1, 7, 0.5, 0.5]],
            "of another shape": [["o/r", 1, 0.5]],
        }.items()
    },
}


@pytest.mark.parametrize("how", list(TAMPERINGS))
def test_a_changed_damaged_or_foreign_model_is_refused(folder: Path, how: str) -> None:
    TAMPERINGS[how](folder)
    with pytest.raises(ModelError) as refused:
        Bundle.load(folder)
    assert len(str(refused.value).splitlines()) == 1
    assert "pydantic" not in str(refused.value)


def test_equal_training_gives_equal_files(made: Bundle, folder: Path, tmp_path: Path) -> None:
    made.save(tmp_path / "two", files(made))
    for name in (FILE, *files(made)):
        assert (folder / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
