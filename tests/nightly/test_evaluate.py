"""What is measured beside plain baselines: on labelled items and on CSV files."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from helpers.rows import GoldLabel
from helpers.search import REPO, Words, item, store_of
from support import Ended, run_embers
from torch_embers.classify.embedding import embed
from torch_embers.classify.labels import bodies, wild
from torch_embers.evaluate.measure import Answers, report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Embers = Callable[..., Ended]

SAID = {"a": "segfault", "b": "slow", "c": "deadlock"}
OPS = ("sort", "topk", "cumsum", "einsum", "norm", "dot", "gather", "where", "eye", "kron", "roll", "flip")


@pytest.fixture
def embers(monkeypatch: pytest.MonkeyPatch) -> Embers:
    """The command line in this process, with a quick embedder, and nothing of the shipped labels."""
    monkeypatch.setattr(embed, "load_embedder", lambda *_, **__: Words(384, "words@0/test"))
    monkeypatch.setattr(wild, "load", list)
    monkeypatch.setattr(bodies, "load", list)
    return partial(run_embers, COLUMNS="1000")


def lines(*labels: str) -> str:
    rows = [f"{SAID[label]} in {op} {op * 2},it {SAID[label]}s,{label}" for op in OPS for label in labels]
    return "title,body,label\n" + "\n".join(rows) + "\n"


def test_a_second_file_is_answered_and_every_learner_is_compared_with_the_last(embers: Embers, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text(lines("a", "b", "c"))
    (tmp_path / "test.csv").write_text("title,body,label\nsegfault in add,,a\nslow in mul,,b\ndeadlock in sub,,c\n")
    words = ("research", "evaluate", "--train", tmp_path / "train.csv", "--test", tmp_path / "test.csv")
    done = embers(*words, "--text-col", "title", "--text-col", "body", "--out", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("train, test: kappa 1.000 of hybrid on 3 texts in 3 groups, 3 classes")
    [found] = json.loads((tmp_path / "out.json").read_text())["reports"]
    assert [score["learner"] for score in found["scores"]] == ["majority", "tfidf", "vectors", "hybrid"]
    assert found["scores"][0]["kappa"]["value"] == 0
    assert found["scores"][0]["ahead"]["value"] == 1
    assert found["scores"][-1]["ahead"] is None


def test_one_file_is_answered_in_folds_that_keep_near_duplicates_together(embers: Embers, tmp_path: Path) -> None:
    twice = lines("a", "b") + lines("a", "b").partition("\n")[2]
    (tmp_path / "train.csv").write_text(twice)
    done = embers("research", "evaluate", "--train", tmp_path / "train.csv", "--text-col", "title")
    assert "on 48 texts in 24 groups" in done.stdout


def test_labelled_items_are_measured_by_scheme(embers: Embers, database: Path) -> None:
    values = {"a": "crash", "b": "performance"}
    titles = {f"{SAID[label]} in {op} {op * 2}": value for op in OPS for label, value in values.items()}
    store_of(
        database,
        [item(number, title) for number, title in enumerate(titles)],
        gold_labels=[GoldLabel(REPO, n, "consequence", value, "human", "h") for n, value in enumerate(titles.values())],
    )
    done = embers("research", "evaluate", "--database", database)
    assert done.stdout.startswith("consequence, chosen: kappa "), done.stderr
    refused = embers("research", "evaluate", "--scheme", "bug_type", "--database", database)
    assert (refused.returncode, "too few labelled items in bug_type" in refused.stderr) == (3, True)


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("text,label\n", (), "no rows"),
        ("text,label\nx,\n", (), "row 2 has no label"),
        ("text,label\nx,a\n", (), "at least two classes"),
        ("text,label\nx,a\n", ("--text-col", "body"), "no column body"),
        ("\x00", (), "train.csv"),
    ],
)
def test_a_file_that_cannot_be_learned_from_is_one_line(
    embers: Embers, tmp_path: Path, text: str, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "train.csv").write_text(text)
    done = embers("research", "evaluate", "--train", tmp_path / "train.csv", *words)
    assert done.returncode == 3
    assert said in done.stderr
    assert embers("research", "evaluate", "--test", tmp_path / "train.csv").returncode == 3


def test_scores_are_those_of_the_answers() -> None:
    truth = ["a", "a", "b", "b"]
    said = [Answers(name, np.array(own), np.full(4, 0.75)) for name, own in (("one", ["a"] * 4), ("two", truth))]
    first, last = report("t", "s", truth, [1, 2, 3, 4], said).scores
    assert (first.accuracy, first.kappa.value, last.kappa.value) == (0.5, 0, 1)
    assert (round(first.calibration_error, 2), round(last.calibration_error, 2)) == (0.25, 0.25)
    assert first.ahead is not None
    assert first.ahead.value == 1
