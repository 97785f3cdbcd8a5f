"""The graph of a BERT-shaped encoder, written anew for ONNX Runtime.

Most encoders that are used for search have one shape: BERT layers, mean of the tokens, length one. The graph takes one
text at a time, so that nothing is padded, and multiplies in 8 bits. One text at a time also makes a vector depend on
its own text alone: dynamic quantisation takes its scale from everything in a batch, so a batch would give other
vectors after every interruption.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

WEIGHT_LIMIT = 63
"""Largest quantised weight: with 7 bits the 16-bit sums of processors without VNNI cannot overflow, so every
processor gets the same integers. The eighth bit was worth 0.001 of mean cosine."""


@dataclass(frozen=True, slots=True)
class Bert:
    """What decides the graph of a BERT-shaped encoder with mean pooling."""

    layers: int
    heads: int
    width: int
    epsilon: float
    max_tokens: int


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def bert_of(folder: Path) -> Bert | None:
    """Return the shape of the model in ``folder``, or ``None`` where the graph of this file would not be that model."""
    try:
        config, modules = _json(folder / "config.json"), _json(folder / "modules.json")
        reading = _json(folder / "sentence_bert_config.json")
        pooling = _json(folder / str(modules[1]["path"]) / "config.json")
        plain = (
            config["model_type"] == "bert"
            and config["hidden_act"] == "gelu"
            and config.get("position_embedding_type", "absolute") == "absolute"
            and [str(m["type"]).rpartition(".")[2] for m in modules] == ["Transformer", "Pooling", "Normalize"]
            and (pooling.get("pooling_mode") or _pooling_mode(pooling)) == "mean"
            and not reading.get("do_lower_case")
            and not _prompted(folder)
            and (folder / "tokenizer.json").is_file()
            and (folder / "model.safetensors").is_file()
        )
        longest = int(config["max_position_embeddings"])
        shape = Bert(
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            width=int(config["hidden_size"]),
            epsilon=float(config["layer_norm_eps"]),
            max_tokens=min(int(reading.get("max_seq_length") or longest), longest),
        )
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None
    return shape if plain else None


def _pooling_mode(pooling: dict[str, Any]) -> str:
    """Mode of the older form of the file, one truth value for each; several at once make no mode."""
    chosen = [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on]
    return "mean" if chosen == ["pooling_mode_mean_tokens"] else "other"


def _prompted(folder: Path) -> bool:
    path = folder / "config_sentence_transformers.json"
    return path.is_file() and bool(_json(path).get("default_prompt_name"))


class _Graph:
    """Collects nodes and weights of an ONNX graph; every method returns the name of what it added."""

    def __init__(self, *, quantised: bool, packed: bool) -> None:
        self._quantised, self._packed = quantised, packed
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, values: npt.NDArray[Any]) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, kind: str, *inputs: str, outputs: int = 1, fused: bool = False, **options: Any) -> list[str]:
        names = [f"n{len(self.nodes)}_{place}" for place in range(outputs)]
        domain = "com.microsoft" if fused else ""
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **options))
        return names

    def linear(self, source: str, weight: Vectors, bias: Vectors) -> str:
        """``source @ weight + bias``; weight is [inputs, outputs]."""
        if not self._quantised:
            [product] = self.node("MatMul", source, self.weight(weight))
            return self.node("Add", product, self.weight(bias))[0]
        scale = np.abs(weight).max(axis=0) / WEIGHT_LIMIT
        scale[scale == 0] = 1
        whole = np.rint(weight / scale).astype(np.int8)
        zero = np.zeros(weight.shape[1], np.int8)
        inputs = [self.weight(values) for values in (whole, scale.astype(np.float32), zero, bias)]
        return self.node("DynamicQuantizeMatMul", source, *inputs, fused=True)[0]

    def rows(self, table: Vectors, places: str) -> str:
        """The rows of a table at some places; packed, a row is kept as bytes with a scale of its own."""
        if not self._packed:
            return self.node("Gather", self.weight(table), places)[0]
        scale = np.abs(table).max(axis=1, keepdims=True) / np.iinfo(np.int8).max
        scale[scale == 0] = 1
        [whole] = self.node("Gather", self.weight(np.rint(table / scale).astype(np.int8)), places)
        [size] = self.node("Gather", self.weight(scale.astype(np.float32)), places)
        [wide] = self.node("Cast", whole, to=onnx.TensorProto.FLOAT)
        return self.node("Mul", wide, size)[0]

    def norm(self, source: str, gain: Vectors, bias: Vectors, epsilon: float) -> str:
        inputs = (source, self.weight(gain), self.weight(bias))
        return self.node("LayerNormalization", *inputs, epsilon=epsilon, axis=-1)[0]


def build_graph(bert: Bert, weights: dict[str, Vectors], *, quantised: bool, packed: bool = False) -> bytes:
    """Write the encoder as an ONNX model: int64 [1, tokens] -> float32 [1, width], length one.

    Args:
        bert: the shape of the model.
        weights: its tensors by name.
        quantised: whether it multiplies in 8 bits.
        packed: whether word vectors are kept in 8 bits, too, which makes the file a third as large.

    Raises:
        KeyError: ``weights`` are not those of a BERT encoder.
    """
    weights = {name.removeprefix("bert."): values.astype(np.float32) for name, values in weights.items()}
    graph = _Graph(quantised=quantised, packed=packed)
    current = _embedded(graph, bert, weights)
    for layer in range(bert.layers):
        prefix = f"encoder.layer.{layer}."
        current = _layer(
            graph, bert, {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}, current
        )
    axis = graph.weight(np.array([1]))
    [mean] = graph.node("ReduceMean", current, axis, keepdims=0)
    [length] = graph.node("ReduceL2", mean, axis, keepdims=1)
    [unit] = graph.node("Div", mean, length)
    kinds = onnx.TensorProto
    made = helper.make_graph(
        graph.nodes,
        "encoder",
        [helper.make_tensor_value_info("tokens", kinds.INT64, [1, "n"])],
        [helper.make_tensor_value_info(unit, kinds.FLOAT, [1, bert.width])],
        graph.weights,
    )
    sets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    data: bytes = helper.make_model(made, opset_imports=sets, ir_version=9).SerializeToString()
    return data


def _embedded(graph: _Graph, bert: Bert, weights: dict[str, Vectors]) -> str:
    """Word and place of each token."""
    places = weights["embeddings.position_embeddings.weight"][: bert.max_tokens]
    places = places + weights["embeddings.token_type_embeddings.weight"][0]
    words = graph.rows(weights["embeddings.word_embeddings.weight"], "tokens")
    [count] = graph.node("Shape", "tokens", start=1, end=2)
    [used] = graph.node("Slice", graph.weight(places), graph.weight(np.array([0])), count)
    [both] = graph.node("Add", words, used)
    names = (weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"])
    return graph.norm(both, *names, bert.epsilon)


def _layer(graph: _Graph, bert: Bert, weights: dict[str, Vectors], source: str) -> str:
    """One encoder layer; ``weights`` without the prefix of the layer."""
    parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
    stacked = np.concatenate([weights[f"{part}.weight"].T for part in parts], axis=1)
    bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
    sides = graph.node("Split", graph.linear(source, stacked, bias), outputs=3, axis=-1, num_outputs=3)
    [seen] = graph.node("MultiHeadAttention", *sides, fused=True, num_heads=bert.heads)
    current = _closed(graph, bert, weights, "attention.output", seen, source)
    inner = graph.linear(current, weights["intermediate.dense.weight"].T, weights["intermediate.dense.bias"])
    [active] = graph.node("Gelu", inner, fused=True)
    return _closed(graph, bert, weights, "output", active, current)


def _closed(graph: _Graph, bert: Bert, weights: dict[str, Vectors], name: str, source: str, around: str) -> str:
    """Dense layer, what went around it, and the norm of the sum."""
    dense = graph.linear(source, weights[f"{name}.dense.weight"].T, weights[f"{name}.dense.bias"])
    [total] = graph.node("Add", dense, around)
    return graph.norm(total, weights[f"{name}.LayerNorm.weight"], weights[f"{name}.LayerNorm.bias"], bert.epsilon)
