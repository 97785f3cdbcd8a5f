"""Tuning by sentence-transformers' trainer: pairs of texts of one class or not, layers that stay, one run."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import datasets
import torch
from sentence_transformers.sentence_transformer.trainer import SentenceTransformerTrainer
from sentence_transformers.sentence_transformer.training_args import (
    BatchSamplers,
    MultiDatasetBatchSamplers,
    SentenceTransformerTrainingArguments,
)
from transformers import PrinterCallback

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np


def drawn_pair(
    by_class: Mapping[str, Sequence[str]],
    alike: bool,
    drawn: np.random.Generator,
) -> tuple[str, str, float]:
    """Two texts, and 1 where they are of one class and 0 where not.

    Args:
        by_class: at least two classes with two texts each.
        alike: whether to draw two of one class.
        drawn: the source of chance.
    """
    names = list(by_class)
    one = str(drawn.choice(names))
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
