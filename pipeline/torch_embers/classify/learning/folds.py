"""Folds that keep groups whole and classes spread evenly, by scikit-learn."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from torch_embers.errors import InputError
from torch_embers.statistics.splits import Split, join_groups

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def grouped_folds(labels: Sequence[str], groups: Sequence[Hashable], folds: int = 5, seed: int = 0) -> list[Split]:
    """Split into folds that keep groups whole and every class spread as evenly as the groups allow.

    Args:
        labels: a class per text.
        groups: a group per text.
        folds: how many, at least 2; fewer are made when there are fewer groups.
        seed: decides between equals.

    Returns:
        One split per fold; the test halves are disjoint and cover everything.

    Raises:
        InputError: lengths differ, fewer than 2 folds, or fewer than 2 groups.
    """
    if len(labels) != len(groups):
        raise InputError(f"{len(labels)} labels but {len(groups)} groups")
    numbers = join_groups(groups) if len(groups) else np.zeros(0, dtype=np.int64)
    count = len(set(numbers.tolist()))
    if folds < 2 or count < 2:
        raise InputError(f"cannot make {folds} folds of {count} groups: at least 2 of each are needed")
    truth = np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1]
    folds = max(2, min(folds, count, int(np.bincount(truth).max())))
    if folds > np.bincount(truth).max():  # a class per text: nothing to spread
        truth = np.zeros(len(truth), dtype=np.int64)
    made = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer items than folds is missing from some
        parts = [Split(train, test) for train, test in made.split(truth, truth, numbers)]
    return [part for part in parts if len(part.test) and len(part.train)]
