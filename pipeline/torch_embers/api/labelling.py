"""Label texts that are in no database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import packages
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd


def classify(texts: Sequence[str], *, model: Path | None = None) -> pd.DataFrame:
    """Label texts with the study's taxonomy.

    The first line of a text is its title, the rest its body, in Markdown as on GitHub. Only the text decides: votes of
    labelling functions need an item's labels and runs.

    Args:
        texts: one text for each report; not empty.
        model: folder of a classifier; without it the one that ships with embers.

    Returns:
        One row per text and scheme that applies: ``text`` (position from 0), ``scheme``, ``value``, ``probability`` (0
        to 1), ``confidence`` (high, medium or low).

    Raises:
        MissingPackageError: the extra ``classify`` is not installed.
        InputError: a text is empty or no text.
        ModelError: the classifier cannot be read.
    """
    import pandas as pd

    _check(texts)
    packages.require("classify", "classification needs")
    from torch_embers.classify.train_and_label import label_texts

    labels = [(one.place, one.scheme, one.value, one.probability, one.confidence) for one in label_texts(texts, model)]
    return pd.DataFrame(labels, columns=["text", "scheme", "value", "probability", "confidence"])


def _check(texts: Any) -> None:
    if isinstance(texts, str):
        raise InputError("classify takes a list of texts: classify([text])")
    for place, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"text number {place} is empty or no text")
