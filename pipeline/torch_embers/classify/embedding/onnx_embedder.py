"""The shipped encoder's graph in ONNX Runtime."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify.embedding.embedder import Embedder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt
    import onnxruntime

    from torch_embers.classify.embedding.embedder import Vectors

HEAD_CHARACTERS = 8
"""Characters per wanted token that are tokenised first; issue texts have about five."""
_SPACE = re.compile(r"[ \n\t]")


class Tokens:
    """The model's own tokeniser with truncation; long texts are cut before they are tokenised."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(path))
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
    """Runs the graph of ``graph.py`` in ONNX Runtime: one text per call, several calls in parallel threads.

    The runtime is loaded with the first text: most runs of `embers classify` have no new one.
    """

    def __init__(self, graph: Path, tokens: Path, max_tokens: int, model_id: str, dim: int, threads: int) -> None:
        self.model_id, self.dim = model_id, dim
        self._graph, self._token_file, self._max_tokens, self._threads = graph, tokens, max_tokens, threads

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(self._token_file, self._max_tokens)

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # the graph is fused as it is written; ONNX Runtime would put back an addition-and-norm that is six times slower
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        return onnxruntime.InferenceSession(self._graph, options, providers=["CPUExecutionProvider"])

    def _encode(self, texts: Sequence[str]) -> Vectors:
        ids, session = self._tokens.ids(texts), self._session

        def embed(tokens: npt.NDArray[np.int64]) -> Vectors:
            vector: Vectors = session.run(None, {"tokens": tokens})[0]
            return vector

        if self._threads == 1 or len(ids) == 1:
            return np.concatenate([embed(one) for one in ids])
        # longest first, so that no core is left with a long text while the others are done
        order = sorted(range(len(ids)), key=lambda place: -ids[place].shape[1])
        made = np.empty((len(ids), self.dim), np.float32)
        pool = ThreadPoolExecutor(self._threads)
        try:
            for place, vector in zip(order, pool.map(embed, (ids[place] for place in order)), strict=True):
                made[place] = vector[0]
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C nobody waits for the texts that are left
        return made
