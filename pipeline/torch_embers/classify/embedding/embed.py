"""Sentence embeddings: any sentence-transformers model by name, with a quick path for BERT-shaped encoders.

A plain ``encode`` pads every batch and multiplies in float32. The quick path runs a graph of our own (``graph``) in
ONNX Runtime, made once per machine, compared with sentence-transformers itself, and used only where both agree
(``prepared``). Measurements: bench/embed.py.
"""

from __future__ import annotations

import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from torch_embers import settings
from torch_embers.classify.embedding import prepared
from torch_embers.classify.embedding.graph import bert_of
from torch_embers.classify.embedding.packages import installed, line, need
from torch_embers.classify.embedding.weights import WEIGHTS, model_folder, sha256
from torch_embers.errors import InputError
from torch_embers.normalize import clean_text

if TYPE_CHECKING:
    from torch_embers.classify.embedding.graph import Bert
    from torch_embers.classify.embedding.prepared import Prepared

Vectors: TypeAlias = npt.NDArray[np.float32]
Progress: TypeAlias = Callable[[int], None]
"""Called with the number of texts that were embedded since the last call."""

CHUNK = 1_024
"""Texts between two calls of the progress function: what is held in memory as tokens."""
TOKEN_BUDGET = 8_192
"""Tokens of a batch with its padding, where batches are used: keeps the largest tensor near 50 MB."""
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


class Tokens:
    """The model's own tokeniser, cut at its limit; quick on long texts."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        self._tokenizer = need("tokenizers").Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._limit = max_tokens
        spec = json.loads(path.read_text(encoding="utf-8"))
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
        runtime = need("onnxruntime")
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
        pool = ThreadPoolExecutor(self._threads)
        try:
            for place, vector in zip(order, pool.map(self._one, (ids[place] for place in order)), strict=True):
                made[place] = vector[0]
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C nobody waits for the texts that are left
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
    package = need("sentence_transformers")
    need("torch").set_num_threads(threads)
    need("transformers.utils.logging").disable_progress_bar()
    try:
        return package.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(f"{folder} holds no model that sentence-transformers can load: {line(error)}") from error


# ---- loading -------------------------------------------------------------------------------------------------------


def usable_cores() -> int:
    """Cores this process may use; ``OMP_NUM_THREADS`` lowers it, as it does for torch."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores


def load_embedder(
    name: str | None = None, *, fast: bool = True, threads: int | None = None, cache: Path | None = None
) -> Embedder:
    """Load a model by hub name or folder; without a name, that of the settings (``embedder``).

    ``fast`` allows the quick path; its first use prepares the graph (about half a minute) under ``cache``. The default
    model comes from the hub, or from the package that carries it where no hub answers.

    Raises:
        InputError: no such model, a package is missing, or weights are not what they should be.
    """
    name = name or settings.load().embedder
    threads = threads or usable_cores()
    cache = cache or prepared.default_cache()
    slug = re.sub(r"[^A-Za-z0-9.]+", "--", name).strip("-")[-80:]
    if fast and not Path(name).is_dir() and (known := _stored(cache / slug, threads)):
        return known
    folder = model_folder(name)
    weights = folder / WEIGHTS
    digest = sha256(weights)[:12] if weights.is_file() else "unknown"
    bert = bert_of(folder) if fast and installed("onnx", "onnxruntime") else None
    if bert:
        place = cache / (f"{slug}-{digest}" if Path(name).is_dir() else slug)
        made = _stored(place, threads) or _prepare(folder, bert, f"{Path(name).name}@{digest}", place, threads)
        if made:
            return made
    return TorchEmbedder(_sentence_transformer(folder, threads), f"{Path(name).name}@{digest}/float32")


def _stored(place: Path, threads: int) -> Embedder | None:
    """The embedder of a graph that was prepared before."""
    known = prepared.find(place) if installed("onnxruntime", "tokenizers") else None
    return _quick(place, known, threads) if known else None


def _quick(place: Path, about: Prepared, threads: int) -> Embedder:
    tokens = Tokens(place / prepared.TOKENS, about.max_tokens)
    return GraphEmbedder(place / prepared.GRAPH, tokens, about.model_id, about.dim, threads)


def _prepare(folder: Path, bert: Bert, model_id: str, place: Path, threads: int) -> Embedder | None:
    """Make the graph, compare it with sentence-transformers, keep it; ``None`` where they disagree."""
    plain = _sentence_transformer(folder, threads)
    expected = _unit(np.asarray(plain.encode(list(PROBES), show_progress_bar=False)))
    known = prepared.prepare(folder, bert, model_id, place, lambda made: _agreement(made, bert, expected))
    return _quick(place, known, threads) if known else None


def _agreement(made: Path, bert: Bert, expected: Vectors) -> float:
    """Least cosine between a graph and ``expected`` on ``PROBES``; -1 where the graph does not run or gives NaN."""
    try:
        tokens = Tokens(made / prepared.TOKENS, bert.max_tokens)
        embedder = GraphEmbedder(made / prepared.GRAPH, tokens, "", bert.width, 1)
        found = embedder.encode(PROBES)
    except Exception:  # noqa: BLE001 - the errors of ONNX Runtime and of tokenizers share no base class
        return -1.0
    cosines = (found * expected).sum(axis=1)
    return float(cosines.min()) if np.isfinite(cosines).all() else -1.0
