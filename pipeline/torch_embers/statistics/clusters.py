"""Runs that come in clusters: how alike the runs of one cluster are, and how many independent runs they are worth.

The estimator is the one of the analysis of variance for equal clusters (A. Donner, International Statistical Review 54,
1986); the design effect is L. Kish's (Survey Sampling, 1965).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def intraclass_correlation(hits: Sequence[int], size: int) -> float | None:
    """How alike the outcomes within a cluster are, at most 1.

    It is 1 where each cluster is all hits or none, about 0 where outcomes of one cluster differ as much as those of
    different ones, and below 0 where they differ more.

    Args:
        hits: hits of each cluster.
        size: outcomes of each cluster.

    Returns:
        None where it is not defined: one outcome in each cluster, a single cluster, or all outcomes the same.

    Raises:
        ValueError: a count is outside 0..size.
    """
    if any(not 0 <= k <= size for k in hits):
        raise ValueError(f"hits outside 0..{size}: {list(hits)}")
    clusters = len(hits)
    if clusters < 2 or size < 2 or sum(hits) in (0, clusters * size):
        return None
    mean = sum(hits) / (clusters * size)
    between = size * sum((k / size - mean) ** 2 for k in hits) / (clusters - 1)
    within = sum(k * (size - k) / size for k in hits) / (clusters * (size - 1))
    return (between - within) / (between + (size - 1) * within)


def design_effect(correlation: float, size: int) -> float:
    """By how much the variance of a share grows because its outcomes come in clusters of ``size``; at least 1."""
    return max(1.0, 1 + (size - 1) * correlation)


def effective_runs(runs: int, correlation: float, size: int) -> float:
    """How many independent runs as many clustered ones are worth."""
    return runs / design_effect(correlation, size)
