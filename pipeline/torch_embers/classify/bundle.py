"""The classifiers of all questions that were trained together, as one folder that is saved, sealed and loaded.

``model.skops`` holds the fitted features and estimators. ``bundle.json`` names the text variant, the embedding model
and the taxonomy of the training, and holds the training rows with their sources, and the out-of-fold probabilities of
the items with gold labels: no item is labelled by a model that was trained on it.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, Field, ValidationError, field_validator

from torch_embers import resources, toml_models
from torch_embers.classify.learning import kept
from torch_embers.classify.learning.features import VOTES, readable
from torch_embers.classify.learning.kept import ModelError
from torch_embers.classify.learning.model import Classifier, transformed
from torch_embers.classify.text import Variant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

FILE = "bundle.json"
ESTIMATORS = "model.skops"
SHIPPED = "study-titles"
"""The classifier in models/ that labels at once on a fresh machine."""


class HeldOut(NamedTuple):
    """Calibrated probabilities of one training item by a model that saw neither it nor its group."""

    repo: str
    number: int
    probabilities: tuple[Annotated[float, Field(ge=0, le=1)], ...]


class TrainingRow(NamedTuple):
    """An item that a classifier learned from."""

    repo: str
    number: int
    label: str
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    source: str
    """``gold:<kind>:<annotator>``, or ``weak:<functions>``."""


class _Learned(toml_models.Entry):
    """What ``bundle.json`` says of one classifier; fields of ``Classifier``."""

    classes: tuple[str, ...]
    votes: dict[str, str]
    threshold: Annotated[float, BeforeValidator(lambda found: math.inf if found is None else found), Field(ge=0)]
    trained_on: dict[str, int]
    groups: int


class _About(toml_models.Entry):
    """``bundle.json``."""

    name: str
    variant: Variant
    embedding: str
    taxonomy: str
    classifiers: Annotated[dict[str, _Learned], Field(min_length=1)]
    held_out: dict[str, tuple[Annotated[HeldOut, BeforeValidator(lambda row: (*row[:2], row[2:]))], ...]]
    rows: dict[str, tuple[TrainingRow, ...]]

    @field_validator("held_out", "rows")
    @classmethod
    def _once(cls, of: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
        for name, rows in of.items():
            if len({(row.repo, row.number) for row in rows}) < len(rows):
                raise ValueError(f"an item stands twice in the rows of {name!r}")
        return of


@dataclass(frozen=True, slots=True)
class Bundle:
    """The classifiers of all questions with what they were trained for."""

    name: str
    variant: Variant
    """Text that they read."""
    embedding: str
    """Model and weights of their vectors, without the arithmetic: ``all-MiniLM-L6-v2@53aa51172d14``."""
    taxonomy: str
    """Digest of the taxonomy they were trained on."""
    classifiers: Mapping[str, Classifier]
    """By the name of their question; those that are asked of every item read the same features."""
    held_out: Mapping[str, tuple[HeldOut, ...]] = field(default_factory=dict)
    rows: Mapping[str, tuple[TrainingRow, ...]] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Name and digest of what was learned, as stored beside each prediction."""
        digest = hashlib.sha256(_json(self._about()))
        for one in self.classifiers.values():
            digest.update(np.ascontiguousarray(one.estimator.coef_).tobytes())
        return f"{self.name}@{digest.hexdigest()[:12]}"

    def sources(self, repo: str, number: int) -> dict[str, TrainingRow]:
        """How an item was learned from, by question; nothing where it was not."""
        return {
            name: row for name, rows in self.rows.items() for row in rows if (row.repo, row.number) == (repo, number)
        }

    def features(self, items: pd.DataFrame) -> Any:
        """What the classifiers read of items, all of which must be readable."""
        return transformed(self._shared(), items)

    def probabilities(self, items: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
        """Calibrated probabilities float64 [items, classes] by question; each text is read once.

        Raises:
            InputError: the items lack what the classifiers look at.
        """
        rows = np.flatnonzero(readable(items))
        matrix, shared = self.features(items.iloc[rows]) if rows.size else None, self._shared()
        return {
            name: one.predict_proba(items, matrix if one.features is shared else None)
            for name, one in self.classifiers.items()
        }

    def _shared(self) -> Any:
        """The features that most classifiers read."""
        return next(iter(self.classifiers.values())).features

    def save(self, folder: Path, further: Mapping[str, bytes] | None = None) -> None:
        """Write and seal the bundle.

        Args:
            folder: made if missing.
            further: other files that belong to it, by name: ``card.files``.

        Raises:
            ModelError: the folder cannot be written.
        """
        estimators: dict[str, Any] = {"features": self._shared()}
        for name, one in self.classifiers.items():
            estimators |= {f"estimator {name}": one.estimator, f"calibrator {name}": one.calibrator}
            if one.features is not self._shared():
                estimators[f"features {name}"] = one.features
        files = {ESTIMATORS: kept.estimators_bytes(estimators), FILE: _json(self._about()), **(further or {})}
        kept.write(folder, files)

    def _about(self) -> dict[str, Any]:
        """Everything but the estimators, as plain data."""
        about = {name: getattr(self, name) for name in _About.model_fields}
        about["classifiers"] = {
            name: {field: getattr(one, field) for field in _Learned.model_fields}
            | {"threshold": one.threshold if math.isfinite(one.threshold) else None}
            for name, one in self.classifiers.items()
        }
        about["held_out"] = {
            name: [[own.repo, own.number, *own.probabilities] for own in rows] for name, rows in self.held_out.items()
        }
        return about

    @staticmethod
    def load(folder: Path) -> Bundle:
        """Read a bundle. Nothing in its files is executed.

        Raises:
            ModelError: a file is missing, changed since it was saved, damaged, or of another version.
        """
        kept.check_seal(folder)
        estimators = kept.read_estimators(folder / ESTIMATORS)
        try:
            about = _About.model_validate_json((folder / FILE).read_bytes())
            classifiers = {name: _classifier(name, one, estimators) for name, one in about.classifiers.items()}
        except (LookupError, TypeError, ValueError, AttributeError, OSError) as error:
            said = (
                toml_models.wrong(error) if isinstance(error, ValidationError) else " ".join(repr(error).split())[:300]
            )
            raise ModelError(f"{folder / FILE}: damaged ({said}): train the model again") from error
        for name, own in about.held_out.items():
            if name not in classifiers or any(len(one.probabilities) != len(classifiers[name].classes) for one in own):
                raise ModelError(f"{folder / FILE}: held-out answers do not fit {name}: train the model again")
        bundle = Bundle(**dict(about) | {"classifiers": classifiers})
        try:
            bundle._answer_once()
        except Exception as error:
            # scikit-learn and NumPy raise many kinds where parts of a file that somebody made up do not fit together
            raise ModelError(f"{folder} cannot answer ({type(error).__name__}): train the model again") from error
        return bundle

    def _answer_once(self) -> None:
        """Answer every question about one item: the parts that were read must fit together."""
        names = [name for name in self._shared().feature_names_in_ if name != VOTES]
        self.probabilities(pd.DataFrame({name: [0.0 if ":" in name else "text of an item"] for name in names}))


def _classifier(name: str, about: _Learned, estimators: Mapping[str, Any]) -> Classifier:
    """Put a saved classifier together.

    Raises:
        ValueError: the parts do not fit.
    """
    estimator = estimators[f"estimator {name}"]
    if tuple(estimator.classes_.tolist()) != about.classes:
        raise ValueError(f"the classes of {name} are others")
    if unknown := sorted(set(about.votes.values()) - set(about.classes)):
        raise ValueError(f"votes of {name} name a class that it has not: {unknown[0]}")
    return Classifier(
        question=name,
        **dict(about),
        features=estimators.get(f"features {name}", estimators["features"]),
        estimator=estimator,
        calibrator=estimators[f"calibrator {name}"],
    )


def _json(about: Mapping[str, Any]) -> bytes:
    return (json.dumps(about, indent=0, sort_keys=True, allow_nan=False) + "\n").encode()


def weights_of(model_id: str) -> str:
    """Model and weights of an embedder's id, without the arithmetic it runs with."""
    return model_id.partition("/")[0]


def shipped_folder() -> Path:
    """Where the classifier that comes with embers lies.

    Raises:
        InputError: this installation has none.
    """
    return resources.shipped("models", SHIPPED)
