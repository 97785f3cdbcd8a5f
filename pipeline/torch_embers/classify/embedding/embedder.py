"""What every embedder does: texts in, vectors of length one out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from torch_embers.normalize import clean_text

Vectors: TypeAlias = npt.NDArray[np.float32]
Progress: TypeAlias = Callable[[int], None]
"""Called with the number of texts that were embedded since the last call."""

CHUNK = 1_024
"""Texts between two calls of the progress function: what is held in memory as tokens."""


class Embedder(ABC):
    """Turns texts into vectors of length one."""

    model_id: str
    """Names model, weights and arithmetic: vectors of equal ids may be compared."""
    dim: int

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Embed texts of any length; a text that is longer than the model's limit is truncated.

        Returns:
            float32 [texts, dim], rows of length one. A damaged model can give NaN: the caller refuses such rows.
        """
        made = [np.empty((0, self.dim), np.float32)]
        for start in range(0, len(texts), CHUNK):
            part = [clean_text(text) for text in texts[start : start + CHUNK]]
            made.append(unit(self._encode(part)))
            if progress is not None:
                progress(len(part))
        return np.concatenate(made)

    def encode_many(self, batches: Iterable[Sequence[str]]) -> Iterator[Vectors]:
        """Embed batch after batch, in order; an embedder with many machines takes later batches meanwhile."""
        return map(self.encode, batches)

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> Vectors:
        """Embed at most ``CHUNK`` texts."""


def unit(vectors: Vectors) -> Vectors:
    """Scale rows to length one; a row of zeros stays as it is."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)
