"""Times in days with a mark for those that ended: what survival curves and their tests read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Durations:
    """How long each item was seen, and whether it ended then."""

    days: Floats
    ended: Flags

    @staticmethod
    def of(days: Sequence[float], ended: Sequence[bool]) -> Durations:
        """Check and keep.

        Raises:
            InputError: lengths differ, or a time is negative or no number.
        """
        if len(days) != len(ended):
            raise InputError(f"lengths differ: {len(days)} times, {len(ended)} marks of their ends")
        times, ends = np.asarray(days, dtype=np.float64), np.asarray(ended, dtype=np.bool_)
        if not (np.isfinite(times) & (times >= 0)).all():
            raise InputError("a time must be a number of days, 0 or more")
        return Durations(times, ends)

    def __len__(self) -> int:
        """How many items."""
        return len(self.days)

    @property
    def events(self) -> int:
        """How many ended."""
        return int(self.ended.sum())

    def take(self, rows: Flags) -> Durations:
        """Some of the items."""
        return Durations(self.days[rows], self.ended[rows])

    def split(self, groups: Sequence[str]) -> dict[str, Durations]:
        """The items of each group, by its name, in the order of the names.

        Raises:
            InputError: not one group for each item.
        """
        if len(groups) != len(self):
            raise InputError(f"lengths differ: {len(self)} times, {len(groups)} groups")
        names = np.asarray(groups, dtype=np.str_)
        return {name: self.take(names == name) for name in sorted(set(groups))}

    def at_risk(self, steps: Floats) -> Ints:
        """How many are still there just before each of these times."""
        return (len(self) - np.searchsorted(np.sort(self.days), steps, side="left")).astype(np.int64)

    def ends_at(self, steps: Floats) -> Ints:
        """How many end at each of these times."""
        ordered = np.sort(self.days[self.ended])
        ends = np.searchsorted(ordered, steps, side="right") - np.searchsorted(ordered, steps, side="left")
        return ends.astype(np.int64)
