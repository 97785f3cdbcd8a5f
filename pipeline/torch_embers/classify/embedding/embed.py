"""Load an embedding model: its prepared graph where there is one, else the model itself.

A plain ``encode`` of sentence-transformers pads every batch and multiplies in float32. For encoders of BERT's shape a
graph is made once per machine, compared with sentence-transformers, and used only if both agree (``prepare.py``).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers import settings
from torch_embers.classify.embedding import prepared, shipped
from torch_embers.classify.embedding.weights import DEFAULT_MODEL, WEIGHTS, model_folder, sha256

if TYPE_CHECKING:
    from torch_embers.classify.embedding.embedder import Embedder


def usable_cores() -> int:
    """Cores this process may use; ``OMP_NUM_THREADS`` lowers it, as it does for torch."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores


def load_embedder(
    name: str | None = None, *, fast: bool = True, threads: int | None = None, cache: Path | None = None
) -> Embedder:
    """Load the shipped model, or one by hub name or folder.

    Args:
        name: the setting ``embedder`` when not given. The model that was tuned comes from the hub, or from the package
            that carries it if no hub answers.
        fast: use a prepared graph where the model has BERT's shape. Its first use prepares it (about half a minute).
        threads: all usable cores when not given.
        cache: folder of the prepared graphs.

    Raises:
        InputError: no such model, or its weights are not the expected ones.
    """
    name = name or settings.load().embedder
    threads = threads or usable_cores()
    if name == settings.SHIPPED_EMBEDDER:
        return shipped.load(threads)
    cache = cache or prepared.default_cache()
    slug = re.sub(r"[^A-Za-z0-9.]+", "--", name).strip("-")[-80:]
    if fast and not Path(name).is_dir() and (known := prepared.find(cache / slug)):
        return prepared.embedder(cache / slug, known, threads)
    folder = model_folder(name)
    weights = folder / WEIGHTS
    digest = sha256(weights)[:12] if weights.is_file() else "unknown"
    # the packages that only preparing needs take seconds to import
    from torch_embers.classify.embedding import prepare, torch_embedder

    if fast and (bert := prepare.bert_of(folder)):
        place = cache / (f"{slug}-{digest}" if Path(name).is_dir() else slug)
        if not prepared.find(place):
            prepare.prepare(folder, bert, f"{Path(name).name}@{digest}", place, threads)
        if known := prepared.find(place):
            return prepared.embedder(place, known, threads)
    return torch_embedder.TorchEmbedder(torch_embedder.load(folder, threads), f"{Path(name).name}@{digest}/float32")


def load_matching(model: str, *, threads: int | None = None) -> Embedder:
    """Load the model that a classifier was trained with, or that made the vectors of a database.

    A setting that names another model than the default is followed: the caller compares, and says what to do.

    Args:
        model: a model id, with or without the arithmetic, such as ``all-MiniLM-L6-v2@53aa51172d14``.
        threads: all usable cores when not given.

    Raises:
        InputError: as ``load_embedder``.
    """
    asked = settings.load().embedder
    if asked != settings.DEFAULT_EMBEDDER:
        return load_embedder(asked, threads=threads)
    known = {Path(name).name: name for name in (settings.SHIPPED_EMBEDDER, DEFAULT_MODEL)}
    return load_embedder(known.get(model.partition("@")[0], asked), threads=threads)
