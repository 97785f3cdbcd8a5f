"""Intervals for shares: what a count out of n says about the share behind it."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist


def wilson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share, in 0..1.

    It keeps its promise for small n and for shares near 0 and 1, where the usual normal interval leaves 0..1
    (E. B. Wilson, JASA 22, 1927; compared by Brown, Cai and DasGupta, Statistical Science 16, 2001).

    Args:
        k: how many have the property.
        n: how many there are.
        confidence: two-sided, between 0 and 1.

    Raises:
        ValueError: n is not positive, k is outside 0..n, or confidence outside (0, 1).
    """
    if n <= 0 or not 0 <= k <= n or not 0 < confidence < 1:
        raise ValueError(f"no interval for {k} of {n} at {confidence}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = k / n, z * z / n
    centre = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    # at 0 and n the bound is exact; rounding must not take it away
    return (0.0 if k == 0 else max(0.0, centre - half), 1.0 if k == n else min(1.0, centre + half))
