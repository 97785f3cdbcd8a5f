"""The classifier: one linear model per question, as a folder of two files that are read without running anything.

``weights.npz`` holds the weights; ``classifier.json`` everything else: what is read, the classes, the temperature of
each question, from which probability on a label has which confidence, and the probabilities that models gave to the
training items which they had not seen: no item is labelled by a model that was trained on it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, ValidationError

from torch_embers import resources, toml_models
from torch_embers.classify.features import Features, Terms
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from torch_embers.classify.features import Columns

    Floats = NDArray[np.float32]

FILE, WEIGHTS = "classifier.json", "weights.npz"
FORMAT = 1
SHIPPED = "study-labels"
"""The classifier in models/ that labels at once on a fresh machine."""
MOST_BYTES, MOST_TEXT = 256 * 2**20, 16 * 2**20
"""Of the weights, packed and unpacked, and of the text file: a larger one is not one of ours (1.3 MB are)."""
LEVELS = ("low", "medium", "high")
"""Confidences, the least first."""

Share = Annotated[float, Field(ge=0, le=1)]


class ModelError(InputError):
    """A saved classifier is missing, damaged, or of another format."""


class Reason(NamedTuple):
    """One term of a text and how much it spoke for the class (log-odds against the average class)."""

    term: str
    weight: float


class Measured(toml_models.Entry):
    """Labels of a class on one sample, from a probability on: how many, and how many of them right."""

    sample: str
    items: int
    right: int


class Cut(toml_models.Entry):
    """From which probability on labels of a class have a confidence, and what was measured there."""

    scheme: str
    value: str
    confidence: str
    probability: Share
    measured: tuple[Measured, ...]


class TrainedQuestion(toml_models.Entry):
    """One question, without its weights."""

    classes: Annotated[tuple[str, ...], Field(min_length=1)]
    temperature: float = Field(gt=0)
    trained_on: dict[str, int]
    """Items by class."""
    sources: dict[str, int]
    """Items by who labelled them."""


class About(toml_models.Entry):
    """``classifier.json``."""

    format: int
    name: str
    embedding: str
    """Id of the encoder that made the vectors."""
    taxonomy: str
    """Digest of the taxonomy."""
    weights_sha256: str
    questions: Annotated[dict[str, TrainedQuestion], Field(min_length=1)]
    """By name; their columns stand in ``weights.npz`` in this order."""
    cuts: tuple[Cut, ...]
    title_terms: tuple[str, ...]
    words: tuple[str, ...]
    marks: tuple[str, ...]
    dim: int = Field(gt=0)
    held_out: dict[str, dict[str, tuple[Share, ...]]]
    """Question -> owner/name#number -> probabilities by models that saw neither the item nor its group."""
    confusion: dict[str, tuple[tuple[int, ...], ...]]
    """Question -> rows truth, columns the likeliest class, of all training items out of fold."""


@dataclass(frozen=True)
class Classifier:
    """A classifier that was read or trained."""

    about: About
    features: Features
    weights: Floats
    """float32 [features, classes of all questions side by side]."""
    intercepts: Floats
    """float32 [classes of all questions]."""
    slices: Mapping[str, slice] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Name and digest of what was learned, as stored beside each label."""
        return f"{self.about.name}@{digest(_json(self.about))[:12]}"

    def probabilities(self, rows: Sequence[Columns]) -> dict[str, NDArray[np.float64]]:
        """Calibrated probabilities float64 [items, classes] by question; rows sum to 1."""
        scores = np.array([row.values @ self.weights[row.places] for row in rows], np.float64)
        scores = scores.reshape(len(rows), len(self.intercepts)) + self.intercepts
        return {
            name: softmax(scores[:, self.slices[name]] / one.temperature) for name, one in self.about.questions.items()
        }

    def terms(self, row: Columns, question: str, value: str, count: int) -> list[Reason]:
        """The words and signs of an item that spoke most for a class, strongest first."""
        names = self.features.names
        own = self.weights[:, self.slices[question]]
        place = self.about.questions[question].classes.index(value)
        known = row.places < len(names)
        share = own[row.places[known]]
        spoken = row.values[known] * (share[:, place] - share.mean(axis=1))
        found: dict[str, float] = {}
        for at, weight in zip(row.places[known].tolist(), spoken.tolist(), strict=True):
            found[names[at]] = found.get(names[at], 0.0) + weight  # a word of the title has two columns
        best = sorted(
            ((name, weight) for name, weight in found.items() if weight > 0), key=lambda one: (-one[1], one[0])
        )
        return [Reason(*one) for one in best[:count]]

    def held_out(self, question: str, repo: str, number: int) -> Sequence[float] | None:
        """Probabilities of a training item by a model that had not seen it."""
        return self.about.held_out.get(question, {}).get(f"{repo}#{number}")

    def confidence(self, scheme: str, value: str, probability: float) -> str:
        """How sure a label of this probability is."""
        reached = {
            cut.confidence
            for cut in self.about.cuts
            if (cut.scheme, cut.value) == (scheme, value) and probability >= cut.probability
        }
        return max(reached, key=LEVELS.index, default=LEVELS[0])

    def save(self, folder: Path, further: Mapping[str, bytes]) -> None:
        """Write the classifier, and other files that belong to it by name.

        Raises:
            ModelError: the folder cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, body in {WEIGHTS: weight_bytes(self), FILE: _json(self.about), **further}.items():
                (folder / name).write_bytes(body)
        except OSError as error:
            raise ModelError(f"cannot write a classifier to {folder}: {error.strerror}") from error


def of_parts(about: About, weights: Mapping[str, NDArray[Any]]) -> Classifier:
    """Put a classifier together.

    Raises:
        ValueError: the parts do not fit.
    """
    title = Terms(2, about.title_terms, weights["title_rarity"].astype(np.float32))
    words = Terms(1, about.words, weights["word_rarity"].astype(np.float32))
    features = Features(title, words, about.marks, about.dim)
    slices, start = {}, 0
    for name, one in about.questions.items():
        slices[name] = slice(start, start + len(one.classes))
        start += len(one.classes)
    matrix = weights["weights"].astype(np.float32)
    intercepts = weights["intercepts"].astype(np.float32)
    fits = matrix.shape == (features.width, start) and intercepts.shape == (start,)
    fits = fits and (title.rarity.shape, words.rarity.shape) == ((len(title.terms),), (len(words.terms),))
    if not fits or not np.isfinite(matrix).all() or not np.isfinite(intercepts).all():
        raise ValueError("weights, terms and classes do not fit together")
    for name, rows in about.held_out.items():
        if any(len(own) != len(about.questions[name].classes) for own in rows.values()):
            raise ValueError(f"held-out answers do not fit {name}")
    return Classifier(about, features, matrix, intercepts, slices)


def weight_bytes(classifier: Classifier) -> bytes:
    """The bytes of ``weights.npz``: half precision, which moves no probability by more than 0.001."""
    features = classifier.features
    made = io.BytesIO()
    np.savez_compressed(
        made,
        weights=classifier.weights.astype(np.float16),
        intercepts=classifier.intercepts,
        title_rarity=features.title.rarity.astype(np.float16),
        word_rarity=features.words.rarity.astype(np.float16),
    )
    return made.getvalue()


def load(folder: Path) -> Classifier:
    """Read a classifier. Nothing in its files is executed.

    Raises:
        ModelError: a file is missing, changed since it was saved, damaged, or of another format.
    """
    try:
        texts, body = _bytes(folder / FILE, MOST_TEXT), _bytes(folder / WEIGHTS, MOST_BYTES)
        about = About.model_validate_json(texts)
        if about.format != FORMAT:
            raise ModelError(
                f"{folder}: format {about.format}, this release reads {FORMAT}: train the classifier again"
            )
        if digest(body) != about.weights_sha256:
            raise ModelError(f"{folder / WEIGHTS} is not the file that {FILE} names: train the classifier again")
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            if sum(entry.file_size for entry in archive.zip.infolist()) > MOST_BYTES:
                raise ModelError(f"{folder / WEIGHTS}: too large to be a classifier")
            return of_parts(about, dict(archive))
    except OSError as error:
        raise ModelError(
            f"{folder} holds no classifier ({error.strerror}): train one, or name another folder"
        ) from error
    except ModelError:
        raise
    except Exception as error:
        # NumPy, zipfile and zlib raise many kinds where somebody made a file up
        said = toml_models.wrong(error) if isinstance(error, ValidationError) else type(error).__name__
        raise ModelError(f"{folder}: damaged ({said}): train the classifier again") from error


def shipped_folder() -> Path:
    """Where the classifier that comes with embers lies.

    Raises:
        InputError: this installation has none.
    """
    return resources.shipped("models", SHIPPED)


def check_target(folder: Path) -> None:
    """Check that a folder can be written before minutes of training go into it; makes nothing.

    Raises:
        ModelError: a file is in its place, or it may not be written.
    """
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise ModelError(f"cannot write a classifier to {folder}: {nearest} is no folder that can be written to")


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities float64 [items, classes] of scores."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _bytes(path: Path, most: int) -> bytes:
    if not path.is_file() and path.exists():  # a pipe would never end
        raise ModelError(f"{path}: this is no file")
    if path.stat().st_size > most:
        raise ModelError(f"{path}: too large to be a classifier")
    return path.read_bytes()


def digest(body: bytes) -> str:
    """SHA-256 of bytes."""
    return hashlib.sha256(body).hexdigest()


def _json(about: About) -> bytes:
    return (json.dumps(about.model_dump(), separators=(",", ":"), ensure_ascii=False) + "\n").encode()
