"""The card that is written beside a trained classifier for its readers; every figure is computed from itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.classify.model import Classifier

FILE = "README.md"

_HEAD = """# Model card: {name}

- **What it does**: gives a PyTorch issue or pull request its class in every scheme of `data/taxonomy.toml` that applies
  (bug type, memory type and sub-type, consequence, backends), each with a calibrated probability and a confidence.
- **What it reads**: the title; of the body the last error messages and the first 1,500 characters of prose, headings of
  forms, kinds of code, classes of exceptions, devices and dtypes; votes of labelling functions; vectors of {embedding}.
- **How**: one logistic regression per question on words, signs, votes and vectors, and one temperature. A run that
  showed a consequence overrules it. An item that it learned from is answered by a model that had not seen it.
- **Labels that it learned from** are those of the kind `automated`, by programs that follow published rules, and the
  study's own. Nothing was learned from the 200 issues and the test parts of docs/wild-labels.md.
- **Not good for**: classes with a handful of examples, projects other than PyTorch, languages other than English.
- **Files**: `weights.npz` (numbers) and `classifier.json` (everything else), which names the first by its SHA-256.
  Reading them runs no code.

## Confidence

`high`: at or above this probability at least 0.9 of the labels of the class are right, with a lower 90 % bound of 0.8
or more, among at least 25 on each of two samples: titles drawn at random, and issues read with their bodies. `medium`:
0.7 and 0.55. Everything else is `low`. Each item was labelled by models that saw neither it nor its group.

| scheme | class | confidence | from | titles: right | bodies: right |
| --- | --- | --- | ---: | ---: | ---: |
"""

_QUESTIONS = """
## What each question learned

Macro-averages say how evenly classes are recognised: recall of each class, averaged.

| question | items | accuracy | mean recall | classes (items) |
| --- | ---: | ---: | ---: | --- |
"""


def text(classifier: Classifier) -> str:
    """The card, as Markdown."""
    about = classifier.about
    rows = [
        f"| {cut.scheme} | `{cut.value}` | {cut.confidence} | {cut.probability:.2f} | "
        + " | ".join(f"{one.right} of {one.items}" for one in cut.measured)
        + " |"
        for cut in about.cuts
    ]
    head = _HEAD.format(name=about.name, embedding=about.embedding)
    return (
        head + "".join(f"{row}\n" for row in rows) + _QUESTIONS + "".join(f"{row}\n" for row in _questions(classifier))
    )


def _questions(classifier: Classifier) -> Iterator[str]:
    for name, one in classifier.about.questions.items():
        counts = np.array(classifier.about.confusion.get(name, ()), dtype=np.float64)
        classes = ", ".join(f"`{value}` {count}" for value, count in one.trained_on.items())
        if not counts.sum():
            yield f"| {name} | too few to learn: its most frequent class |  |  | {', '.join(one.classes)} |"
            continue
        recall = np.diagonal(counts) / counts.sum(axis=1)
        items, share = counts.sum(), np.trace(counts) / counts.sum()
        yield f"| {name} | {items:.0f} | {share:.3f} | {recall.mean():.3f} | {classes} |"
