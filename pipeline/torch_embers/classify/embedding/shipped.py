"""The encoder in models/: tuned on this tracker, ready to run, loaded without torch and without running code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.classify.embedding import prepared
from torch_embers.errors import InputError
from torch_embers.settings import SHIPPED_EMBEDDER

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.classify.embedding.embedder import Embedder


def folder() -> Path:
    """Where the encoder that comes with embers lies.

    Raises:
        InputError: this installation has none.
    """
    return resources.shipped("models", SHIPPED_EMBEDDER)


def load(threads: int) -> Embedder:
    """Load the encoder, to be run by that many threads.

    Raises:
        InputError: a file is missing, or not the one that the encoder was sealed with.
    """
    place = folder()
    missing = [name for name in (prepared.ABOUT, prepared.GRAPH, prepared.TOKENS) if not (place / name).is_file()]
    if missing:
        raise InputError(f"{place / missing[0]} is missing: reinstall torch-embers")
    about = prepared.find(place)
    if about is None or about.model_id != model_id(about.graph_sha256):
        raise InputError(
            f"{place} does not hold the files that {prepared.ABOUT} names by their SHA-256: reinstall torch-embers"
        )
    return prepared.embedder(place, about, threads)


def model_id(graph_sha256: str) -> str:
    """Name, hash and arithmetic of the encoder."""
    return f"{SHIPPED_EMBEDDER}@{graph_sha256[:12]}/int8-{prepared.GRAPH_FORMAT}"
