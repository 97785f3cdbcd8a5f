"""Accuracies of labelling functions on gold labels. Everything here is pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from torch_embers.classify.labels.weak import Labeller, WeakLabel
from torch_embers.statistics.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable

Gold = Mapping[str, frozenset[str]]
"""Classes of one item by scheme; one class where the scheme is exclusive."""

ItemKey = TypeVar("ItemKey", bound=Hashable)
"""Whatever tells items apart: a number, or (repo, number)."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often a function was right on gold."""

    right: int
    total: int
    interval: tuple[float, float]
    """Wilson interval of right / total; (0, 1) without gold."""
    base: float
    """Share of its class among all gold answers to its scheme: what guessing that class would reach there."""
    weight: float
    """What one vote adds to the log-odds of its class: measured against ``base``, drawn to the assumed accuracy where
    gold is thin, and never below 0."""


def estimate(
    votes: Mapping[ItemKey, Iterable[WeakLabel]], gold: Mapping[ItemKey, Gold], labeller: Labeller | None = None
) -> dict[str, Accuracy]:
    """Estimate how often each function is right where gold has an answer to its scheme.

    A scheme that does not apply to an item (memory_type of a bug in the loader) has no answer there. So accuracies for
    memory_type hold for memory bugs; the implied vote for bug_type has an accuracy of its own.

    Returns:
        Every declared function; those without a vote on gold items with the assumed accuracy of their kind.
    """
    labeller = labeller or Labeller.load()
    answers: Counter[str] = Counter()
    classes: Counter[tuple[str, str]] = Counter()
    for answer in gold.values():
        answers.update(answer.keys())
        classes.update((scheme, value) for scheme, values in answer.items() for value in values)
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for item, given in votes.items():
        for vote in set(given):
            if truth := gold.get(item, {}).get(vote.scheme):
                total[vote.function] += 1
                right[vote.function] += vote.value in truth
    return {
        name: _accuracy(labeller, kind, (right[name], total[name]), (classes[scheme, value], answers[scheme]))
        for name, (scheme, value, kind) in labeller.names().items()
    }


def _accuracy(labeller: Labeller, kind: str, votes: tuple[int, int], gold: tuple[int, int]) -> Accuracy:
    """Accuracy from (right, all) votes and (this class, all) answers.

    The weight is by how much a vote moves the odds: a function that is right 60 times of 100 has none where 60 of 100
    items have its class anyway. Half a vote is added on each side, so that no weight is infinite.
    """
    right, total = votes
    base = (gold[0] + 0.5) / (gold[1] + 1)
    measured = log_odds((right + 0.5) / (total + 1)) - log_odds(base)
    trust = total / (total + labeller.gold_weight)
    weight = trust * measured + (1 - trust) * log_odds(labeller.assumed[kind])
    interval = wilson(right, total, labeller.interval) if total else (0.0, 1.0)
    return Accuracy(right, total, interval, base, max(0.0, weight))


def log_odds(share: float) -> float:
    """Natural logarithm of the odds of a probability between 0 and 1."""
    return math.log(share / (1 - share))
