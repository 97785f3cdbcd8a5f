"""What every embedder does: texts in, vectors of length one out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from torch_embers.normalize import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

Vectors: TypeAlias = npt.NDArray[np.float32]

CHUNK = 1_024
"""Texts that are held in memory as tokens."""


class Embedder(ABC):
    """Turns texts into vectors of length one."""

    model_id: str
    """Names model, weights and arithmetic: vectors of equal ids may be compared."""
    dim: int

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts of any length; a text that is longer than the model's limit is truncated.

        Returns:
            float32 [texts, dim], rows of length one. A damaged model can give NaN: the caller refuses such rows.
        """
        parts = (texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK))
        made = [unit(self._encode([clean_text(text) for text in part])) for part in parts]
        return np.concatenate([np.empty((0, self.dim), np.float32), *made])

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> Vectors:
        """Embed at most ``CHUNK`` texts."""


def unit(vectors: Vectors) -> Vectors:
    """Scale rows to length one; a row of zeros stays as it is."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)
