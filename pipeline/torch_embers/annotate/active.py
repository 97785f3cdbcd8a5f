"""Active learning: the order in which items are offered for labelling.

A label is most informative where the model and the weak votes disagree, where the model is uncertain, and in rare
classes. Near-duplicates add little, so they are kept apart in the order. Everything here is pure.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DISAGREEMENT, UNCERTAINTY, RARITY = 0.40, 0.35, 0.25
"""Weights of the three criteria in a score. Disagreement has most, as one of the two sides is certainly wrong; rarity
has least, or every uncertain prediction of the rarest class would come first."""
APART = 5
"""Of so many items in a row no two are of one group, as long as another group is left."""


@dataclass(frozen=True, slots=True)
class SchemeEvidence:
    """What model and votes say of an item in one scheme before a person labels it."""

    scheme: str
    classes: int
    """How many classes the scheme has."""
    model: Mapping[str, float] = field(default_factory=dict)
    """Value -> probability, possibly of the likeliest value alone; empty where no model has seen the item."""
    votes: Mapping[str, float] = field(default_factory=dict)
    """Value -> weight above 0 of the weak labels for it; empty where there are none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item that might be asked about."""

    repo: str
    number: int
    evidence: tuple[SchemeEvidence, ...] = ()
    group: str = ""
    """Near-duplicates share it; empty: like no other."""
    changed_at: str = ""
    """ISO 8601 in UTC; the newer comes first where nothing else decides."""


def rank(candidates: Sequence[Candidate], known: Mapping[tuple[str, str], int] | None = None) -> list[Candidate]:
    """Return the candidates, the most informative first.

    The score is the best of an item's evidence: contradiction between model and votes, uncertainty, rarity of the
    class that it would belong to. Without any evidence the newest comes first. Equal input gives equal output,
    whatever its order.

    Args:
        candidates: each item once.
        known: (scheme, value) -> items that have this label already; makes frequent classes less interesting.
    """
    rarity = _rarities(candidates, known or {})
    ordered = sorted(candidates, key=lambda one: (one.repo, one.number))
    ordered.sort(key=lambda one: one.changed_at, reverse=True)
    ordered.sort(key=lambda one: (-score(one, rarity), not any(map(_is_known, one.evidence))))
    return _apart(ordered)


def score(candidate: Candidate, rarity: Mapping[tuple[str, str], float]) -> float:
    """How informative an item is, 0 to 1, rounded so that machines agree."""
    scores = [_score(evidence, rarity) for evidence in candidate.evidence if _is_known(evidence)]
    return round(max(scores, default=0.0), 9)


def disagreement(evidence: SchemeEvidence) -> float:
    """Distance between what the model and what the votes say (total variation, 0 to 1).

    Without a model: the share of the votes that are not for the leading value. Without votes: 0.
    """
    votes = _votes(evidence)
    if not votes:
        return 0.0
    model = _model(evidence)
    if not model:
        return 1 - max(votes.values())
    spread, unnamed = _spread(evidence, {*model, *votes})
    return (sum(abs(spread[value] - votes.get(value, 0.0)) for value in spread) + unnamed) / 2


def uncertainty(evidence: SchemeEvidence) -> float:
    """How undecided the model is, 0 to 1: mean of normalised entropy and of one minus the margin between its first two.

    A probability that is not given is taken as spread evenly over the classes that are not named. Without a model the
    shares of the votes stand in for it.
    """
    model = _model(evidence)
    named = model or _votes(evidence)
    classes = max(evidence.classes, len(named))
    if not named or classes < 2:
        return 0.0
    rest = max(1 - sum(named.values()), 0.0) if model else 0.0
    missing = classes - len(named)
    shares = [*named.values(), *(rest / missing for _ in range(missing))]
    entropy = -sum(share * math.log(share) for share in shares if share > 0) / math.log(classes)
    first, second = heapq.nlargest(2, shares)
    return min((entropy + 1 - (first - second)) / 2, 1.0)


def _score(evidence: SchemeEvidence, rarity: Mapping[tuple[str, str], float]) -> float:
    rare = rarity.get((evidence.scheme, _leading(evidence)), 0.0)
    return DISAGREEMENT * disagreement(evidence) + UNCERTAINTY * uncertainty(evidence) + RARITY * rare


def _model(evidence: SchemeEvidence) -> dict[str, float]:
    """The probabilities that are numbers, brought to a sum of at most 1."""
    usable = {value: min(p, 1.0) for value, p in evidence.model.items() if math.isfinite(p) and p > 0}
    total = max(sum(usable.values()), 1.0)
    return {value: p / total for value, p in usable.items()}


def _votes(evidence: SchemeEvidence) -> dict[str, float]:
    usable = {value: weight for value, weight in evidence.votes.items() if math.isfinite(weight) and weight > 0}
    total = sum(usable.values())
    return {value: weight / total for value, weight in usable.items()}


def _spread(evidence: SchemeEvidence, values: set[str]) -> tuple[dict[str, float], float]:
    """The model's probability of each value, and what it leaves to classes that nobody named."""
    model = _model(evidence)
    rest = max(1 - sum(model.values()), 0.0)
    missing = max(evidence.classes, len(values)) - len(model)
    share = rest / missing if missing else 0.0
    spread = {value: model.get(value, share) for value in sorted(values)}
    return spread, max(1 - sum(spread.values()), 0.0)


def _is_known(evidence: SchemeEvidence) -> bool:
    return bool(_model(evidence) or _votes(evidence))


def _leading(evidence: SchemeEvidence) -> str:
    """The value an item would get; of equals the first by name. Votes decide where they are all there is."""
    named = _model(evidence) or _votes(evidence)
    return min(named, key=lambda value: (-named[value], value), default="")


def _rarities(candidates: Iterable[Candidate], known: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], float]:
    """0 for the most frequent class of a scheme, towards 1 for rarer ones, on a logarithmic scale."""
    counted = Counter(
        (evidence.scheme, _leading(evidence))
        for candidate in candidates
        for evidence in candidate.evidence
        if _is_known(evidence)
    )
    total = {key: count + max(known.get(key, 0), 0) for key, count in counted.items()}
    most: dict[str, int] = defaultdict(int)
    for (scheme, _), count in total.items():
        most[scheme] = max(most[scheme], count)
    return {(scheme, value): 1 - math.log1p(n) / math.log1p(most[scheme]) for (scheme, value), n in total.items()}


def _apart(ordered: Sequence[Candidate]) -> list[Candidate]:
    """The same order, but a group waits until ``APART - 1`` others came, as long as there are others."""
    members: dict[str | int, deque[int]] = defaultdict(deque)
    for place, one in enumerate(ordered):
        members[one.group or place].append(place)
    ready = [(places[0], group) for group, places in members.items()]
    heapq.heapify(ready)
    resting: deque[tuple[int, str | int]] = deque()
    order: list[Candidate] = []
    while ready or resting:
        while resting and (resting[0][0] <= len(order) or not ready):
            group = resting.popleft()[1]
            heapq.heappush(ready, (members[group][0], group))
        group = heapq.heappop(ready)[1]
        order.append(ordered[members[group].popleft()])
        if members[group]:
            resting.append((len(order) + APART - 1, group))
    return order
