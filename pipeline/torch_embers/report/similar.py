"""Similar items for all pages at once, by vectors that `embers classify` stored; no model is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa

    from torch_embers.report.source import Key

BLOCK = 256
"""Items compared at a time with all others: bounds the memory."""


def similar(vectors: pa.Table, wanted: Collection[Key], most: int, least: float) -> dict[Key, list[tuple[Key, float]]]:
    """For each wanted item the items nearest to it, with their cosine, nearest first.

    Args:
        vectors: columns repo, number and vector, of length one.
        wanted: the items that get a page.
        most: items for each.
        least: cosine from which on an item counts as similar.
    """
    if not vectors.num_rows:
        return {}
    keys = list(zip(vectors["repo"].to_pylist(), vectors["number"].to_pylist(), strict=True))
    column = vectors["vector"].combine_chunks()
    matrix = column.flatten().to_numpy(zero_copy_only=False).astype(np.float32).reshape(len(keys), -1)
    places = [place for place, key in enumerate(keys) if key in wanted]
    found: dict[Key, list[tuple[Key, float]]] = {}
    for start in range(0, len(places), BLOCK):
        block = places[start : start + BLOCK]
        cosines = np.round(matrix[block] @ matrix.T, 4)  # sums in another order differ in the last digits
        cosines[np.arange(len(block)), block] = -1
        for row, place in zip(cosines, block, strict=True):
            near = np.flatnonzero(row >= least)
            order = near[np.lexsort((near, -row[near]))][:most]
            found[keys[place]] = [(keys[other], float(row[other])) for other in order]
    return found
