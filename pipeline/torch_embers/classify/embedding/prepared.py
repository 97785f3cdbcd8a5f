"""Graphs that were prepared for this machine, kept in a folder each; may be deleted at any time.

A graph is kept only where it agrees with sentence-transformers on some probes, and used only while its files are the
ones that were kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from torch_embers.classify.embedding.onnx_embedder import GraphEmbedder, Tokens
from torch_embers.classify.embedding.weights import sha256

GRAPH_FORMAT = 1
"""Raised when the graph changes, so that old graphs and vectors are not mixed with new ones."""
GRAPH, TOKENS, ABOUT = "graph.onnx", "tokenizer.json", "about.json"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What stands beside a prepared graph."""

    format: int
    model_id: str
    dim: int
    max_tokens: int
    least_cosine: float
    graph_sha256: str
    tokens_sha256: str


def default_cache() -> Path:
    """Where prepared graphs are kept; may be deleted at any time."""
    return Path(platformdirs.user_cache_dir("embers")) / "embedders"


def find(place: Path) -> Prepared | None:
    """A graph that was prepared before; ``None`` where it is missing, damaged or of another release."""
    try:
        about = Prepared(**json.loads((place / ABOUT).read_text(encoding="utf-8")))
        whole = about.format == GRAPH_FORMAT and (sha256(place / GRAPH), sha256(place / TOKENS)) == (
            about.graph_sha256,
            about.tokens_sha256,
        )
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return about if whole else None


def embedder(place: Path, about: Prepared, threads: int) -> GraphEmbedder:
    """The embedder of a graph that ``find`` found."""
    tokens = Tokens(place / TOKENS, about.max_tokens)
    return GraphEmbedder(place / GRAPH, tokens, about.model_id, about.dim, threads)
