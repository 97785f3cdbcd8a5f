"""Try ways to classify the reports of NLBSE'24: `python bench/nlbse.py --data FOLDER --kept FOLDER [--encoder FOLDER] [WAY ...]`.

FOLDER of the data holds nlbse2024_train.csv.gz, which is not part of the project: 1,500 reports of five repositories, a bug, a feature or a
question each. Every way learns from four fifths of each repository's reports and answers the last fifth, five times over (`published.nlbse_folds`).
What a fold gave is kept, so that a run can be stopped and go on. `--encoder` names the folder of a larger sentence-transformers model, whose
vectors are read as they are; without it these ways are left out.

Answers of ways are then averaged. Which ones is chosen for each fold on the answers to the four others, among all sets of ways, so that no
score is of a choice that saw its own answers; the best set of all is printed beside it and is biased upwards. Needs the extra `tune`.
Results: bench/nlbse.json, table in docs/evaluation.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from published import NLBSE_SETTINGS, PerView, nlbse_folds, nlbse_inputs
from torch_embers.classify.embedding import contrast, torch_embedder
from torch_embers.classify.embedding.embed import load_embedder
from torch_embers.classify.embedding.weights import DEFAULT_MODEL, model_folder
from torch_embers.classify.learning.features import View
from torch_embers.evaluate.learners import Hybrid
from torch_embers.statistics.metrics import macro_f1

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.evaluate.learners import Learner

    Floats = NDArray[np.float64]

OUT = Path(__file__).with_suffix(".json")
FOLDS = 5
EACH = contrast.Recipe()
"""Of an encoder for one repository."""
ALL = contrast.Recipe(rounds=2, tokens=64)
"""Of one encoder for all five: there are five times the texts."""
RECIPES = {"tuned": EACH, "tuned_pooled": ALL}
LONGEST = 256
"""Tokens that the larger encoder reads."""


@dataclass(frozen=True)
class Reports:
    """All reports, in the order of the file."""

    inputs: pd.DataFrame
    """What the classifier reads, with the repository as a text of its own."""
    labels: NDArray[Any]
    repos: NDArray[Any]
    classes: tuple[str, ...]
    larger: NDArray[np.float32]
    """Vectors of title and text by the larger encoder, side by side; without columns where there is none."""

    def parts(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The rows of each repository."""
        return [rows[self.repos[rows] == repo] for repo in sorted(set(self.repos))]


def plain(reports: Reports, learn: NDArray[np.int64], ask: NDArray[np.int64]) -> Floats:
    """The classifier of the product, one per repository."""
    return _per_repository(reports, learn, ask, lambda one, other: _hybrid(reports, one, other, Hybrid(NLBSE_SETTINGS)))


def views(reports: Reports, learn: NDArray[np.int64], ask: NDArray[np.int64]) -> Floats:
    """A classifier of the product for each view, one of each per repository."""
    return _per_repository(
        reports, learn, ask, lambda one, other: _hybrid(reports, one, other, PerView(NLBSE_SETTINGS))
    )


def forms(reports: Reports, learn: NDArray[np.int64], ask: NDArray[np.int64]) -> Floats:
    """The classifier of the product, one per repository, which also reads whole lines: those of the forms say what is reported."""
    own = replace(NLBSE_SETTINGS, views=(*NLBSE_SETTINGS.views, View("line")))
    return _per_repository(reports, learn, ask, lambda one, other: _hybrid(reports, one, other, Hybrid(own)))


def pooled(reports: Reports, learn: NDArray[np.int64], ask: NDArray[np.int64]) -> Floats:
    """The classifier of the product, one for all, which reads the repository as one more word."""
    tagged = replace(NLBSE_SETTINGS, views=(*NLBSE_SETTINGS.views, View("word", "repo")))
    return _hybrid(reports, learn, ask, Hybrid(tagged))


def larger(reports: Reports, learn: NDArray[np.int64], ask: NDArray[np.int64]) -> Floats:
    """A regression per repository on vectors of the larger encoder."""
    return _per_repository(reports, learn, ask, _on(reports, reports.larger))


def tuned(reports: Reports, learn: NDArray[np.int64], ask: NDArray[np.int64]) -> Floats:
    """An encoder tuned for each repository, and a regression on its vectors."""

    def one_repository(own: NDArray[np.int64], other: NDArray[np.int64]) -> Floats:
        return _on(reports, _tuned_vectors(reports, own, EACH, reports.inputs["plain"].tolist()))(own, other)

    return _per_repository(reports, learn, ask, one_repository)


def tuned_pooled(reports: Reports, learn: NDArray[np.int64], ask: NDArray[np.int64]) -> Floats:
    """One encoder tuned on all, which reads the repository first; a regression per repository on its vectors."""
    texts = [f"{repo}: {text}" for repo, text in zip(reports.repos, reports.inputs["plain"], strict=True)]
    return _per_repository(reports, learn, ask, _on(reports, _tuned_vectors(reports, learn, ALL, texts)))


WAYS: Mapping[str, Callable[[Reports, NDArray[np.int64], NDArray[np.int64]], Floats]] = {
    one.__name__: one for one in (plain, views, forms, pooled, larger, tuned, tuned_pooled)
}


def _per_repository(
    reports: Reports,
    learn: NDArray[np.int64],
    ask: NDArray[np.int64],
    answer: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats],
) -> Floats:
    found, place = np.zeros((len(ask), len(reports.classes))), {row: at for at, row in enumerate(ask.tolist())}
    for own, other in zip(reports.parts(learn), reports.parts(ask), strict=True):
        found[[place[row] for row in other.tolist()]] = answer(own, other)
    return found


def _hybrid(reports: Reports, learn: NDArray[np.int64], ask: NDArray[np.int64], learner: Learner) -> Floats:
    texts = reports.inputs
    made = learner.answer(texts.iloc[learn], reports.labels[learn].tolist(), list(range(len(learn))), texts.iloc[ask])
    return made.probabilities


def _on(reports: Reports, vectors: NDArray[np.float32]) -> Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]:
    """A regression on vectors: answers some rows by others."""

    def answer(learn: NDArray[np.int64], ask: NDArray[np.int64]) -> Floats:
        made = LogisticRegression(class_weight="balanced", max_iter=1_000)
        made.fit(vectors[learn], reports.labels[learn].tolist())
        return np.asarray(made.predict_proba(vectors[ask]))

    return answer


def _tuned_vectors(
    reports: Reports, learn: NDArray[np.int64], how: contrast.Recipe, texts: Sequence[str]
) -> NDArray[np.float32]:
    own = [texts[row] for row in learn.tolist()], reports.labels[learn].tolist()
    model = contrast.tune(model_folder(), {"the reports": own}, how, threads=1)
    return np.asarray(model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False))


def read(data: Path, kept: Path, encoder: Path | None) -> Reports:
    """Read the reports; vectors are kept."""
    frame = pd.read_csv(data / "nlbse2024_train.csv.gz", dtype=str, keep_default_na=False)
    embedder = load_embedder(DEFAULT_MODEL)
    inputs = _kept(kept / "inputs.pkl", lambda: nlbse_inputs(frame, lambda texts: embedder.encode(list(texts))))
    vectors = np.zeros((len(frame), 0), dtype=np.float32)
    if encoder is not None:
        model = torch_embedder.load(encoder, 1)
        model.max_seq_length = LONGEST
        columns = (inputs["title"].tolist(), inputs["plain"].tolist())
        vectors = _kept(
            kept / "larger.pkl",
            lambda: np.hstack([model.encode(one, normalize_embeddings=True, batch_size=8) for one in columns]),
        )
    labels = frame["label"].to_numpy(dtype=object)
    inputs = inputs.assign(repo=frame["repo"].str.replace(r"\W", "_", regex=True).to_numpy())
    return Reports(inputs, labels, frame["repo"].to_numpy(dtype=object), tuple(sorted(set(labels))), vectors)


def _kept(path: Path, make: Callable[[], Any]) -> Any:
    if not path.exists():
        pd.to_pickle(make(), path)
    return pd.read_pickle(path)


def answers(
    reports: Reports, folds: Sequence[NDArray[np.int64]], kept: Path, ways: Sequence[str]
) -> tuple[dict[str, Floats], dict[str, float]]:
    """Probabilities of all reports by each way, each by a model that did not learn from it, and seconds by way."""
    found: dict[str, Floats] = {}
    seconds: dict[str, float] = {}
    for name in ways:
        found[name], seconds[name] = np.zeros((len(reports.labels), len(reports.classes))), 0.0
        for place, ask in enumerate(folds):
            path = kept / f"{name}-{place}.npz"
            if not path.exists():
                learn, started = np.setdiff1d(np.arange(len(reports.labels)), ask), time.monotonic()
                own = WAYS[name](reports, learn, ask)
                np.savez(path, answers=own, seconds=time.monotonic() - started)
            with np.load(path) as stored:
                found[name][ask], seconds[name] = stored["answers"], seconds[name] + float(stored["seconds"])
            print(f"{name}, fold {place}: {seconds[name]:.0f} s so far", flush=True)
    return found, seconds


def scores(reports: Reports, probabilities: Floats, rows: NDArray[np.int64]) -> dict[str, float]:
    """Macro-F1 of each repository, and their mean."""
    said = np.array(reports.classes, dtype=object)[probabilities.argmax(axis=1)]
    each = {
        str(reports.repos[own[0]]): macro_f1(reports.labels[own].tolist(), said[own].tolist())
        for own in reports.parts(rows)
    }
    return {"mean": float(np.mean(list(each.values()))), **each}


def measured(reports: Reports, folds: Sequence[NDArray[np.int64]], found: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """A row per way, one per set of ways that are averaged, and one of sets that other folds chose."""
    everything = np.arange(len(reports.labels))
    sets = [chosen for size in range(1, len(found) + 1) for chosen in itertools.combinations(found, size)]
    mixed = {chosen: sum(found[name] for name in chosen) / len(chosen) for chosen in sets}
    rows = [{"ways": list(chosen), **scores(reports, own, everything)} for chosen, own in mixed.items()]
    last = np.zeros_like(next(iter(found.values())))
    taken = []
    for ask in folds:
        learn = np.setdiff1d(everything, ask)
        best = max(sets, key=lambda chosen: scores(reports, mixed[chosen], learn)["mean"])
        last[ask] = mixed[best][ask]
        taken.append(list(best))
    return [{"chosen": taken, **scores(reports, last, everything)}, *rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, help="folder of a larger encoder")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("ways", nargs="*", choices=[*WAYS], help="all when left out")
    given = parser.parse_args()
    ways = [name for name in given.ways or WAYS if given.encoder or name != "larger"]
    given.kept.mkdir(parents=True, exist_ok=True)
    reports = read(given.data, given.kept, given.encoder)
    folds = nlbse_folds(reports.repos, reports.labels, FOLDS)
    found, seconds = answers(reports, folds, given.kept, ways)
    rows = measured(reports, folds, found)
    made = {
        "folds": FOLDS,
        "recipes": {name: asdict(own) for name, own in RECIPES.items() if name in ways},
        "encoder": given.encoder.name if given.encoder else None,
        "seconds": {name: round(own) for name, own in seconds.items()},
        "rows": rows,
    }
    given.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    for row in sorted(rows, key=lambda one: -one["mean"])[:20]:
        print(f"{row['mean']:.4f} {', '.join(row.get('ways', ['chosen on the other folds']))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
