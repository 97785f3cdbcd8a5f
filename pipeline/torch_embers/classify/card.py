"""What is written beside a trained classifier for its readers: card, counts of the training rows, confusion matrices.

Every figure is computed from the bundle itself, from its answers to items that it was held out from, so that card and
classifier cannot disagree; all files are sealed together (``learning/kept.py``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify import confusions
from torch_embers.classify.train import DRAWN, GOLD
from torch_embers.statistics.intervals import wilson
from torch_embers.statistics.metrics import accuracy, calibration_error, macro_f1

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.classify.bundle import Bundle

DRAWN_HEADING = "Items drawn at random:"
CHOSEN_HEADING = "Items that were chosen (the catalog, and what was looked for by words of rare classes):"
README, TRAINING = "README.md", "TRAINING.md"


@dataclass(frozen=True, slots=True)
class Measured:
    """How well a question is answered for the items that the classifier was held out from."""

    items: int
    macro_f1: float
    accuracy: float
    calibration_error: float
    answered: int
    """Items that got a label."""
    right: int
    """Of these, how many got the right one."""

    @property
    def precision(self) -> str:
        """Share of right labels among those given, with its 95 % interval."""
        if not self.answered:
            return ""
        low, high = wilson(self.right, self.answered)
        return f"{self.right / self.answered:.3f} [{low:.3f}, {high:.3f}]"


def measured(bundle: Bundle, question: str, *, drawn: bool) -> Measured | None:
    """Score a bundle's answers out of fold to a question, on the items that were drawn at random or on the others.

    Returns:
        ``None`` where there are none.
    """
    one = bundle.classifiers[question]
    labels = {(row.repo, row.number): row.label for row in bundle.rows[question] if (row.source == DRAWN) is drawn}
    own = [answer for answer in bundle.held_out[question] if (answer.repo, answer.number) in labels]
    if not own:
        return None
    truth = [labels[answer.repo, answer.number] for answer in own]
    best, sure, given = one.answers(np.array([answer.probabilities for answer in own]))
    predicted = [one.classes[column] for column in best]
    right = [said == label for said, label in zip(predicted, truth, strict=True)]
    return Measured(
        items=len(own),
        macro_f1=macro_f1(truth, predicted),
        accuracy=accuracy(truth, predicted),
        calibration_error=calibration_error(np.minimum(sure, 1.0).tolist(), right),
        answered=int(given.sum()),
        right=sum(hit for hit, spoke in zip(right, given, strict=True) if spoke),
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
    lines = [
        f"# Model card: {bundle.name}",
        "",
        "- **What it does**: names the bug type, the memory type (under memory), its sub-type, the consequence and",
        "  the backends of a PyTorch issue or pull request, with a calibrated probability, or abstains. Classes and",
        "  rules: `data/taxonomy.toml`.",
        f"- **What it reads**: the text `{bundle.variant}`, vectors of {bundle.embedding}, and the votes of",
        "  labelling functions on maintainers' labels and words. Consequences that a run showed, and backends that a",
        "  label or the title names, are decided without it (`data/labelling.toml`).",
        f"- **Made from**: gold labels of {len(chosen)} chosen items and of {len(drawn)} drawn at random, and",
        "  maintainers' labels of others; [TRAINING.md](TRAINING.md) counts them by question, source and class. Labels",
        "  of the kind `automated` come from programs that follow published rules.",
        "- **How**: scikit-learn; one logistic regression per question on words, pieces of words, vectors and votes;",
        "  one temperature. Thresholds are tested in a fixed order, from strict to lax, by exact tests with an "
        "error of",
        "  5 % that the share of right labels reaches 0.9, on the drawn items that two annotators labelled "
        "and that the",
        "  model was held out from, where there are ten or more; the last one that passes is taken. Where the "
        "first one",
        "  fails, the question is never answered.",
        "- **Not good for**: classes with a handful of examples, projects other than PyTorch, languages other than",
        "  English.",
        "- **Files**: `model.skops` (features and estimators, by skops: loading runs no code), `bundle.json`",
        "  (classes, thresholds, training rows, answers out of fold), `confusion.json`; `seal.json` holds the SHA-256",
        "  of each.",
        "",
        "How good, on the items that it learned from, each by a model that saw neither it nor its group",
        "(near-duplicates, links). docs/evaluation.md has the scores on items that it never saw.",
    ]
    for part, heading in ((True, DRAWN_HEADING), (False, CHOSEN_HEADING)):
        scores = [(name, own) for name in bundle.held_out if (own := measured(bundle, name, drawn=part)) is not None]
        if scores:
            lines += ["", heading, "", *_table(scores)]
    return "\n".join(lines) + "\n"


def _table(scores: Sequence[tuple[str, Measured]]) -> list[str]:
    return [
        "| question | items | macro-F1 | accuracy | ECE | labels given | right [95 %] |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
        *(
            f"| {name} | {own.items} | {own.macro_f1:.3f} | {own.accuracy:.3f} | {own.calibration_error:.3f} "
            f"| {own.answered} | {own.precision} |"
            for name, own in scores
        ),
    ]


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
