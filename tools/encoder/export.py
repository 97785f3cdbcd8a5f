"""The graph that is shipped, from tuned weights: 8-bit products, word vectors in 8 bits, and what seals both."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import load_file

from torch_embers import resources
from torch_embers.classify.embedding import shipped
from torch_embers.classify.embedding.onnx_embedder import GraphEmbedder, Tokens
from torch_embers.classify.embedding.shipped import sha256
from torch_embers.errors import InputError

from .graph import bert_of, build_graph
from .weights import WEIGHTS

if TYPE_CHECKING:
    import numpy.typing as npt

    Weights = dict[str, npt.NDArray[np.float32]]

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
CARD = Path(__file__).with_name("card.md")


def averaged(base: Path, tuned: Path, share: float) -> Weights:
    """The weights of two models of one shape, of the second with this share: what was learned, without forgetting."""
    one, two = (
        {name.removeprefix("bert."): values for name, values in load_file(folder / WEIGHTS).items()}
        for folder in (base, tuned)
    )
    return {
        name: ((1 - share) * values.astype(np.float32) + share * two[name].astype(np.float32)).astype(np.float32)
        for name, values in one.items()
        if name in two and values.dtype.kind == "f"
    }


def export(base: Path, tuned: Path, share: float, target: Path) -> shipped.Prepared:
    """Write graph, tokeniser, card, licence and what seals them.

    Args:
        base: folder of the model that was tuned.
        tuned: folder of the tuned one, with its recipe.
        share: weight of the tuned one in the average that is exported.
        target: made if missing.

    Raises:
        InputError: no model of BERT's shape, or a graph that does not agree with the weights.
    """
    bert = bert_of(base)
    if bert is None:
        raise InputError(f"{base} holds no model of BERT's shape")
    weights = averaged(base, tuned, share)
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(base / shipped.TOKENS, target / shipped.TOKENS)
    vectors = []
    for kept in (False, True):  # the last one stays
        (target / shipped.GRAPH).write_bytes(build_graph(bert, weights, quantised=kept, packed=kept))
        tokens = Tokens(target / shipped.TOKENS, bert.max_tokens)
        vectors.append(GraphEmbedder(target / shipped.GRAPH, tokens, "", bert.width, 1).encode(PROBES))
    least = float((vectors[0] * vectors[1]).sum(axis=1).min())
    if not least >= MIN_COSINE:
        raise InputError(f"the graph in 8 bits differs from the weights: cosine {least:.3f}")
    digest = sha256(target / shipped.GRAPH)
    about = shipped.Prepared(
        shipped.GRAPH_FORMAT,
        shipped.model_id(digest),
        bert.width,
        bert.max_tokens,
        round(least, 6),
        digest,
        sha256(target / shipped.TOKENS),
    )
    (target / shipped.ABOUT).write_text(json.dumps(asdict(about), indent=1) + "\n", encoding="utf-8")
    (target / "LICENSE").write_text(resources.licence_text(), encoding="utf-8")
    card = CARD.read_text(encoding="utf-8").format(
        dim=about.dim,
        base=sha256(base / WEIGHTS)[:12],
        recipe=json.dumps(json.loads((tuned / "recipe.json").read_text(encoding="utf-8"))),
        share=share,
        model_id=about.model_id,
        graph=about.graph_sha256,
        tokens=about.tokens_sha256,
        probes=len(PROBES),
        least=least,
    )
    (target / "README.md").write_text(card, encoding="utf-8")
    return about
