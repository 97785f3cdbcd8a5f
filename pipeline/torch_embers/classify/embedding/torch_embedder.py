"""Any other encoder: a sentence-transformers model, run by PyTorch in float32."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils import logging

from torch_embers.classify.embedding.embedder import Embedder
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.classify.embedding.embedder import Vectors

TOKEN_BUDGET = 8_192
"""Tokens of a batch with its padding: keeps the largest tensor near 50 MB."""


class TorchEmbedder(Embedder):
    """A sentence-transformers model, in batches of similar length."""

    def __init__(self, model: Any, name: str) -> None:
        self._model = model
        digest = hashlib.sha256()
        for key, values in sorted(model.state_dict().items()):
            digest.update(key.encode() + values.cpu().contiguous().view(torch.uint8).numpy().tobytes())
        self.model_id = f"{Path(name).name}@{digest.hexdigest()[:12]}/float32"
        self.dim = int(model.encode(["a"], show_progress_bar=False).shape[1])

    @staticmethod
    def load(name: str, threads: int) -> TorchEmbedder:
        """Load a model by hub name or folder on the CPU.

        Raises:
            InputError: there is no such model here, and no hub has it.
        """
        torch.set_num_threads(threads)
        logging.disable_progress_bar()
        try:
            model = SentenceTransformer(name, device="cpu", trust_remote_code=False)
        except Exception as error:
            # the hub, its client and PyTorch raise many kinds
            line = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            raise InputError(f"no model {name!r} that sentence-transformers can load: {line}") from error
        return TorchEmbedder(model, name)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        limit = int(self._model.max_seq_length or 512)
        lengths = [min(math.ceil(len(text) / 4) + 2, limit) for text in texts]
        made = np.empty((len(texts), self.dim), np.float32)
        for batch in batches(lengths, TOKEN_BUDGET):
            part = [texts[place] for place in batch]
            made[batch] = self._model.encode(part, batch_size=len(part), show_progress_bar=False, convert_to_numpy=True)
        return made


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
