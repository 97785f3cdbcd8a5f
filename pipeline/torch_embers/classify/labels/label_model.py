"""Accuracies of labelling functions on gold labels, and the probability of each class given several votes.

Naive Bayes, discounted and capped: functions that read the same text are not independent, so each further vote for a
class is discounted, and the sum of the votes of texts and labels is capped. Everything here is pure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from torch_embers.classify.labels.weak import EXECUTION, Labeller, WeakLabel
from torch_embers.errors import InputError
from torch_embers.statistics.intervals import wilson
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

LEAST_PRIOR = 1e-4
"""No class is impossible."""

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


# ---- accuracy on gold ----------------------------------------------------------------------------------------------


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


def class_priors(gold: Mapping[ItemKey, Gold], scheme: str, taxonomy: Taxonomy | None = None) -> dict[str, float]:
    """Share of each class among gold answers to a scheme, with one answer added for each class.

    Gold is chosen, not sampled: these are the shares of the catalog, not of the tracker.
    """
    entry = (taxonomy or Taxonomy.load()).scheme(scheme)
    answers = [answer[scheme] for answer in gold.values() if scheme in answer]
    counts = Counter(value for values in answers for value in values)
    options = len(entry.names()) if entry.exclusive else 2
    return {name: (counts[name] + 1) / (len(answers) + options) for name in entry.names()}


# ---- the vote ------------------------------------------------------------------------------------------------------


def combine(
    votes: Iterable[WeakLabel],
    accuracies: Mapping[str, Accuracy],
    priors: Mapping[str, float],
    *,
    exclusive: bool = True,
    labeller: Labeller | None = None,
) -> dict[str, float]:
    """Probability of each class of one scheme, from the votes of one item.

    Where a run has voted, the votes of texts and labels and the priors of an exclusive scheme are ignored.

    Args:
        votes: of one scheme.
        accuracies: from ``estimate``; a function that is missing there counts by the assumed accuracy of its kind.
        priors: of every class, any positive scale; for ``exclusive=False`` probabilities, each by itself.
        exclusive: whether exactly one class holds; otherwise each class gets a probability of its own.
        labeller: other rules of combining than the shipped ones.

    Raises:
        InputError: votes of several schemes, a class without a prior, no usable priors.
    """
    labeller = labeller or Labeller.load()
    distinct = {(vote.function, vote.value): vote for vote in votes}.values()
    _check_votes(distinct, priors)
    runs = [vote for vote in distinct if vote.kind == EXECUTION]
    counted = runs if runs and exclusive else list(distinct)
    weights: dict[str, list[float]] = {}
    for vote in counted:
        known = accuracies.get(vote.function)
        weights.setdefault(vote.value, []).append(known.weight if known else log_odds(labeller.assumed[vote.kind]))
    evidence = {value: _sum(found, labeller.discount) for value, found in weights.items()}
    if not runs:
        evidence = {value: min(found, labeller.cap) for value, found in evidence.items()}
    if not exclusive:
        return {
            name: _share(log_odds(min(max(prior, LEAST_PRIOR), 1 - LEAST_PRIOR)) + evidence.get(name, 0.0))
            for name, prior in priors.items()
        }
    whole = sum(priors.values())
    scores = {
        name: (0.0 if runs else math.log(max(prior / whole, LEAST_PRIOR))) + evidence.get(name, 0.0)
        for name, prior in priors.items()
    }
    top = max(scores.values())
    odds = {name: math.exp(score - top) for name, score in scores.items()}
    return {name: value / sum(odds.values()) for name, value in odds.items()}


def _check_votes(votes: Collection[WeakLabel], priors: Mapping[str, float]) -> None:
    if len({vote.scheme for vote in votes}) > 1:
        raise InputError("votes of several schemes cannot be combined: combine each scheme by itself")
    if unknown := sorted({vote.value for vote in votes} - set(priors)):
        raise InputError(f"there is no prior for class {unknown[0]!r}")
    whole = sum(priors.values())
    if not (math.isfinite(whole) and whole > 0 and min(priors.values()) >= 0):
        raise InputError("priors must be numbers of 0 or more, not all of them 0")


def _sum(weights: Iterable[float], further: float) -> float:
    return sum(weight * further**place for place, weight in enumerate(sorted(weights, reverse=True)))


def log_odds(share: float) -> float:
    """Natural logarithm of the odds of a probability between 0 and 1."""
    return math.log(share / (1 - share))


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))
