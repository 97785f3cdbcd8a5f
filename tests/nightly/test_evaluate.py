"""What is measured beside plain baselines on labelled items."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from helpers.rows import GoldLabel, store_of
from helpers.search import REPO, Words, item
from support import Ended, run_embers
from torch_embers.classify.embedding import embed
from torch_embers.classify.labels import bodies, wild
from torch_embers.evaluate.compare_learners import LearnerAnswers, report

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


def test_labelled_items_are_measured_by_scheme(embers: Embers, database: Path, tmp_path: Path) -> None:
    values = {"a": "crash", "b": "performance"}
    titles = {f"{SAID[label]} in {op} {op * 2}": value for op in OPS for label, value in values.items()}
    store_of(
        database,
        [item(number, title) for number, title in enumerate(titles)],
        gold_labels=[GoldLabel(REPO, n, "consequence", value, "human", "h") for n, value in enumerate(titles.values())],
    )
    done = embers("research", "evaluate", "--database", database, "--out", tmp_path / "out.json")
    assert done.stdout.startswith("consequence, chosen: kappa "), done.stderr
    [found] = json.loads((tmp_path / "out.json").read_text())["reports"]
    assert [score["learner"] for score in found["scores"]] == ["majority", "tfidf", "vectors", "hybrid"]
    assert found["scores"][-1]["ahead"] is None
    refused = embers("research", "evaluate", "--scheme", "bug_type", "--database", database)
    assert (refused.returncode, "too few labelled items in bug_type" in refused.stderr) == (3, True)


def test_scores_are_those_of_the_answers() -> None:
    truth = ["a", "a", "b", "b"]
    said = [LearnerAnswers(name, np.array(own), np.full(4, 0.75)) for name, own in (("one", ["a"] * 4), ("two", truth))]
    first, last = report("t", "s", truth, [1, 2, 3, 4], said).scores
    assert (first.accuracy, first.kappa.value, last.kappa.value) == (0.5, 0, 1)
    assert (round(first.calibration_error, 2), round(last.calibration_error, 2)) == (0.25, 0.25)
    assert first.ahead is not None
    assert first.ahead.value == 1
