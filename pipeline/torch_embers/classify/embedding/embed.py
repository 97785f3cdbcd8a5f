"""Load an encoder: the shipped one, or any model that sentence-transformers knows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torch_embers import packages, settings
from torch_embers.classify.embedding import shipped

if TYPE_CHECKING:
    from torch_embers.classify.embedding.embedder import Embedder


def usable_cores() -> int:
    """Cores this process may use; ``OMP_NUM_THREADS`` lowers it, as it does for torch."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores


def load_embedder(name: str | None = None, *, threads: int | None = None) -> Embedder:
    """Load the shipped encoder, or one by hub name or folder.

    Args:
        name: the setting ``embedder`` when not given.
        threads: all usable cores when not given.

    Raises:
        InputError: no such model.
        MissingPackageError: sentence-transformers, which any other encoder needs, is not installed.
    """
    name = name or settings.load().embedder
    threads = threads or usable_cores()
    if name == settings.SHIPPED_EMBEDDER:
        return shipped.load(threads)
    packages.require("train", f"the encoder {name} needs")
    from torch_embers.classify.embedding.torch_embedder import TorchEmbedder  # seconds

    return TorchEmbedder.load(name, threads)
