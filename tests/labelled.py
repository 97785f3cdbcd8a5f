"""Small labelled texts for the tests of the classifier: three classes with words of their own."""

from __future__ import annotations

import itertools

import numpy as np

WORDS = {
    "crash": ["segfault", "abort", "core dumped", "illegal memory access"],
    "hang": ["deadlock", "stuck forever", "never returns", "hangs"],
    "performance": ["slow", "memory leak", "regression in speed", "takes longer"],
}
OPS = ["conv2d", "cumsum", "softmax", "linear", "sort", "gather", "matmul", "topk", "cat", "norm"]


def embed(texts) -> np.ndarray:
    """A stand-in for the embedder: a bag of letters and of pairs, normalised."""
    made = np.zeros((len(texts), 64), dtype=np.float32)
    for row, text in enumerate(texts):
        for one, other in itertools.pairwise(text):
            made[row, (ord(one) * 31 + ord(other)) % 64] += 1
    return made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9)


def examples(count: int = 25, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for label, words in WORDS.items():
        for place in range(count):
            texts.append(f"{rng.choice(OPS)} {words[place % 4]} with {rng.choice(OPS)} input {place}")
            labels.append(label)
    return texts, labels


def items(texts, vectors=None, votes=None):
    """The table that classifiers read."""
    from torch_embers.classify.learning.features import table

    return table(texts, embed(texts) if vectors is None else vectors, votes)
