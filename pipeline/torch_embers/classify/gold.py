"""What annotators said, brought to one label per item and scheme, with who decided."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from torch_embers.store.store import Store

ORDER = {"human": 0, "paper": 1, "automated": 2}
"""Whose word counts first. The study's own labels come before those of automated annotators, people's before both."""


@dataclass(frozen=True, slots=True)
class GoldItem:
    """An item with its labels."""

    repo: str
    number: int
    labels: Mapping[str, str]
    """Scheme -> value."""
    annotators: Mapping[str, str]
    """Scheme -> who decided, as kind:name."""
    created_at: datetime | None


def decide(votes: Iterable[tuple[str, str, str]]) -> tuple[str, str]:
    """One label of several: (value, kind:annotator).

    The first kind in ``ORDER`` that voted decides; within a kind the most frequent value, and where that is a draw,
    the annotator whose name sorts first.

    Args:
        votes: (value, annotator kind, annotator), at least one.
    """
    ranked = sorted(votes, key=lambda vote: (ORDER.get(vote[1], len(ORDER)), vote[2], vote[0]))
    kind = ranked[0][1]
    inside = [vote for vote in ranked if vote[1] == kind]
    counted = Counter(vote[0] for vote in inside)
    most = max(counted.values())
    value = next(vote[0] for vote in inside if counted[vote[0]] == most)
    return value, f"{kind}:{next(vote[2] for vote in inside if vote[0] == value)}"


def load(store: Store, repo: str | None = None) -> list[GoldItem]:
    """All labelled items, by repository and number.

    Raises:
        StoreError: the database cannot be read.
    """
    with store.read() as connection:
        rows = connection.execute(
            "SELECT g.repo, g.number, g.scheme, g.value, g.annotator_kind, g.annotator, i.created_at "
            "FROM gold_labels g LEFT JOIN items i ON i.repo = g.repo AND i.number = g.number "
            "WHERE $repo IN ('', g.repo) ORDER BY ALL",
            {"repo": repo or ""},
        ).fetchall()
    votes: dict[tuple[str, int], dict[str, list[tuple[str, str, str]]]] = defaultdict(lambda: defaultdict(list))
    dates: dict[tuple[str, int], datetime | None] = {}
    for name, number, scheme, value, kind, annotator, created in rows:
        votes[name, number][scheme].append((value, kind, annotator))
        dates[name, number] = created
    found = []
    for (name, number), schemes in votes.items():
        decided = {scheme: decide(said) for scheme, said in schemes.items()}
        found.append(
            GoldItem(
                name,
                number,
                {scheme: value for scheme, (value, _) in decided.items()},
                {scheme: who for scheme, (_, who) in decided.items()},
                dates[name, number],
            )
        )
    return found
