"""Logistic regression of a few texts on many terms, in the space of the texts.

Key insight: the weights that an L2-regularised regression finds are a combination of the texts it learned from. With
some hundred texts and twenty thousand terms it is the same problem in as many dimensions as there are texts: turn the
texts into that space, fit there, turn the weights back. The answer is the same, the fit several times as quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.linear_model import LogisticRegression

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

WORTH = 0.15
"""From so many weights (classes x terms) on for each cell of the square matrix of texts, the detour is quicker:
600 titles, four classes, 18,000 pieces of words take 0.07 s instead of 0.10 s; with 900 titles nothing is gained."""
LEAST = 1e-10
"""Directions whose share of the largest is below this are rounding errors (repeated texts)."""


def fit(matrix: Any, truth: NDArray[np.int64], sample_weight: Floats | None, **options: Any) -> tuple[Floats, Floats]:
    """Fit scikit-learn's ``LogisticRegression``.

    Args:
        matrix: float64 [texts, features], dense or sparse.
        truth: a class number per text, at least two different ones.
        sample_weight: weight of each text; all 1 when ``None``.
        options: of the regression.

    Returns:
        Weights float64 [classes, features] and bias float64 [classes], one row (of the second class) for two classes.
    """
    made = LogisticRegression(max_iter=1_000, **options)
    rows, columns = matrix.shape
    classes = len(np.unique(truth))
    if classes < 3 or classes * columns < WORTH * rows * rows:  # two classes are one row of weights: quick anyhow
        made.fit(matrix, truth, sample_weight=sample_weight)
        return made.coef_, made.intercept_
    product = matrix @ matrix.T
    gram = np.asarray(product.todense() if hasattr(product, "todense") else product)
    sizes, directions = np.linalg.eigh(gram)
    kept = sizes > LEAST * max(sizes[-1], LEAST)
    scale = np.sqrt(sizes[kept])
    if not scale.size:  # no text has a known term: nothing but the shares of the classes can be learned
        made.fit(np.zeros((rows, 1)), truth, sample_weight=sample_weight)
        return np.zeros((len(made.coef_), columns)), made.intercept_
    made.fit(directions[:, kept] * scale, truth, sample_weight=sample_weight)
    back = directions[:, kept] / scale
    return np.asarray((matrix.T @ (back @ made.coef_.T)).T), made.intercept_
