"""The general embedder: any sentence-transformers model, run by PyTorch in float32."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils import logging

from torch_embers.classify.embedding.embedder import Embedder
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from torch_embers.classify.embedding.embedder import Vectors

TOKEN_BUDGET = 8_192
"""Tokens of a batch with its padding: keeps the largest tensor near 50 MB."""


class TorchEmbedder(Embedder):
    """Any sentence-transformers model, in float32, in batches of similar length."""

    def __init__(self, model: Any, model_id: str) -> None:
        self.model_id, self._model = model_id, model
        self.dim = int(model.encode(["a"], show_progress_bar=False).shape[1])

    def _encode(self, texts: Sequence[str]) -> Vectors:
        lengths = self._lengths(texts)
        made = np.empty((len(texts), self.dim), np.float32)
        for batch in batches(lengths, TOKEN_BUDGET):
            part = [texts[place] for place in batch]
            made[batch] = self._model.encode(part, batch_size=len(part), show_progress_bar=False, convert_to_numpy=True)
        return made

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        limit = int(self._model.max_seq_length or 512)
        return [min(math.ceil(len(text) / 4) + 2, limit) for text in texts]


def batches(lengths: Sequence[int], budget: int) -> Iterable[list[int]]:
    """Group places so that (longest of a group) x (size of the group) stays within ``budget``; longest first."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if batch and max(lengths[batch[0]], 1) * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def load(folder: Path, threads: int) -> SentenceTransformer:
    """Load the model in ``folder`` on the CPU.

    Raises:
        InputError: the folder holds no such model.
    """
    torch.set_num_threads(threads)
    logging.disable_progress_bar()
    try:
        return SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{folder} holds no model that sentence-transformers can load: {line}") from error
