"""The shipped classifier on titles whose consequence maintainers named by a label: `python bench/maintainers.py --data FOLDER`.

FOLDER holds maintainer_labels.csv.gz (not part of the project). Its issues that nothing was learned from and that neither the catalog nor
the drawn items hold are asked by their titles, without their labels. A maintainers' label that names one consequence counts as the truth,
although it is not always right (docs/evaluation.md). Backends: how many of the issues that a label names rocm or xpu for are named so by
their titles. Results: bench/maintainers.json, table in docs/evaluation.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from protocols import TRIAGE, cells
from torch_embers import resources
from torch_embers.classify import train
from torch_embers.classify.bundle import Bundle, shipped_folder
from torch_embers.classify.embedding.embed import load_matching
from torch_embers.classify.labels import wild
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.learning.features import table
from torch_embers.classify.text import title_text
from torch_embers.statistics.intervals import wilson
from wild import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

OUT = Path(__file__).with_suffix(".json")
FILE = "maintainer_labels.csv.gz"
SINCE = ("", "2023-07")
"""All issues; those of the months from which on issues count as recent (docs/wild-labels.md)."""
COVERAGE = 0.7
"""Share of the issues, the surest answers first, that the aim of a precision of 0.95 is about."""


def unseen(rows: pd.DataFrame, bundle: Bundle) -> pd.DataFrame:
    """The rows that nothing was learned from and that no other measurement holds."""
    lines = resources.data_file("catalog.jsonl").read_text("utf-8").splitlines()
    titles = {title_text(row["title"]) for row in map(json.loads, lines)}
    titles |= {title_text(item.title) for item in wild.load()}
    learned = {row.number for own in bundle.rows.values() for row in own if row.repo == wild.REPO}
    kept = [
        int(number) not in learned and title_text(title) not in titles
        for number, title in zip(rows["number"], rows["title"], strict=True)
    ]
    return rows[kept]


def consequences(bundle: Bundle, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Scores where labels name one consequence, for all such issues and for recent ones."""
    said = [{TRIAGE[label] for label in cell.split("|") if label in TRIAGE} for cell in rows["labels"]]
    own = rows[[len(one) == 1 for one in said]]
    truth = [next(iter(one)) for one in said if len(one) == 1]
    titles = own["title"].tolist()
    votes = [train.vote_names(Labeller.load().votes(title, None, None)) for title in titles]
    texts = [title_text(title) for title in titles]
    asked = table(texts, load_matching(bundle.embedding).encode(texts), votes)
    probabilities = bundle.probabilities(asked)["consequence"]
    classes = bundle.classifiers["consequence"].classes
    predicted = [classes[column] for column in probabilities.argmax(axis=1)]
    found = []
    for since in SINCE:
        places = np.flatnonzero((own["createdAt"] >= since).to_numpy())
        found.append({"since": since, **_scores(places, truth, predicted, probabilities.max(axis=1))})
    return found


def _scores(places: Sequence[int], truth: Sequence[str], predicted: Sequence[str], sure: Any) -> dict[str, Any]:
    surest = sorted(places, key=lambda place: -sure[place])[: int(COVERAGE * len(places))]
    right = sum(truth[place] == predicted[place] for place in surest)
    return {
        "items": len(places),
        **summary([truth[place] for place in places], [predicted[place] for place in places]),
        "surest": len(surest),
        "surest_right": right,
        "surest_interval": [round(end, 3) for end in wilson(right, len(surest))],
    }


def backends(rows: pd.DataFrame) -> dict[str, list[int]]:
    """Issues with a label of a backend, and for how many of them the title alone names it."""
    labeller, found = Labeller.load(), {}
    for backend in ("rocm", "xpu"):
        labelled = [
            (title, {vote.value for vote in labeller.votes(None, None, cell.split("|")) if vote.scheme == "backend"})
            for title, cell in zip(rows["title"], rows["labels"], strict=True)
        ]
        own = [title for title, named in labelled if backend in named]
        by_title = [{vote.value for vote in labeller.votes(title, None, None)} for title in own]
        found[backend] = [len(own), sum(backend in named for named in by_title)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    bundle, rows = Bundle.load(shipped_folder()), cells(given.data / FILE)
    found = {
        "model": bundle.version,
        "consequence": consequences(bundle, unseen(rows, bundle)),
        "backends": backends(rows),
    }
    print(json.dumps(found, indent=1))
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
