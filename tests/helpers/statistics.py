"""What the tests in test_statistics.py share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.classify.confusions import Confusion

if TYPE_CHECKING:
    from collections.abc import Sequence


# ---- prevalence


def matrix(counts: Sequence[Sequence[float]], names: str = "") -> Confusion:
    classes = tuple(names.split() or [f"c{place}" for place in range(len(counts))])
    items = round(sum(map(sum, counts)))
    return Confusion(
        scheme="bug_type",
        classes=classes,
        matrix=tuple(map(tuple, counts)),
        items=items,
        groups=items,
        learner="model",
        settings={},
        source="test",
    )
