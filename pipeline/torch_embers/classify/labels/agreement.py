"""How far annotators agree: Cohen's kappa of every two who labelled the same items."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from torch_embers.classify.evaluation.metrics import Interval, kappa

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from torch_embers.store.store import Store

LEAST_SHARED = 10
"""Items that two annotators must share before their agreement says anything."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Cohen's kappa of two annotators on the items that both labelled."""

    scheme: str
    one: str
    """Kind and name, as ``automated:embers-guide-1``."""
    other: str
    kappa: Interval
    items: int
    same: int
    """Items to which both gave the same class."""


def between(said: Iterable[tuple[str, str, Hashable, str]], least: int = LEAST_SHARED) -> list[Agreement]:
    """Agreement of every two annotators that share at least ``least`` items of a scheme.

    Args:
        said: scheme, annotator, item, value.
        least: fewer shared items than this say nothing.
    """
    known: dict[tuple[str, str], dict[Hashable, str]] = {}
    for scheme, annotator, item, value in said:
        known.setdefault((scheme, annotator), {})[item] = value
    found = []
    for (one_scheme, one), (other_scheme, other) in combinations(sorted(known), 2):
        first, second = known[one_scheme, one], known[other_scheme, other]
        both = [item for item in first if item in second]
        if one_scheme == other_scheme and len(both) >= max(1, least):
            chance_free = kappa([first[item] for item in both], [second[item] for item in both], both)
            same = sum(first[item] == second[item] for item in both)
            found.append(Agreement(one_scheme, one, other, chance_free, len(both), same))
    return found


def of_store(store: Store) -> list[Agreement]:
    """Agreement of the annotators of a database.

    Raises:
        StoreError: the database cannot be read.
    """
    with store.read() as connection:
        rows = connection.execute(
            "SELECT scheme, annotator_kind || ':' || annotator, repo, number, value FROM gold_labels ORDER BY ALL"
        ).fetchall()
    return between((scheme, annotator, (repo, number), value) for scheme, annotator, repo, number, value in rows)
