"""Whether survival differs between groups: the log-rank test of two or more groups with right censoring.

SciPy has the test for two groups. For k groups the covariance of the observed ends is that of a hypergeometric draw at
each time of an end (Mantel and Haenszel; Klein and Moeschberger, Survival Analysis, 2003, section 7.3); with two groups
the statistic is the square of SciPy's.

A small p value says that the curves differ somewhere, not by how much: print medians beside it. The test has little
power where curves cross.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import stats
from scipy.sparse import csgraph

from torch_embers.statistics.durations import Durations
from torch_embers.statistics.insufficient import InsufficientData
from torch_embers.statistics.survival import LEAST_EVENTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GroupEnds:
    """What one group of a test saw, and the number expected if survival were the same in all groups."""

    name: str
    items: int
    observed: int
    expected: float


@dataclass(frozen=True, slots=True)
class LogRank:
    """The test of all groups together."""

    statistic: float
    """Chi-squared with ``freedom`` degrees of freedom if survival is the same in all groups."""
    freedom: int
    p: float
    groups: tuple[GroupEnds, ...]
    left_out: tuple[str, ...] = ()
    """Groups with too few ends."""


def log_rank(
    days: Sequence[float], ended: Sequence[bool], groups: Sequence[str], *, least: int = LEAST_EVENTS
) -> LogRank | InsufficientData:
    """Test whether survival is the same in all groups.

    Args:
        days: how long each item was seen.
        ended: whether it ended then.
        groups: the group of each item.
        least: groups with fewer ends are left out, and named.

    Raises:
        InputError: lengths differ, or a time is negative or no number.
    """
    kept, left_out = _enough(days, ended, groups, least)
    if len(kept) < 2:
        return InsufficientData(f"{len(kept)} groups with {least} or more ends, 2 are needed")
    return _tested(kept, left_out)


def _enough(
    days: Sequence[float], ended: Sequence[bool], groups: Sequence[str], least: int
) -> tuple[dict[str, Durations], tuple[str, ...]]:
    parts = Durations.of(days, ended).split(groups)
    kept = {name: part for name, part in parts.items() if part.events >= max(1, least)}
    return kept, tuple(name for name in parts if name not in kept)


def _tested(parts: Mapping[str, Durations], left_out: tuple[str, ...]) -> LogRank:
    moments = np.unique(np.concatenate([part.days[part.ended] for part in parts.values()]))
    risk = np.array([part.at_risk(moments) for part in parts.values()], dtype=np.float64)
    ends = np.array([part.ends_at(moments) for part in parts.values()], dtype=np.float64)
    expected = (risk / risk.sum(axis=0) * ends.sum(axis=0)).sum(axis=1)
    excess, covariance = ends.sum(axis=1) - expected, _covariance(risk, ends)
    kept = _independent(covariance)
    freedom = len(kept)
    statistic = float(excess[kept] @ np.linalg.solve(covariance[np.ix_(kept, kept)], excess[kept]))
    counted = zip(parts.items(), ends.sum(axis=1).tolist(), expected.tolist(), strict=True)
    return LogRank(
        statistic=statistic,
        freedom=freedom,
        p=float(stats.chi2.sf(statistic, freedom)) if freedom else 1.0,
        groups=tuple(GroupEnds(name, len(part), int(seen), own) for (name, part), seen, own in counted),
        left_out=left_out,
    )


def _covariance(risk: Floats, ends: Floats) -> Floats:
    """Covariance of the observed ends of the groups: float64 [groups, groups]; both arguments [groups, moments]."""
    total, died = risk.sum(axis=0), ends.sum(axis=0)
    several = total > 1  # the last one alone ends in its own group, whichever that is: no variance
    share = risk[:, several] / total[several]
    weight = died[several] * (total[several] - died[several]) / (total[several] - 1)
    own = np.diag((share * weight).sum(axis=1))
    covariance: Floats = own - (share * weight) @ share.T
    return covariance


def _independent(covariance: Floats) -> list[int]:
    """Groups whose excesses are independent: all but one of those that meet, directly or by way of others.

    The covariance is the Laplacian of a graph: two groups are joined where both are at risk as one of them ends. Its
    rank is the number of groups less the number of connected parts.
    """
    _, parts = csgraph.connected_components(covariance < 0, directed=False)
    seen: set[int] = set()
    kept = []
    for group, part in enumerate(parts.tolist()):
        if part in seen:
            kept.append(group)
        seen.add(part)
    return kept
