"""One regression of a classifier: what it looks at, its weights, and how it is fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from torch_embers.classify.learning import regression
from torch_embers.classify.learning.features import Vectorizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torch_embers.classify.learning.features import Inputs

    Floats: TypeAlias = NDArray[np.float64]

TINY = 1e-6
"""Least probability of a vote: a class that a fold never saw must not make the logarithm infinite."""


@dataclass(frozen=True)
class View:
    """One way of looking at an item: ``kind`` word or char (of a field) or vector (of a plane)."""

    kind: str
    of: str = "text"

    @property
    def name(self) -> str:
        """Name for messages and files."""
        return f"{self.kind}:{self.of}"


@dataclass(frozen=True)
class Linear:
    """A fitted regression: weights float64 [classes, features], bias float64 [classes]."""

    view: View
    vectorizer: Vectorizer | None
    weights: Floats
    bias: Floats

    def matrix(self, inputs: Inputs) -> Any:
        """What the regression reads: float64 [items, features], sparse for terms."""
        if self.vectorizer is None:
            return np.asarray(inputs.planes[self.view.of], dtype=np.float64)
        return self.vectorizer(inputs.fields[self.view.of])

    def votes(self, inputs: Inputs) -> Floats:
        """Probabilities float64 [items, classes]."""
        return softmax(np.asarray(self.matrix(inputs) @ self.weights.T) + self.bias)


def fit(
    view: View,
    inputs: Inputs,
    truth: NDArray[np.int64],
    count: int,
    sample_weight: Floats,
    C: float,
    min_df: int,
    max_features: int,
) -> Linear | None:
    """Fit one regression, classes weighted by rarity; ``None`` when the texts hold no usable term.

    Weights are rounded to float32 here, so that a loaded model gives exactly the probabilities of the fitted one.
    """
    vectorizer = None
    if view.kind == "vector":
        matrix: Any = np.asarray(inputs.planes[view.of], dtype=np.float64)
    else:
        vectorizer = Vectorizer.fit(inputs.fields[view.of], view.kind, min_df, max_features)
        if vectorizer is None:
            return None
        matrix = vectorizer(inputs.fields[view.of])
    weights, bias = np.zeros((count, matrix.shape[1])), np.full(count, math.log(TINY))
    present = np.unique(truth)
    if len(present) == 1:
        bias[present] = 0.0
        return Linear(view, vectorizer, weights, bias)
    known, offset = regression.fit(matrix, truth, sample_weight, C=C, class_weight="balanced")
    if len(present) == 2:  # one row that speaks for the second class: give each class its half
        known, offset = np.vstack([-known / 2, known / 2]), np.array([-offset[0] / 2, offset[0] / 2])
    weights[present] = known.astype(np.float32)
    bias[:] = offset.min() + math.log(TINY)
    bias[present] = offset
    return Linear(view, vectorizer, weights, bias)


def softmax(scores: Floats) -> Floats:
    """Turn scores float64 [items, classes] into probabilities; rows sum to 1."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=1, keepdims=True)
    return shares
