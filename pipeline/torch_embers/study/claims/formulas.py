"""Our figures and bounds that follow from printed numbers or from the shape of the measured tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.study.claims import geometry
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch_embers.study.claims.definitions import PaperClaims

ARITHMETIC: Mapping[str, Callable[..., float]] = {
    "growth": lambda before, after: 100 * (after / before - 1),
    "faster": lambda new, old: 100 * (old / new - 1),
    "saved": lambda new, old: 100 * (1 - new / old),
    "percent": lambda part, whole: 100 * part / whole,
    "difference": lambda first, last: last - first,
    "sum": lambda *parts: float(sum(parts)),
}
"""On printed numbers, named by the claims that print them: percentages, differences, sums."""

GEOMETRIC = {
    "dimensions": "dimensions of the measured tensor",
    "tensor_gb": "GB of the measured tensor",
    "two_tensors_gb": "GB of the measured tensor and of the copy that contiguous() makes",
    "fastest_copy": "seconds that reading and writing it once takes at the full bandwidth of the machine's memory",
    "swaps_that_move": "percent of all swaps of two of its dimensions that leave it non-contiguous",
}


def compute(paper: PaperClaims, formula: Sequence[Any]) -> float:
    """Return the figure of a formula: its name, then claims or numbers.

    Raises:
        InputError: there is no such formula, or no such claim.
    """
    name, *arguments = formula
    if name in ARITHMETIC:
        return ARITHMETIC[name](*(float(paper.value(argument).value) for argument in arguments))
    if name not in GEOMETRIC:
        raise InputError(f"data/claims.toml: no formula is called {name!r}")
    shape, size = paper.experiment.shape, paper.experiment.element_bytes
    kept, total = geometry.swaps(shape)
    figures = {
        "dimensions": float(len(shape)),
        "tensor_gb": geometry.gigabytes(shape, size),
        "two_tensors_gb": 2 * geometry.gigabytes(shape, size),
        "fastest_copy": geometry.fastest_copy(shape, size, paper.experiment.gigabytes_per_second),
        "swaps_that_move": 100 * (total - kept) / total,
    }
    return figures[name]


def classes(scheme: str, parent: str | None = None) -> int:
    """How many classes of a scheme stand in the paper's own tables; with a parent, only those below it.

    Raises:
        InputError: there is no such scheme.
    """
    return sum(
        entry.source.startswith("table") and parent in (None, entry.parent_class)
        for entry in Taxonomy.load().scheme(scheme).classes
    )
