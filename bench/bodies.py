"""What the body of an issue adds to its title: `python bench/bodies.py DATABASE --data FOLDER`.

DATABASE holds the catalog and maintainers' labels (as `make model DATA=FOLDER` fills it), FOLDER the file with the bodies of February 2020,
which is not part of the project. The classifier learns from titles as the shipped one does; the issues of the development half that have a
body are answered out of fold, by their title and by what else is known of them. No issue of the test half or of the recent ones is read.
Uncalibrated answers are compared, the likeliest class of each. Results: bench/bodies.json, table in docs/evaluation.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.classify import train
from torch_embers.classify.embedding.embed import load_embedder
from torch_embers.classify.embedding.weights import DEFAULT_MODEL
from torch_embers.classify.labels import wild
from torch_embers.classify.labels.weak_table import label_items
from torch_embers.classify.learning.features import fit_features, table
from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.classify.learning.model import Classifier, Settings
from torch_embers.classify.questions import questions
from torch_embers.classify.text import clean, model_text
from torch_embers.statistics.splits import join_groups, near_duplicates
from torch_embers.store.store import Store
from wild import SCHEMES, differences, summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.questions import Question

    Key = tuple[str, int]

OUT = Path(__file__).with_suffix(".json")
BODIES = "issues_and_prs_2020_02.json.gz"
HEAD = 300
"""Characters of a short opening of the body."""
TITLE, TODAY = "title", "title, votes of the body"
"""The second is what `embers classify` does with an item whose body was mined."""


def bodies_of(data: Path) -> dict[int, str]:
    """Bodies of February 2020, by number."""
    with gzip.open(data / BODIES, "rt", encoding="utf-8") as stream:
        found = {int(row["issue_number"]): str(row["body"] or "") for row in json.load(stream)}
    return {number: body for number, body in found.items() if clean(body)}


def ways(
    data: train.TrainingData, titles: Mapping[Key, str], bodies: Mapping[Key, str], embedder: Embedder
) -> dict[str, pd.DataFrame]:
    """What is read of each issue with a body, by the name of the way."""
    by_title = [train.vote_names(data.votes[key]) for key in bodies]
    by_both = [train.vote_names(data.labeller.votes(titles[key], body, None)) for key, body in bodies.items()]
    short = [data.texts[key].text for key in bodies]
    whole = [model_text(titles[key], body) for key, body in bodies.items()]
    read = {
        TITLE: (short, by_title),
        TODAY: (short, by_both),
        f"title and {HEAD} characters of the body": (
            [text[: len(title) + HEAD] for title, text in zip(short, whole, strict=True)],
            by_both,
        ),
        "title and body": (whole, by_both),
        "title and body, votes of the title": (whole, by_title),
        "body alone": ([clean(body) for body in bodies.values()], by_both),
    }
    return {name: table(texts, embedder.encode(texts), votes) for name, (texts, votes) in read.items()}


def answered(
    question: Question,
    data: train.TrainingData,
    keys: Sequence[Key],
    items: pd.DataFrame,
    features: Any,
    read: Mapping[str, pd.DataFrame],
    own: Sequence[Key],
) -> tuple[list[str], dict[str, list[str]]]:
    """True classes of the issues with a body, and what each way answers out of fold."""
    place, at = {key: row for row, key in enumerate(keys)}, {key: row for row, key in enumerate(own)}
    gold, _ = train.gold_rows(question, data)
    weak = train.weak_rows(question, data, {row.label for row in gold})
    rows = [*gold, *weak]
    named = [(row.repo, row.number) for row in rows]
    texts = [data.texts[key].text for key in named]
    groups = np.array(join_groups(near_duplicates(texts).tolist(), train.linked(named, data.links).tolist()))
    size, labels = len(gold), [row.label for row in rows]
    votes = train.claims(question, data.labeller, set(labels))
    found: dict[str, dict[Key, str]] = {name: {} for name in (*read, "title times title and body")}
    for split in grouped_folds(labels[:size], groups[:size].tolist()):
        asked = [named[row] for row in split.test if named[row] in at]
        apart = size + np.flatnonzero(~np.isin(groups[size:], groups[split.test]))
        learn = [*split.train.tolist(), *apart.tolist()]
        one = Classifier(question.name, Settings(folds=0), votes).fit(
            items.iloc[[place[named[row]] for row in learn]],
            [labels[row] for row in learn],
            weights=[rows[row].weight for row in learn],
            calibration=[row < size for row in learn],
            features=features,
        )
        said: dict[str, NDArray[np.float64]] = {
            name: one.predict_proba(own_table.iloc[[at[key] for key in asked]]) for name, own_table in read.items()
        }
        said["title times title and body"] = said[TITLE] * said["title and body"]
        for name, probabilities in said.items():
            found[name] |= {
                key: one.classes[best] for key, best in zip(asked, probabilities.argmax(axis=1), strict=True)
            }
    truth = {key: label for key, label in zip(named, labels, strict=True) if key in at}
    return list(truth.values()), {name: [answers[key] for key in truth] for name, answers in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    store, embedder, how = Store(given.database), load_embedder(DEFAULT_MODEL), Settings()
    with store.writer("bench") as writer:
        label_items(store, writer)
        data = train.read_training_data(store, writer, embedder, "title", wild.load())
    titles = {item.place: item.title for item in wild.load() if item.part == "development"}
    bodies = {key: body for number, body in bodies_of(given.data).items() if (key := (wild.REPO, number)) in data.drawn}
    keys = sorted(data.texts)
    items = data.table(keys, store, embedder)
    features = fit_features(items, how.views, how.min_df, how.max_features, train.functions_of(data.labeller))
    read, found = ways(data, titles, bodies, embedder), []
    for question in questions(data.taxonomy):
        if question.name in SCHEMES:
            truth, said = answered(question, data, keys, items, features, read, list(bodies))
            for name, answers in said.items():
                minus = {other: differences(truth, answers, said[other]) for other in (TITLE, TODAY)}
                found.append(
                    {
                        "scheme": question.name,
                        "read": name,
                        "items": len(truth),
                        **summary(truth, answers),
                        "minus": minus,
                    }
                )
                print(json.dumps(found[-1]), flush=True)
    given.out.write_text(json.dumps({"issues": len(bodies), "rows": found}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
