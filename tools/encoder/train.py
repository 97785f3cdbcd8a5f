"""Contrastive tuning of the encoder by sentence-transformers' own trainer and losses.

Pairs of texts that belong together are pulled together against all others of their batch (multiple negatives ranking
loss, both ways); titles to which maintainers gave a class are ordered by whether their classes agree (CoSENT). The
weights in the end are an average of the tuned and the first ones.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import CoSENTLoss, MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.training_args import BatchSamplers

from . import contrast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CLASSES = "classes"


@dataclass(frozen=True)
class Recipe:
    """How to tune; five were tried (bench/RESULTS.md)."""

    most: Mapping[str, int] = field(default_factory=dict)
    """Pairs of each kind; more than there are repeats them."""
    rate: float = 5e-5
    batch: int = 64
    tokens: int = 48
    scale: float = 20.0
    """What cosines are multiplied by before they are compared."""
    both_ways: bool = True
    """Whether each text of a batch is compared with all others, and not only the first ones with the second ones."""
    frozen: int = 0
    """Lowest layers that stay as they are, with the word vectors."""
    seed: int = 15


def datasets(made: Mapping[str, Any], recipe: Recipe) -> dict[str, Dataset]:
    """The pairs of each kind, drawn with the seed of the recipe."""
    drawn = np.random.default_rng(recipe.seed)
    found: dict[str, Dataset] = {}
    for name, most in recipe.most.items():
        rows = _class_pairs(made["classes"], most, drawn) if name == CLASSES else _repeated(made["learn"][name], most)
        if rows:
            mixed = [rows[place] for place in drawn.permutation(len(rows))[:most]]
            columns = ("one", "two", "score")[: len(mixed[0])]
            found[name] = Dataset.from_dict(dict(zip(columns, map(list, zip(*mixed, strict=True)), strict=True)))
    return found


def _repeated(rows: Sequence[Sequence[str]], most: int) -> list[Sequence[str]]:
    """All rows, or, where there are fewer than asked for, as many as that by repeating them."""
    return [rows[place % len(rows)] for place in range(max(most, len(rows)))] if rows else []


def _class_pairs(rows: Sequence[Sequence[str]], most: int, drawn: np.random.Generator) -> list[tuple[str, str, float]]:
    """Pairs of titles of one question, half of them of the same class; all classes are equally frequent."""
    by_question: dict[str, dict[str, list[str]]] = {}
    for title, name in rows:
        by_question.setdefault(name.split("=")[0], {}).setdefault(name, []).append(title)
    found = []
    for place in range(most):
        classes = by_question[str(drawn.choice(sorted(by_question)))]
        named = {name: own for name, own in sorted(classes.items()) if len(own) > 1}
        found.append(contrast.drawn_pair(named, place % 2 == 1, drawn))
    return found


def train(base: Path, made: Mapping[str, Any], recipe: Recipe, target: Path, threads: int) -> float:
    """Tune, and save the model in ``target``; returns the seconds that it took."""
    torch.set_num_threads(threads)
    model = SentenceTransformer(str(base), device="cpu", local_files_only=True)
    model.max_seq_length = recipe.tokens
    contrast.freeze(model, recipe.frozen)
    found = datasets(made, recipe)
    ways = ("query_to_doc", "query_to_query", "doc_to_query", "doc_to_doc") if recipe.both_ways else ("query_to_doc",)
    ranking = MultipleNegativesRankingLoss(model, scale=recipe.scale, directions=ways)
    losses = {name: CoSENTLoss(model) if name == CLASSES else ranking for name in found}
    started = time.monotonic()
    contrast.fit(model, found, losses, recipe, BatchSamplers.NO_DUPLICATES)
    seconds = time.monotonic() - started
    model.save_pretrained(str(target))
    (target / "recipe.json").write_text(json.dumps(asdict(recipe), indent=1) + "\n", encoding="utf-8")
    return seconds
