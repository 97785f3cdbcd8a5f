"""What an encoder that is tuned on the labels adds to the classifier: `python bench/tuned.py DATABASE --kept FOLDER`.

DATABASE holds the catalog and maintainers' labels (as `make model DATA=...` fills it). Everything that `embers classify --train` learns from
is put into five parts by groups; for each part an encoder is tuned on the labels of the other four (`classify/embedding/contrast.py`), and a
regression on its vectors answers the part. Its answers and those of the plain classifier, which saw the same, are averaged. The share of the
tuned one was fixed before, the others are for information. Scores are those of the drawn issues of the development half and the second draw; no
issue of the test half or of the recent ones is read. Uncalibrated answers are compared, the likeliest class of each. What a part gave is kept
in FOLDER, so that a run can be stopped and go on. Needs the extra `tune`. Results: bench/tuned.json, table in docs/evaluation.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from torch_embers.classify import train
from torch_embers.classify.embedding import contrast
from torch_embers.classify.embedding.embed import load_embedder
from torch_embers.classify.embedding.weights import DEFAULT_MODEL, model_folder
from torch_embers.classify.labels import wild
from torch_embers.classify.labels.weak_table import label_items
from torch_embers.classify.learning.features import columns_of, fit_features
from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.classify.learning.model import TOLERANCE, Settings
from torch_embers.classify.questions import questions
from torch_embers.statistics.splits import join_groups, near_duplicates
from torch_embers.store.store import Store
from wild import SCHEMES, differences, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OUT = Path(__file__).with_suffix(".json")
SHARE = 0.3
"""Fixed before anything here was measured."""
SHARES = (SHARE, 0.5, 1.0)
RECIPE = contrast.Recipe(rounds=1, batch=64, tokens=48, rate=1e-4)
TUNED_ON = ("bug_type", "consequence")


class Asked:
    """Everything that one question is learned from, as places in the table of all items."""

    def __init__(self, rows: Sequence[train.TrainingRow], place: dict[train.Key, int]):
        self.own = np.array([place[row.repo, row.number] for row in rows])
        self.truth = np.array([row.label for row in rows], dtype=object)
        self.weights = np.array([row.weight for row in rows])
        self.gold = np.array([row.source.startswith(train.GOLD) for row in rows])
        self.drawn = np.array([row.source == train.DRAWN for row in rows])
        self.shipped = np.array([row.source in train.SHIPPED for row in rows])
        self.classes = sorted(set(self.truth))

    def answered(self, matrix: Any, learn: NDArray[np.bool_], ask: NDArray[np.bool_], inverse: float) -> Floats:
        """Probabilities of the asked rows by a regression that learned from others."""
        made = LogisticRegression(C=inverse, class_weight="balanced", max_iter=1_000, tol=TOLERANCE)
        made.fit(matrix[self.own[learn]], self.truth[learn], sample_weight=self.weights[learn])
        found = np.zeros((int(ask.sum()), len(self.classes)))
        found[:, [self.classes.index(name) for name in made.classes_]] = made.predict_proba(matrix[self.own[ask]])
        return found


@dataclass(frozen=True)
class Everything:
    """What all three questions are learned from."""

    asked: dict[str, Asked]
    texts: list[str]
    matrix: Any
    """Features of all items, as the classifier of the product reads them."""
    columns: dict[str, slice]
    """Columns of each view in it."""
    groups: NDArray[np.int64]
    """Items that are held out together."""


def everything(database: Path) -> Everything:
    """Read a database as `embers classify --train` does, with the drawn issues of the development half."""
    store, embedder, how = Store(database), load_embedder(DEFAULT_MODEL), Settings()
    with store.writer("bench") as writer:
        label_items(store, writer)
        data = train.read_training_data(store, writer, embedder, "title", wild.load())
    learned = {}
    for question in questions(data.taxonomy):
        if question.name in SCHEMES:
            gold, _ = train.gold_rows(question, data)
            learned[question.name] = [*gold, *train.weak_rows(question, data, {row.label for row in gold})]
    keys = sorted({(row.repo, row.number) for rows in learned.values() for row in rows})
    place = {key: at for at, key in enumerate(keys)}
    items, texts = data.table(keys, store, embedder), [data.texts[key].text for key in keys]
    features = fit_features(items, how.views, how.min_df, how.max_features, train.functions_of(data.labeller))
    groups = np.array(join_groups(near_duplicates(texts).tolist(), train.linked(keys, data.links).tolist()))
    asked = {name: Asked(rows, place) for name, rows in learned.items()}
    return Everything(asked, texts, features.transform(items).tocsr(), columns_of(features), groups)


def vectors_of(
    asked: dict[str, Asked], texts: Sequence[str], learn: dict[str, NDArray[np.bool_]], kept: Path
) -> tuple[NDArray[np.float32], float]:
    """Vectors of all texts by an encoder that was tuned on some rows, and the seconds that tuning took."""
    if kept.exists():
        with np.load(kept) as found:
            return found["vectors"], float(found["seconds"])
    started = time.monotonic()
    labelled = {
        name: ([texts[place] for place in asked[name].own[learn[name]]], asked[name].truth[learn[name]].tolist())
        for name in TUNED_ON
    }
    model = contrast.tune(model_folder(), labelled, RECIPE, threads=1)
    seconds = time.monotonic() - started
    made = model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True)
    np.savez(kept, vectors=made, seconds=seconds)
    return made, seconds


def rows_of(name: str, one: Asked, plain: Floats, tuned: Floats) -> list[dict[str, Any]]:
    """Scores on drawn issues for each share, beside those of the plain classifier."""
    classes, truth = np.array(one.classes, dtype=object), one.truth[one.drawn].tolist()
    before = classes[plain[one.drawn].argmax(axis=1)].tolist()
    found = [{"scheme": name, "share": 0.0, "items": len(truth), **summary(truth, before)}]
    for share in SHARES:
        both = (1 - share) * plain[one.drawn] + share * tuned[one.drawn]
        said = classes[both.argmax(axis=1)].tolist()
        minus = differences(truth, said, before)
        found.append({"scheme": name, "share": share, "items": len(truth), **summary(truth, said), "minus": minus})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", type=Path)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    given.kept.mkdir(parents=True, exist_ok=True)
    data = everything(given.database)
    asked, texts, matrix, groups, how = data.asked, data.texts, data.matrix, data.groups, Settings()
    known = np.unique(np.concatenate([one.own[one.gold] for one in asked.values()]))
    types = dict(zip(asked["bug_type"].own, asked["bug_type"].truth, strict=True))
    plain, tuned = ({name: np.zeros((len(one.own), len(one.classes))) for name, one in asked.items()} for _ in range(2))
    times = []
    for part, split in enumerate(grouped_folds([types.get(row, "-") for row in known], groups[known].tolist())):
        away = np.isin(groups, groups[known[split.test]])
        learn = {name: ~away[one.own] for name, one in asked.items()}
        vectors, seconds = vectors_of(asked, texts, learn, given.kept / f"{part}.npz")
        times.append(round(seconds))
        for name, one in asked.items():
            ask = np.isin(one.own, known[split.test]) & one.gold
            plain[name][ask] = one.answered(matrix, learn[name], ask, how.C)
            tuned[name][ask] = one.answered(vectors, learn[name], ask, 1.0)
        print(f"part {part}: {times[-1]} s", flush=True)
    rows = [row for name, one in asked.items() for row in rows_of(name, one, plain[name], tuned[name])]
    made = {"recipe": asdict(RECIPE), "share": SHARE, "seconds": times, "rows": rows}
    given.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(json.dumps(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
