"""Ways to classify the reports of NLBSE'24 (bench/nlbse.py): folds, scores, and what chooses."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("datasets")
pytest.importorskip("accelerate")

import nlbse
from labelled import embed
from published import nlbse_folds, nlbse_inputs
from torch_embers.classify.learning.features import table
from torch_embers.errors import InputError


def reports_of_two(size: int) -> nlbse.Reports:
    labels = np.array(["bug", "feature"] * size, dtype=object)
    repos = np.array(["a/a"] * size + ["b/b"] * size, dtype=object)
    return nlbse.Reports(table([""] * 2 * size), labels, repos, ("bug", "feature"), np.zeros((2 * size, 0), np.float32))


def test_folds_of_nlbse_hold_each_report_once_and_spread_repositories() -> None:
    reports = reports_of_two(20)
    folds = nlbse_folds(reports.repos, reports.labels, 5)
    assert sorted(np.concatenate(folds).tolist()) == list(range(40))
    assert {tuple(sorted(Counter(reports.repos[fold]).values())) for fold in folds} == {(4, 4)}


def test_ways_of_nlbse_are_scored_by_repository_and_chosen_by_other_folds() -> None:
    reports = reports_of_two(20)
    folds = nlbse_folds(reports.repos, reports.labels, 5)
    right = (reports.labels == "bug").astype(float)
    flat = {"right": right, "wrong": 1 - right}
    found = {name: np.stack([own, 1 - own], axis=1) for name, own in flat.items()}
    found["right"][folds[0]] = found["wrong"][folds[0]]  # right but for one fold, which must not see that
    chosen, *rows = nlbse.measured(reports, folds, found)
    assert chosen["chosen"] == [["right"]] * 5
    assert chosen["a/a"] == pytest.approx(0.8)
    assert [row["ways"] for row in rows] == [["right"], ["wrong"], ["right", "wrong"]]


def test_a_file_without_a_column_of_nlbse_is_refused() -> None:
    frame = pd.DataFrame({"repo": ["a"], "label": ["bug"], "title": ["t"]})
    with pytest.raises(InputError, match="no column body"):
        nlbse_inputs(frame, embed)
