"""Make the ONNX graph of a model for this machine and keep it if it agrees with sentence-transformers."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import load_file

from torch_embers import folders
from torch_embers.classify.embedding import torch_embedder
from torch_embers.classify.embedding.embedder import unit
from torch_embers.classify.embedding.graph import bert_of, build_graph
from torch_embers.classify.embedding.onnx_embedder import GraphEmbedder, Tokens
from torch_embers.classify.embedding.prepared import ABOUT, GRAPH, GRAPH_FORMAT, TOKENS, Prepared, find
from torch_embers.classify.embedding.weights import WEIGHTS, sha256
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.classify.embedding.embedder import Vectors
    from torch_embers.classify.embedding.graph import Bert

__all__ = ["bert_of", "prepare"]

PROBES = (
    "conv2d returns a wrong gradient for channels_last input",
    "[MPS] addcmul_ ignores the output when it is not contiguous",
    "x = torch.randn(3, 4).t()\ny = torch.empty_strided((4, 3), (1, 4))\ntorch.add(x, 1, out=y)",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "DataLoader worker is killed by signal: Bus error. There might be insufficient shared memory.",
    "Ответ неверный на видеокарте, 结果不一致 🐛",
    "a",
    "The loss becomes NaN after a few hundred steps with float16 and a large batch. " * 30,
)
MIN_COSINE = 0.97
"""Least agreement with sentence-transformers on the probes; on real issues it was 0.984 at worst, 0.994 on average."""


def prepare(folder: Path, bert: Bert, model_id: str, place: Path, threads: int) -> None:
    """Make the graph of the model in ``folder`` and keep it in ``place`` if it agrees with sentence-transformers.

    The graph in 8 bits is tried first, then that in float32. Nothing is kept if neither agrees, or if the weights are
    not those of such a model.

    Raises:
        InputError: ``place`` cannot be written, or sentence-transformers cannot load the model.
    """
    try:
        weights = load_file(folder / WEIGHTS)
        graphs = {kind: build_graph(bert, weights, quantised=kind == "int8") for kind in ("int8", "float32")}
    except (KeyError, OSError, ValueError):
        return
    plain = torch_embedder.load(folder, threads)
    expected = unit(np.asarray(plain.encode(list(PROBES), show_progress_bar=False)))
    for kind, graph in graphs.items():
        least = _agreement(graph, folder / TOKENS, bert, expected)
        if least >= MIN_COSINE:
            _keep(place, graph, folder / TOKENS, bert, f"{model_id}/{kind}-{GRAPH_FORMAT}", least)
            return


def _agreement(graph: bytes, tokens: Path, bert: Bert, expected: Vectors) -> float:
    """Least cosine between a graph and ``expected`` on ``PROBES``; -1 where the graph does not run or gives NaN."""
    try:
        found = GraphEmbedder(graph, Tokens(tokens, bert.max_tokens), "", bert.width, 1).encode(PROBES)
    except Exception:  # noqa: BLE001 - the errors of ONNX Runtime and of tokenizers share no base class
        return -1.0
    cosines = (found * expected).sum(axis=1)
    return float(cosines.min()) if np.isfinite(cosines).all() else -1.0


def _keep(place: Path, graph: bytes, tokens: Path, bert: Bert, model_id: str, least: float) -> None:
    try:
        with folders.replaced(place) as made:
            (made / GRAPH).write_bytes(graph)
            shutil.copyfile(tokens, made / TOKENS)
            hashes = sha256(made / GRAPH), sha256(made / TOKENS)
            about = Prepared(GRAPH_FORMAT, model_id, bert.width, bert.max_tokens, round(least, 6), *hashes)
            (made / ABOUT).write_text(json.dumps(asdict(about), indent=1), encoding="utf-8")
    except OSError as error:
        if find(place) is None:  # what another process put there meanwhile is as good
            raise InputError(
                f"the prepared model cannot be kept in {place} ({error.strerror}): "
                "set XDG_CACHE_HOME to a folder that can be written"
            ) from error
