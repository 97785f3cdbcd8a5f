"""Tune an encoder on labelled texts, so that texts of one class come to lie together.

sentence-transformers' trainer does it, from pairs of texts that are of one class or not (CoSENT). Needs the extra
``tune``; the same texts, labels and recipe give the same weights again on one machine.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import datasets
import numpy as np
import torch
from sentence_transformers.sentence_transformer.losses import CoSENTLoss
from sentence_transformers.sentence_transformer.trainer import SentenceTransformerTrainer
from sentence_transformers.sentence_transformer.training_args import (
    BatchSamplers,
    MultiDatasetBatchSamplers,
    SentenceTransformerTrainingArguments,
)
from transformers import PrinterCallback

from torch_embers.classify.embedding import torch_embedder
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

    Labelled = tuple[Sequence[str], Sequence[str]]
    """Texts, and the class of each."""


@dataclass(frozen=True)
class Recipe:
    """How to tune; what was measured with which recipe stands in docs/evaluation.md."""

    rounds: float = 5
    """Pairs for each text that there is to learn from."""
    batch: int = 32
    tokens: int = 128
    """A text is cut after as many."""
    rate: float = 5e-5
    frozen: int = 2
    """Lowest layers that stay as they are, with the word vectors."""
    seed: int = 0


def tune(base: Path, labelled: Mapping[str, Labelled], how: Recipe, threads: int) -> SentenceTransformer:
    """Tune the model in a folder on the labels of one or several questions at once.

    Raises:
        InputError: no such model, or a question with nothing to tell apart.
    """
    drawn = np.random.default_rng(how.seed)
    pairs = [pair for name, own in labelled.items() for pair in class_pairs(name, *own, how.rounds, drawn)]
    mixed = [pairs[place] for place in drawn.permutation(len(pairs))]
    columns = dict(zip(("one", "two", "score"), map(list, zip(*mixed, strict=True)), strict=True))
    model = torch_embedder.load(base, threads)
    model.max_seq_length = how.tokens
    freeze(model, how.frozen)
    found = {"classes": datasets.Dataset.from_dict(columns)}
    fit(model, found, {"classes": CoSENTLoss(model)}, how, BatchSamplers.BATCH_SAMPLER)
    return model


def class_pairs(
    name: str, texts: Sequence[str], labels: Sequence[str], rounds: float, drawn: np.random.Generator
) -> list[tuple[str, str, float]]:
    """Pairs of texts with 1 where both are of one class and 0 where not, half of each.

    A class is drawn by the root of its size: rare ones are seen more than their share, and not ever the same texts.

    Raises:
        InputError: there are fewer than two classes with two texts.
    """
    by_class: dict[str, list[str]] = {}
    for text, label in sorted(set(zip(texts, labels, strict=True))):
        by_class.setdefault(label, []).append(text)
    by_class = {label: own for label, own in sorted(by_class.items()) if len(own) > 1}
    if len(by_class) < 2:
        raise InputError(
            f"{name}: {len(texts)} texts with {len(by_class)} classes of two or more: there is nothing to tell apart"
        )
    sizes = np.sqrt([len(own) for own in by_class.values()])
    shares = sizes / sizes.sum()
    return [drawn_pair(by_class, place % 2 == 1, drawn, shares) for place in range(round(rounds * len(texts)))]


def drawn_pair(
    by_class: Mapping[str, Sequence[str]],
    alike: bool,
    drawn: np.random.Generator,
    shares: NDArray[np.float64] | None = None,
) -> tuple[str, str, float]:
    """Two texts, and 1 where they are of one class and 0 where not.

    Args:
        by_class: at least two classes with two texts each.
        alike: whether to draw two of one class.
        drawn: the source of chance.
        shares: how often each class gives the first text, float64 [classes]; equally often where it is left out.
    """
    names = list(by_class)
    one = str(drawn.choice(names, p=shares))
    other = one if alike else str(drawn.choice([label for label in names if label != one]))
    first = str(drawn.choice(by_class[one]))
    second = str(drawn.choice([text for text in by_class[other] if text != first]))
    return first, second, float(alike)


def freeze(model: Any, layers: int) -> None:
    """Keep the lowest layers, and with any of them the word vectors, as they are."""
    inner = model[0].auto_model
    if layers:
        inner.embeddings.requires_grad_(requires_grad=False)
    for layer in inner.encoder.layer[:layers]:
        layer.requires_grad_(requires_grad=False)


def fit(
    model: Any, found: Mapping[str, datasets.Dataset], losses: Mapping[str, Any], how: Any, sampler: BatchSamplers
) -> None:
    """Run sentence-transformers' trainer once over the pairs, on the CPU.

    Args:
        model: is changed.
        found: pairs of each kind.
        losses: the loss of each kind.
        how: with ``batch``, ``rate`` and ``seed``.
        sampler: how batches are put together.
    """
    datasets.disable_progress_bars()
    model.model_card_data.widget = [{}]  # nobody sees examples for a hub's page, which take a progress bar to choose
    with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng(devices=[]):
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            num_train_epochs=1,
            per_device_train_batch_size=how.batch,
            learning_rate=how.rate,
            warmup_steps=0.1,
            seed=how.seed,
            bf16=True,
            use_cpu=True,
            batch_sampler=sampler,
            multi_dataset_batch_sampler=MultiDatasetBatchSamplers.PROPORTIONAL,
            save_strategy="no",
            report_to="none",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = SentenceTransformerTrainer(
            model=model, args=arguments, train_dataset=datasets.DatasetDict(found), loss=dict(losses)
        )
        trainer.remove_callback(PrinterCallback)  # standard output is the command's
        trainer.train()
    model.eval()
