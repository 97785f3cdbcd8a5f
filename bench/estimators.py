"""Other estimators than that of the product, from the same features: `python bench/estimators.py DATABASE`.

DATABASE holds the catalog and maintainers' labels (as `make model DATA=...` fills it). Everything that `embers classify --train` learns from is
put into five parts by groups, and each part is answered by what learned from the other four. Scores are those of the drawn issues of the
development half and the second draw, and of the catalog; no issue of the test half or of the recent ones is read. Likeliest classes,
uncalibrated. Results: bench/estimators.json, table in docs/evaluation.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.classify.learning.calibration import TINY
from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.classify.learning.model import Settings
from tuned import Asked, Everything, everything
from wild import differences, summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OUT = Path(__file__).with_suffix(".json")
C = Settings().C
VIEWS = ("word", "char", "vector")
PRODUCT = "one regression on all features (the product)"


def estimators(one: Callable[[tuple[str, ...], float], Floats]) -> dict[str, Floats]:
    """Probabilities of each estimator, made of regressions on some views with an inverse regularisation."""
    product = one((*VIEWS, "votes"), C)
    views, votes = [one((view,), C) for view in VIEWS], np.maximum(one(("votes",), C), TINY)
    logs = np.exp(sum(np.log(np.maximum(view, TINY)) for view in views) / len(views))
    apart = logs * votes
    with_votes = sum(one((view, "votes"), C) for view in VIEWS) / len(VIEWS)
    return {
        PRODUCT: product,
        "the same, C 1": one((*VIEWS, "votes"), 1.0),
        "the same, C 10": one((*VIEWS, "votes"), 10.0),
        "the same without words": one(("char", "vector", "votes"), C),
        "one per view, geometric mean, times one on votes (before)": apart / apart.sum(axis=1, keepdims=True),
        "one per view and votes, mean": with_votes,
        "one on text and votes, one on vectors and votes, mean": (
            one(("word", "char", "votes"), C) + one(("vector", "votes"), C)
        )
        / 2,
        "the product and one per view and votes, mean": (product + with_votes) / 2,
        "no votes": one(VIEWS, C),
        "no votes, no words": one(("char", "vector"), C),
    }


def held_out(data: Everything, own: Asked, views: tuple[str, ...], inverse: float) -> Floats:
    """Probabilities float64 [gold rows, classes] of one regression, each by one that saw nothing of the group."""
    wanted = [np.arange(at.start, at.stop) for name, at in data.columns.items() if name.split(":")[0] in views]
    matrix, gold, groups = data.matrix[:, np.concatenate(wanted)], np.flatnonzero(own.gold), data.groups[own.own]
    found = np.zeros((len(own.truth), len(own.classes)))
    for split in grouped_folds(own.truth[gold].tolist(), groups[gold].tolist()):
        ask = np.zeros(len(own.truth), dtype=bool)
        ask[gold[split.test]] = True
        found[ask] = own.answered(matrix, ~np.isin(groups, groups[ask]), ask, inverse)
    return found


def rows_of(name: str, data: Everything) -> list[dict[str, Any]]:
    """Scores of all estimators in one question, and how they differ from the product's."""
    own = data.asked[name]
    made = estimators(cache(lambda views, inverse: held_out(data, own, views, inverse)))
    classes, rows = np.array(own.classes, dtype=object), []
    for part, chosen in (("drawn", own.drawn), ("catalog", own.gold & ~own.shipped)):
        truth = own.truth[chosen].tolist()
        said = {who: classes[all_of[chosen].argmax(axis=1)].tolist() for who, all_of in made.items()}
        for who, answers in said.items():
            row = {"scheme": name, "part": part, "estimator": who, "items": len(truth), **summary(truth, answers)}
            rows.append(row | ({} if who == PRODUCT else {"minus": differences(truth, answers, said[PRODUCT])}))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    data, rows = everything(given.database), []
    for name in data.asked:
        rows += rows_of(name, data)
        for row in rows[-20:]:
            print(
                f"{name} {row['part']:8} {row['estimator']:60} {row['accuracy']:.3f} {row['kappa']:.3f} {row['macro_f1']:.3f}",
                flush=True,
            )
    given.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
