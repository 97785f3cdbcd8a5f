"""What is written beside a trained classifier for its readers: card, counts of the training rows, confusion matrices.

Every figure is computed from the bundle itself, from its answers to items that it was held out from, so that card and
classifier cannot disagree; all files are sealed together (``learning/kept.py``). ``card.md`` is the text of the card.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from torch_embers import resources
from torch_embers.classify import confusions
from torch_embers.classify.train import DRAWN, GOLD
from torch_embers.statistics.intervals import wilson
from torch_embers.statistics.metrics import accuracy, calibration_error, macro_f1

if TYPE_CHECKING:
    from torch_embers.classify.bundle import Bundle

PARTS = {
    "Items drawn at random:": True,
    "Items that were chosen (the catalog, and what was looked for by words of rare classes):": False,
}
"""Heading of a table of scores, and whether its items were drawn at random."""
README, TRAINING = "README.md", "TRAINING.md"
SCORES = (
    "| question | items | macro-F1 | accuracy | ECE | labels given | right [95 %] |",
    "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
)


def files(bundle: Bundle) -> dict[str, bytes]:
    """The files beside a bundle, by name."""
    return {
        README: card(bundle).encode(),
        TRAINING: training_card(bundle).encode(),
        confusions.FILE: confusions.as_json(confusions.of_bundle(bundle)),
    }


def card(bundle: Bundle) -> str:
    """The model card, as Markdown."""
    rows = [row for rows in bundle.rows.values() for row in rows if row.source.startswith(GOLD)]
    chosen, drawn = ({(r.repo, r.number) for r in rows if (r.source == DRAWN) is part} for part in (False, True))
    text = (
        resources.package_file("classify", "card.md")
        .read_text(encoding="utf-8")
        .format(
            name=bundle.name, variant=bundle.variant, embedding=bundle.embedding, chosen=len(chosen), drawn=len(drawn)
        )
    )
    lines: list[str] = []
    for heading, part in PARTS.items():
        if scores := [row for name in bundle.held_out if (row := _scores(bundle, name, drawn=part))]:
            lines += ["", heading, "", *SCORES, *scores]
    return text + "".join(f"{line}\n" for line in lines)


def _scores(bundle: Bundle, question: str, *, drawn: bool) -> str:
    """How well a question is answered for held-out items, those drawn at random or the others; empty without any."""
    one = bundle.classifiers[question]
    labels = {(row.repo, row.number): row.label for row in bundle.rows[question] if (row.source == DRAWN) is drawn}
    own = [answer for answer in bundle.held_out[question] if (answer.repo, answer.number) in labels]
    if not own:
        return ""
    truth = [labels[answer.repo, answer.number] for answer in own]
    best, sure, given = one.answers(np.array([answer.probabilities for answer in own]))
    predicted = [one.classes[column] for column in best]
    right = np.array([said == label for said, label in zip(predicted, truth, strict=True)])
    error = calibration_error(np.minimum(sure, 1.0).tolist(), right.tolist())
    answered, hits = int(given.sum()), int((right & given).sum())
    precision = ""
    if answered:
        low, high = wilson(hits, answered)
        precision = f"{hits / answered:.3f} [{low:.3f}, {high:.3f}]"
    f1, share = macro_f1(truth, predicted), accuracy(truth, predicted)
    return f"| {question} | {len(own)} | {f1:.3f} | {share:.3f} | {error:.3f} | {answered} | {precision} |"


def training_card(bundle: Bundle) -> str:
    """What the classifiers learned from, as Markdown: labelled items by annotator, and items that votes labelled."""
    lines = [
        f"# What {bundle.name} learned from",
        "",
        f"Written by `embers classify --train`; text: {bundle.variant}, vectors: {bundle.embedding}.",
        "",
        "| question | source | items |",
        "| --- | --- | ---: |",
    ]
    for name, rows in bundle.rows.items():
        counts = Counter(row.source if row.source.startswith(GOLD) else "votes, without gold" for row in rows)
        lines += [f"| {name} | {source} | {count} |" for source, count in sorted(counts.items())]
    lines += ["", "| question | class | items with gold |", "| --- | --- | ---: |"]
    for name, one in bundle.classifiers.items():
        lines += [f"| {name} | `{value}` | {count} |" for value, count in one.trained_on.items()]
    return "\n".join(lines) + "\n"
