"""Score the classifier on NLBSE'24 by its protocol: a classifier for each of five repositories, scored once.

    .venv/bin/python tools/nlbse.py TRAIN.csv TEST.csv [--encoder NAME_OR_FOLDER]

The files are data/issues_train.csv and data/issues_test.csv of https://github.com/nlbse2024/issue-report-classification
(no part of this project): 1,500 reports each, a bug, a feature or a question. The ways are compared by five folds of
the train half; the best of them, and no other, is asked about the test half. Needs the extras classify and train.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report, f1_score
from sklearn.model_selection import StratifiedKFold

from torch_embers.classify.embedding.embed import load_embedder
from torch_embers.classify.features import Item
from torch_embers.classify.text import read
from torch_embers.evaluate.learners import Texts, hybrid

if TYPE_CHECKING:
    from numpy.typing import NDArray

OUT = Path(__file__).parents[1] / "analysis/results/classifier/nlbse.json"
CLASSES = ("bug", "feature", "question")
LONGEST = 6_000
"""Characters of a report that are read as they are: its form is a part of what there is to learn."""


class Reports:
    """Reports as each way reads them."""

    def __init__(self, frame: pd.DataFrame, encoder: Any, larger: Any) -> None:
        self.labels, self.repos = frame["label"].to_numpy(str), frame["repo"].to_numpy(str)
        items = [Item(read(title, body)) for title, body in zip(frame["title"], frame["body"], strict=True)]
        self.raw = [f"{title}\n{body}"[:LONGEST] for title, body in zip(frame["title"], frame["body"], strict=True)]
        titles, words = [item.text.title for item in items], [item.text.words for item in items]
        self.texts = Texts(items, encoder.encode(titles), encoder.encode(words))
        parts = [larger.encode(part) for part in (titles, self.raw)] if larger else []
        self.vectors = np.hstack(parts) if parts else None

    def of(self, repo: str) -> NDArray[np.int64]:
        """The places of a repository's reports."""
        return np.flatnonzero(self.repos == repo)


def answers(way: str, known: Reports, learn: NDArray[np.int64], unseen: Reports, ask: NDArray[np.int64]) -> Any:
    """Probabilities, float64 [asked, classes]."""
    labels = known.labels[learn]
    if way == "hybrid":
        _, found = hybrid(known.texts.take(learn), labels, np.arange(len(learn)), unseen.texts.take(ask))
        return found
    model = LogisticRegression(C=10, max_iter=2_000)
    if way == "encoder":
        return model.fit(known.vectors[learn], labels).predict_proba(unseen.vectors[ask])
    made = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2, max_features=60_000)
    rows = made.fit_transform([known.raw[place] for place in learn])
    return model.fit(rows, labels).predict_proba(made.transform([unseen.raw[place] for place in ask]))


def score(reports: Reports, found: NDArray[np.float64]) -> float:
    """Mean of the repositories' macro-averaged F1."""
    said = np.array(CLASSES)[found.argmax(1)]
    each = [reports.of(repo) for repo in sorted(set(reports.repos))]
    return float(np.mean([f1_score(reports.labels[own], said[own], average="macro") for own in each]))


def main() -> None:
    """Choose on the train half, score the test half, write and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--encoder", help="a larger sentence-transformers model, read without tuning")
    given = parser.parse_args()
    encoder, larger = load_embedder(), load_embedder(given.encoder) if given.encoder else None
    train, test = (Reports(pd.read_csv(path).fillna(""), encoder, larger) for path in (given.train, given.test))
    ways = ("hybrid", "words", *(["encoder"] if larger else []))
    held_out = {way: np.zeros((len(train.labels), len(CLASSES))) for way in ways}
    for repo in sorted(set(train.repos)):
        own = train.of(repo)
        for learn, ask in StratifiedKFold(5, shuffle=True, random_state=0).split(own, train.labels[own]):
            for way in ways:
                held_out[way][own[ask]] = answers(way, train, own[learn], train, own[ask])
    tried = {
        " + ".join(some): score(train, sum(held_out[way] for way in some))
        for size in range(1, len(ways) + 1)
        for some in itertools.combinations(ways, size)
    }
    best = max(tried, key=tried.__getitem__)
    found = np.zeros((len(test.labels), len(CLASSES)))
    for repo in sorted(set(test.repos)):
        asked = test.of(repo)
        for way in best.split(" + "):
            found[asked] += answers(way, train, train.of(repo), test, asked)
    said = np.array(CLASSES)[found.argmax(1)]
    repos = {
        repo: classification_report(test.labels[test.of(repo)], said[test.of(repo)], output_dict=True)
        for repo in sorted(set(test.repos))
    }
    made = {"folds_of_train": tried, "way": best, "test": score(test, found), "repositories": repos}
    OUT.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps({key: made[key] for key in ("folds_of_train", "way", "test")}, indent=1) + "\n")


if __name__ == "__main__":
    main()
