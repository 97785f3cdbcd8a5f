"""What annotators said, brought to one answer per item and scheme, with who decided.

There is one rule, and everything that learns from gold or measures against it goes through ``load``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_embers.statistics import agreement
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from torch_embers.statistics.agreement import Agreement
    from torch_embers.store.store import Store

ORDER = {"human": 0, "paper": 1, "automated": 2}
"""Whose word counts first. The study's own labels come before those of automated annotators, people's before both."""

_VOTES = """
    SELECT v.*, i.created_at FROM (
        SELECT repo, number, scheme, value, annotator_kind, annotator FROM gold_labels
        UNION ALL
        SELECT repo, number, 'backend', unnest(backends), 'automated', 'catalog' FROM catalog
    ) v LEFT JOIN items i ON i.repo = v.repo AND i.number = v.number ORDER BY ALL"""


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """The classes of one item in one scheme; one class where the scheme is exclusive."""

    values: frozenset[str]
    by: str
    """Who decided, as kind:name."""


@dataclass(frozen=True, slots=True)
class GoldItem:
    """An item with its labels."""

    repo: str
    number: int
    labels: Mapping[str, str]
    """Scheme -> value, of the schemes whose classes exclude each other."""
    annotators: Mapping[str, str]
    """Scheme -> who decided, as kind:name."""
    created_at: datetime | None
    answers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Scheme -> classes, of all schemes."""

    @staticmethod
    def of(
        repo: str,
        number: int,
        answers: Mapping[str, GoldAnswer],
        taxonomy: Taxonomy,
        created_at: datetime | None = None,
    ) -> GoldItem:
        """An item by its answers."""
        values = {scheme: answer.values for scheme, answer in answers.items()}
        single = {
            scheme: next(iter(own))
            for scheme, own in values.items()
            if len(own) == 1 and not (scheme in taxonomy.schemes and not taxonomy.schemes[scheme].exclusive)
        }
        by = {scheme: answer.by for scheme, answer in answers.items()}
        return GoldItem(repo, number, single, by, created_at, values)


def decide(votes: Iterable[tuple[str, str, str]]) -> GoldAnswer:
    """One answer of several annotators.

    The first kind in ``ORDER`` that voted decides; within a kind the most frequent answer, and where that is a draw,
    that of the annotator whose name sorts first. All classes that one annotator names are one answer.

    Args:
        votes: (value, annotator kind, annotator), at least one.
    """
    said: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    for value, kind, annotator in votes:
        said[ORDER.get(kind, len(ORDER)), annotator, kind].add(value)
    best, _, _ = min(said)
    heard = {who: frozenset(values) for who, values in sorted(said.items()) if who[0] == best}
    counted = Counter(heard.values())
    (_, annotator, kind), values = max(heard.items(), key=lambda one: counted[one[1]])
    return GoldAnswer(values, f"{kind}:{annotator}")


def load(store: Store, taxonomy: Taxonomy | None = None) -> list[GoldItem]:
    """All labelled items, by repository and number; backends are those of the catalog where nobody said better.

    Raises:
        StoreError: the database cannot be read.
    """
    with store.read() as connection:
        rows = connection.execute(_VOTES).fetchall()
    votes: dict[tuple[str, int], dict[str, list[tuple[str, str, str]]]] = defaultdict(lambda: defaultdict(list))
    dates: dict[tuple[str, int], datetime | None] = {}
    for name, number, scheme, value, kind, annotator, created in rows:
        votes[name, number][scheme].append((value, kind, annotator))
        dates[name, number] = created
    taxonomy = taxonomy or Taxonomy.load()
    return [
        GoldItem.of(*key, {scheme: decide(own) for scheme, own in said.items()}, taxonomy, dates[key])
        for key, said in votes.items()
    ]


def agreements(store: Store) -> list[Agreement]:
    """Agreement of the annotators of a database.

    Raises:
        StoreError: the database cannot be read.
    """
    with store.read() as connection:
        rows = connection.execute(
            "SELECT scheme, annotator_kind || ':' || annotator, repo, number, value FROM gold_labels ORDER BY ALL"
        ).fetchall()
    return agreement.between((scheme, who, (repo, number), value) for scheme, who, repo, number, value in rows)
