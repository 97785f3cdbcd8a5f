"""Accuracies of labelling functions on gold labels. Everything here is pure."""

from __future__ import annotations

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


def estimate(
    votes: Mapping[ItemKey, Iterable[WeakLabel]], gold: Mapping[ItemKey, Gold], labeller: Labeller | None = None
) -> dict[str, Accuracy]:
    """Estimate how often each function is right where gold has an answer to its scheme.

    A scheme that does not apply to an item (memory_type of a bug in the loader) has no answer there. So accuracies for
    memory_type hold for memory bugs; the implied vote for bug_type has an accuracy of its own.

    Returns:
        Every declared function, also one without a vote on gold items.
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
        name: Accuracy(
            right[name],
            total[name],
            wilson(right[name], total[name]) if total[name] else (0.0, 1.0),
            (classes[scheme, value] + 0.5) / (answers[scheme] + 1),
        )
        for name, (scheme, value, _) in labeller.names().items()
    }
