"""What votes are worth: text alone, votes added, and items without gold learned from as well; by nested grouped folds.

    embers mine --source catalog -d votes.duckdb; embers mine --source jsonl FILES -d votes.duckdb
    python bench/votes.py --database votes.duckdb [--scheme consequence] [--out bench/votes.json]

Every fold is evaluated with classifiers, accuracies, temperatures and thresholds that saw the other folds alone. The numbers
stand as reasons in ``[[use]]`` of data/labelling.toml, which decides what the product does.
"""

from __future__ import annotations

import argparse
import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.classify.embedding.embed import load_embedder
from torch_embers.classify.embedding.weights import DEFAULT_MODEL
from torch_embers.classify.labels.labelling_file import Use
from torch_embers.classify.labels.weak_table import label_items
from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.classify.questions import questions
from torch_embers.classify.train import TrainingData, fit, gold_rows, linked, read_training_data, weak_rows
from torch_embers.statistics.metrics import accuracy, calibration_error, macro_f1, paired_difference
from torch_embers.statistics.splits import join_groups, near_duplicates
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from torch_embers.classify.questions import Question

FOLDS = 5
WEAK = {"min_probability": 0.5, "weight": 0.25, "per_class": 3.0}
WAYS = {
    "text": {"combined": False, "trained": False},
    "votes": {"combined": True, "trained": False},
    "votes and weak": {"combined": True, "trained": True},
}


def with_use(data: TrainingData, scheme: str, combined: bool, trained: bool) -> TrainingData:
    """The same data under another use of the votes."""
    labeller = copy.copy(data.labeller)
    labeller.uses = {scheme: Use(scheme=scheme, combined=combined, trained=trained, reason="measured here", **WEAK)}
    return replace(data, labeller=labeller)


def measure(question: Question, data: TrainingData, store: Store, embedder: Any, seed: int) -> dict[str, Any]:
    """Nested folds of one question: per way, what was answered on the held-out items."""
    rows, _ = gold_rows(question, data.gold, data.texts)
    keys, truth = [(row.repo, row.number) for row in rows], [row.label for row in rows]
    known = {(item.repo, item.number): item for item in data.gold}
    free = sorted(data.texts.keys() - data.answers.keys())
    everything = [*keys, *free]
    alike = near_duplicates([data.texts[key].text for key in everything]).tolist()
    groups = dict(zip(everything, join_groups(alike, linked(everything, data.links).tolist()).tolist(), strict=True))
    own = [groups[key] for key in keys]
    found: dict[str, list[tuple[str, float, bool]]] = {way: [("", 0.0, False)] * len(rows) for way in WAYS}
    counts: list[int] = []
    for split in grouped_folds(truth, own, FOLDS, seed):
        hidden = {own[place] for place in split.test}
        kept = [known[keys[place]] for place in split.train]
        gold = [item for item in kept if groups.get((item.repo, item.number)) not in hidden]
        answers = {(item.repo, item.number): item.answers for item in gold}
        texts = {key: text for key, text in data.texts.items() if groups.get(key) not in hidden}
        # gold items of the test half have votes, too: without their answers they would be weak as items without gold
        seen = {key: text for key, text in texts.items() if key in answers or key not in data.answers}
        part = replace(data, gold=gold, answers=answers, texts=seen)
        unseen = data.table([keys[place] for place in split.test], store, embedder)
        for way, use in WAYS.items():
            own_part = with_use(part, question.scheme, **use)
            learned, _ = gold_rows(question, gold, seen)
            if len({row.label for row in learned}) < 2:  # too thin here: the class that is left
                for place in split.test.tolist():
                    found[way][place] = (learned[0].label, 1.0, True)
                continue
            weak = weak_rows(question, own_part, {row.label for row in learned})
            if use["trained"]:
                counts.append(len(weak))
            rows_now = [*learned, *weak]
            own_keys = sorted({(row.repo, row.number) for row in rows_now})
            model = fit(question, own_part, rows_now, own_keys, own_part.table(own_keys, store, embedder))
            best, sure, answered = model.answers(model.predict_proba(unseen))
            for at, place in enumerate(split.test.tolist()):
                found[way][place] = (model.classes[best[at]], float(sure[at]), bool(answered[at]))
    return {"truth": truth, "groups": own, "found": found, "weak": float(np.mean(counts or [0]))}


def scored(name: str, said: dict[str, Any], samples: int = 2000) -> list[dict[str, Any]]:
    """Rows of the table: each way with its difference to the one before and to the text alone."""
    truth, groups, rows, before = said["truth"], said["groups"], [], None
    for way, answers in said["found"].items():
        predicted, sure, answered = ([row[at] for row in answers] for at in range(3))
        right = [one == other for one, other in zip(predicted, truth, strict=True)]
        hits = [hit for hit, spoke in zip(right, answered, strict=True) if spoke]
        row = {
            "question": name,
            "way": way,
            "items": len(truth),
            "macro_f1": round(macro_f1(truth, predicted), 3),
            "accuracy": round(accuracy(truth, predicted), 3),
            "ece": round(calibration_error(sure, right), 3),
            "coverage": round(len(hits) / len(right), 3),
            "precision": round(sum(hits) / len(hits), 3) if hits else None,
        }
        if before is not None:
            first = [one[0] for one in said["found"]["text"]]
            row["minus_text"] = str(paired_difference(truth, predicted, first, groups, samples))
            row["minus_before"] = str(paired_difference(truth, predicted, before, groups, samples))
        if way == "votes and weak":
            row["weak"] = round(said["weak"])
        before = predicted
        rows.append(row)
    return rows


def main() -> None:
    """Measure the schemes that votes are used for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--scheme", action="append", default=[])
    parser.add_argument("--variant", default="title")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    store, embedder = Store(given.database), load_embedder(DEFAULT_MODEL)
    made: list[dict[str, Any]] = []
    with store.writer("bench votes") as writer:
        label_items(store, writer)
        data = read_training_data(store, writer, embedder, given.variant)
        for question in questions(data.taxonomy):
            rows, _ = gold_rows(question, data.gold, data.texts)
            asked = not given.scheme or question.scheme in given.scheme
            if question.only or not asked or len({row.label for row in rows}) < 2:
                continue
            made += scored(question.name, measure(question, data, store, embedder, given.seed))
            print("\n".join(json.dumps(row) for row in made[-len(WAYS) :]), flush=True)
    if given.out:
        given.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
