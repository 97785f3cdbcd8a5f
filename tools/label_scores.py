"""How good the shipped classifier's labels are on the 200 issues that nothing was learned from, beside baselines.

    python tools/label_scores.py DATABASE [--encoder FOLDER]

The database is that of the training (`make model`): it holds the texts. The issues are those of the part `test` in
data/body_labels.csv (docs/wild-labels.md), without maintainers' labels. They are scored once per released classifier:
a second time is refused. Baselines learn from what the classifier learned from: keyword rules (the labelling functions
of titles and bodies, the most frequent class where none speaks), TF-IDF, and with `--encoder` a regression on the
vectors that another encoder makes of the titles. Results: analysis/results/classifier/test.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers import resources
from torch_embers.classify import model as models
from torch_embers.classify.aggregation import Aggregator
from torch_embers.classify.embedding import embed
from torch_embers.classify.examples import examples, vote_names
from torch_embers.classify.features import Item
from torch_embers.classify.label_items import labels_of
from torch_embers.classify.labels import bodies
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.questions import Question, questions
from torch_embers.classify.text import read
from torch_embers.evaluate.compare_learners import LearnerAnswers, report
from torch_embers.evaluate.learners import Texts, tfidf, vectors
from torch_embers.statistics.intervals import wilson
from torch_embers.store.store import Store
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.classify.examples import Example

OUT = resources.CHECKOUT_DIR / "analysis" / "results" / "classifier" / "test.json"
SCHEMES = ("bug_type", "memory_type", "consequence")


def issues(store: Store) -> list[tuple[bodies.BodyAnswer, Item]]:
    """The test issues with what is read of them."""
    wanted = {answer.number: answer for answer in bodies.load() if answer.part == "test"}
    with store.read() as connection:
        rows = connection.execute(
            "SELECT number, title, body FROM items WHERE repo = ? AND number IN (SELECT unnest(?))",
            [bodies.REPO, list(wanted)],
        ).fetchall()
    if len(rows) != len(wanted):
        raise SystemExit(f"{store.path} holds {len(rows)} of the {len(wanted)} issues: `make model` mines them")
    votes = Labeller.load().votes
    return [
        (wanted[number], Item(read(title, body), vote_names(votes(title, body, None))))
        for number, title, body in sorted(rows)
    ]


def by_rules(question: Question, rows: Sequence[Example], items: Sequence[Item]) -> list[str]:
    """The class that most rules name, each counted by how often it is right; the most frequent class without any."""
    named = {name: value for name, (scheme, value, _) in Labeller.load().names().items() if scheme == question.scheme}
    right: Counter[str] = Counter()
    spoke: Counter[str] = Counter()
    truth = [(row, label) for row in rows if (label := question.truth(row.gold)) is not None]
    for row, label in truth:
        for name in row.item.votes:
            if name in named:
                spoke[name] += 1
                right[name] += named[name] == label
    usual = Counter(label for _, label in truth).most_common(1)[0][0]
    found = []
    for item in items:
        weighed: Counter[str] = Counter()
        for name in item.votes:
            if name in named and spoke[name]:
                weighed[named[name]] += right[name] / spoke[name]  # type: ignore[assignment]
        found.append(max(weighed, key=lambda value: (weighed[value], value)) if weighed else usual)
    return found


def score(store: Store, encoder: str | None) -> dict[str, Any]:
    """Everything that is measured."""
    made, taxonomy = models.load(models.shipped_folder()), Taxonomy.load()
    test, (rows, _) = issues(store), examples(store)
    items = [item for _, item in test]
    gold = [answer.gold(taxonomy) for answer, _ in test]
    shipped = embed.load_embedder()
    own = tuple(shipped.encode(texts) for texts in ([i.text.title for i in items], [i.text.words for i in items]))
    keys = [("", place) for place in range(len(items))]
    labels, columns = labels_of(made, Aggregator(made), keys, items, {}, own)
    chances = made.probabilities(columns)
    other = embed.load_embedder(encoder) if encoder else None
    reports = []
    for question in questions(taxonomy):
        if question.name not in SCHEMES:
            continue
        at = np.array([place for place, one in enumerate(gold) if question.truth(one) is not None])
        truth = [str(question.truth(gold[place])) for place in at]
        known = [row for row in rows if question.truth(row.gold) is not None]
        known_labels = np.array([question.truth(row.gold) for row in known])
        groups, none = np.arange(len(known)), np.zeros((len(known), 1), np.float32)
        answers = [
            LearnerAnswers("rules", np.array(by_rules(question, known, [items[p] for p in at])), np.full(len(at), 0.5))
        ]
        learners = [("tfidf", tfidf, None)] + ([("encoder", vectors, other)] if other else [])
        for name, learner, encoding in learners:
            learned = none if encoding is None else encoding.encode([row.item.text.title for row in known])
            asked = none[:1] if encoding is None else encoding.encode([items[place].text.title for place in at])
            texts = Texts([row.item for row in known], none, learned)
            classes, said = learner(texts, known_labels, groups, Texts([items[p] for p in at], none[: len(at)], asked))
            answers.append(LearnerAnswers(name, np.array(classes)[said.argmax(axis=1)], said.max(axis=1)))
        mine = chances[question.name][at]
        classes = made.about.questions[question.name].classes
        answers.append(LearnerAnswers("classifier", np.array(classes)[mine.argmax(axis=1)], mine.max(axis=1)))
        reports.append(report(question.name, "test", truth, list(range(len(at))), answers).as_dict())
    sure: dict[str, list[int]] = {}
    for label in labels:
        counts = sure.setdefault(f"{label.scheme} {label.confidence}", [0, 0])
        counts[0] += label.value in gold[label.place].answers.get(label.scheme, frozenset())
        counts[1] += 1
    backends: list[set[str]] = [set() for _ in items]
    for label in labels:
        if label.scheme == "backend":
            backends[label.place].add(label.value)
    whole = sum(found == one.answers["backend"] for found, one in zip(backends, gold, strict=True))
    levels = [
        {"of": name, "right": right, "labels": count, "interval": wilson(right, count, 0.9)}
        for name, (right, count) in sorted(sure.items())
    ]
    about = {
        "classifier": made.version,
        "encoder": encoder or "",
        "issues": len(items),
        "whole_sets_of_backends": whole,
    }
    return about | {"reports": reports, "confidence": levels}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("--encoder", help="hub name or folder of another encoder to compare with")
    options = parser.parse_args(arguments)
    earlier = json.loads(OUT.read_text(encoding="utf-8")) if OUT.is_file() else {}
    if earlier.get("classifier") == models.load(models.shipped_folder()).version:
        raise SystemExit(f"{earlier['classifier']} was scored on these issues: they are scored once per classifier")
    found = score(Store(options.database), options.encoder)
    OUT.write_text(json.dumps(found, indent=1, default=asdict) + "\n", encoding="utf-8")
    for one in found["reports"]:
        said = ", ".join(f"{row['learner']} {row['kappa']['value']:.3f}" for row in one["scores"])
        sys.stdout.write(f"{one['task']}, kappa on {one['texts']}: {said}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
