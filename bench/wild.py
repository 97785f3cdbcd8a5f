"""How good the shipped classifier is on reports that nobody chose: `python bench/wild.py [--part development] [--out FILE]`.

Reads data/wild_labels.jsonl (docs/wild-labels.md): issues drawn at random, by their titles, without maintainers' labels. The test half is
scored once per released model. Per scheme: accuracy and kappa of the likeliest class, calibration error, and of the labels that are given
their share and how often they are right; beside it the threshold from which on the lower 95 % bound of precision would reach 0.9 here.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from torch_embers.classify.bundle import Bundle, shipped_folder
from torch_embers.classify.embedding.embed import load_matching
from torch_embers.classify.labels import wild
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.learning.features import table
from torch_embers.classify.learning.model import threshold_for
from torch_embers.classify.text import title_text
from torch_embers.classify.train import vote_names
from torch_embers.statistics.intervals import wilson
from torch_embers.statistics.metrics import calibration_error

SCHEMES = ("bug_type", "consequence", "memory_type")
OUT = Path(__file__).with_suffix(".json")


def measure(bundle: Bundle, part: str) -> dict[str, Any]:
    """Scores of each scheme on the issues of a part."""
    items = [item for item in wild.load() if item.part == part and item.kind == "issue"]
    titles = [title_text(item.title) for item in items]
    votes = [vote_names(Labeller.load().votes(item.title, None, None)) for item in items]
    said = bundle.probabilities(table(titles, load_matching(bundle.embedding).encode(titles), votes))
    found: dict[str, Any] = {}
    for scheme in SCHEMES:
        rows = [row for row, item in enumerate(items) if item.value(scheme) is not None]
        classifier = bundle.classifiers[scheme]
        best, sure, given = classifier.answers(said[scheme][rows])
        predicted = [classifier.classes[column] for column in best]
        truth = [str(items[row].value(scheme)) for row in rows]
        right = np.array([one == other for one, other in zip(predicted, truth, strict=True)])
        reached = threshold_for(sure, right, classifier.settings.precision)
        answered = int(given.sum())
        found[scheme] = {
            "items": len(rows),
            "accuracy": round(float(right.mean()), 3),
            "accuracy_interval": [round(end, 3) for end in wilson(int(right.sum()), len(rows))],
            "kappa": round(float(cohen_kappa_score(truth, predicted)), 3),
            "ece": round(calibration_error(np.minimum(sure, 1).tolist(), right.tolist()), 3),
            "given": answered,
            "given_right": int(right[given].sum()),
            "given_right_interval": [round(e, 3) for e in wilson(int(right[given].sum()), answered)]
            if answered
            else None,
            "threshold": None if math.isinf(classifier.threshold) else round(classifier.threshold, 4),
            "threshold_here": None if math.isinf(reached) else round(reached, 4),
        }
    return {"model": bundle.version, "part": part, "schemes": found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="development", choices=["development", "test", "recent"])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    found = measure(Bundle.load(given.model or shipped_folder()), given.part)
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
