"""Statistics of the study, against worked examples from print, SciPy, and hand-computed cases."""

from __future__ import annotations

import json

import numpy as np
import pytest

from helpers.statistics import matrix
from torch_embers.classify import confusions
from torch_embers.classify.bundle import shipped_folder
from torch_embers.classify.labels import wild
from torch_embers.study import prevalence
from torch_embers.study.prevalence import Prevalence


def test_the_interval_holds_the_true_shares_about_as_often_as_it_says() -> None:
    """Gold of another mix than the population; the raw shares are far off, the corrected ones are not."""
    rates = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
    truth, gold, trials = np.array([0.1, 0.3, 0.6]), [60, 50, 40], 200
    random, held, raw, means = np.random.default_rng(5), np.zeros(3), np.zeros(3), np.zeros(3)
    for trial in range(trials):
        counts: list[list[float]] = [
            [float(n) for n in random.multinomial(size, row)] for size, row in zip(gold, rates, strict=True)
        ]
        called = random.multinomial(800, rates.T @ truth).tolist()
        found = prevalence.correct(
            matrix(counts), {f"c{at}": count for at, count in enumerate(called)}, samples=200, seed=trial
        )
        assert isinstance(found, Prevalence)
        for at, share in enumerate(found.shares):
            held[at] += share.corrected.low <= truth[at] <= share.corrected.high
            raw[at] += share.raw.low <= truth[at] <= share.raw.high
            means[at] += share.corrected.value / trials
    assert ((held / trials >= 0.90) & (held / trials <= 0.99)).all(), held / trials
    assert (raw / trials).min() < 0.1
    assert means == pytest.approx(truth, abs=0.02)


# ---- the shipped confusion


@pytest.mark.parametrize("scheme", confusions.SCHEMES)
def test_the_shipped_matrix_counts_each_gold_item_once_for_the_classes_of_the_model(scheme: str) -> None:
    found = confusions.load(scheme)
    sizes = [sum(row) for row in found.matrix]
    assert sizes == pytest.approx([round(size) for size in sizes], abs=1e-3)
    assert sum(sizes) == pytest.approx(found.items, abs=1e-2)
    drawn = [item for item in wild.load() if item.part == "development" and item.kind == "issue"]
    assert found.items <= 550 + len(drawn), "the catalog, and drawn issues for development"
    assert found.settings["split"] == "folds"
    bundle = json.loads((shipped_folder() / "bundle.json").read_text(encoding="utf-8"))
    assert list(found.classes) == bundle["classifiers"][scheme]["classes"]
    assert len(bundle["held_out"][scheme]) == found.items
