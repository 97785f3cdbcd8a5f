"""The encoder in models/: tuned on this tracker, ready to run, loaded without torch and without running code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import file_digest
from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.classify.embedding.onnx_embedder import GraphEmbedder
from torch_embers.errors import InputError
from torch_embers.settings import SHIPPED_EMBEDDER

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.classify.embedding.embedder import Embedder

GRAPH_FORMAT = 1
"""Raised when the graph changes, so that old graphs and vectors are not mixed with new ones."""
GRAPH, TOKENS, ABOUT = "graph.onnx", "tokenizer.json", "about.json"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What stands beside a graph."""

    format: int
    model_id: str
    dim: int
    max_tokens: int
    least_cosine: float
    graph_sha256: str
    tokens_sha256: str


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
    missing = [name for name in (ABOUT, GRAPH, TOKENS) if not (place / name).is_file()]
    if missing:
        raise InputError(f"{place / missing[0]} is missing: reinstall torch-embers")
    about = find(place)
    if about is None or about.model_id != model_id(about.graph_sha256):
        raise InputError(f"{place} does not hold the files that {ABOUT} names by their SHA-256: reinstall torch-embers")
    return GraphEmbedder(place / GRAPH, place / TOKENS, about.max_tokens, about.model_id, about.dim, threads)


def find(place: Path) -> Prepared | None:
    """What stands beside the graph in a folder; ``None`` where it is missing, damaged or of another release."""
    try:
        about = Prepared(**json.loads((place / ABOUT).read_text(encoding="utf-8")))
        whole = about.format == GRAPH_FORMAT and (sha256(place / GRAPH), sha256(place / TOKENS)) == (
            about.graph_sha256,
            about.tokens_sha256,
        )
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return about if whole else None


def model_id(graph_sha256: str) -> str:
    """Name, hash and arithmetic of the encoder."""
    return f"{SHIPPED_EMBEDDER}@{graph_sha256[:12]}/int8-{GRAPH_FORMAT}"


def sha256(path: Path) -> str:
    """Hash of a file."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
