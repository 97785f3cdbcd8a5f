"""The classifier together with an encoder that is tuned on the texts of the training half (``embedding/contrast.py``).

The answer is a vote of the plain classifier and of a regression on the tuned vectors: alone, neither was as good.
Everything is learned from the training half: a tuned encoder that has seen a text knows its class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import LogisticRegression

from torch_embers.classify.embedding import contrast
from torch_embers.classify.embedding.weights import model_folder
from torch_embers.evaluate.learners import Hybrid, LearnerOutput

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Tuned:
    """The classifier and a regression on vectors of an encoder that was tuned on the same training half, averaged.

    It answers always: no threshold is set on votes that include a tuned encoder.
    """

    hybrid: Hybrid = field(default_factory=Hybrid)
    recipe: contrast.Recipe = field(default_factory=contrast.Recipe)
    share: float = 0.3
    """Weight of the tuned encoder's vote."""

    @property
    def name(self) -> str:
        """Row of the table."""
        return f"{self.hybrid.name}+tuned"

    def answer(
        self, train: pd.DataFrame, labels: Sequence[str], groups: Sequence[Hashable], test: pd.DataFrame
    ) -> LearnerOutput:
        """Fit both on the training half."""
        plain = self.hybrid.answer(train, labels, groups, test)
        name = "plain" if "plain" in train.columns else "text"
        known, unseen = tuned_vectors(list(train[name]), labels, list(test[name]), self.recipe)
        made = LogisticRegression(class_weight="balanced", max_iter=1_000)
        made.fit(known, list(labels))
        both = (1 - self.share) * plain.probabilities + self.share * made.predict_proba(unseen)
        return LearnerOutput(plain.classes, both)


def tuned_vectors(
    texts: Sequence[str], labels: Sequence[str], unseen: Sequence[str], recipe: contrast.Recipe
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Tune a copy of the default encoder on labelled texts, and embed them and others with it.

    Returns:
        float32 [texts, dimensions] and float32 [unseen, dimensions], L2-normalised.

    Raises:
        InputError: fewer than two classes.
    """
    model = contrast.tune(model_folder(), {"the texts": (texts, labels)}, recipe, threads=1)
    made = model.encode([*texts, *unseen], normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True)
    return np.asarray(made[: len(texts)]), np.asarray(made[len(texts) :])
