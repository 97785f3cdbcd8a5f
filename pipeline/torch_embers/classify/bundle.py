"""A set of classifiers, one per scheme, that were trained together: saved, checked and loaded as one folder.

``bundle.json`` names the text variant, the embedding model and the taxonomy that the classifiers were made for, and
holds the out-of-fold probabilities of the training items: an item that was trained on is never judged by a model that
has seen it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.classify.model import HybridClassifier, ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = 1
FILE = "bundle.json"
SHIPPED = "study-titles"
"""The classifier in models/ that labels at once on a fresh machine."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Calibrated probabilities of one training item by a model that saw neither it nor its group."""

    repo: str
    number: int
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """Classifiers with what they need to be used rightly."""

    name: str
    variant: str
    """Text that they read: title, title_body or thread."""
    embedding: str
    """Model and weights of their vectors, without the arithmetic: ``all-MiniLM-L6-v2@53aa51172d14``."""
    taxonomy: str
    """Digest of the taxonomy they were trained on."""
    models: Mapping[str, HybridClassifier]
    held_out: Mapping[str, tuple[HeldOut, ...]] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Name and digest, as stored beside each prediction."""
        digest = hashlib.sha256("".join(m.digest for m in self.models.values()).encode()).hexdigest()
        return f"{self.name}@{digest[:12]}"

    def save(self, folder: Path) -> None:
        """Write the bundle.

        Raises:
            ModelError: the folder cannot be written.
        """
        for scheme, model in self.models.items():
            model.save(folder / scheme)
        about = {
            "format": FORMAT,
            "name": self.name,
            "variant": self.variant,
            "embedding": self.embedding,
            "taxonomy": self.taxonomy,
            "digests": {scheme: model.digest for scheme, model in self.models.items()},
            "held_out": {
                scheme: [[h.repo, h.number, *(round(p, 6) for p in h.probabilities)] for h in rows]
                for scheme, rows in self.held_out.items()
            },
        }
        try:
            partial = folder / (FILE + ".part")
            partial.write_text(json.dumps(about, indent=0, sort_keys=True), encoding="utf-8")
            partial.replace(folder / FILE)
        except OSError as error:
            raise ModelError(f"cannot write the model to {folder}: {error}") from error

    @staticmethod
    def load(folder: Path) -> Bundle:
        """Read a bundle. Nothing in its files is executed.

        Raises:
            ModelError: a file is missing, changed since it was saved, damaged, or of another version.
        """
        about = _about(folder)
        try:
            models = {scheme: HybridClassifier.load(folder / scheme) for scheme in about["digests"]}
            held_out = {
                scheme: tuple(HeldOut(str(r[0]), int(r[1]), tuple(map(float, r[2:]))) for r in rows)
                for scheme, rows in about["held_out"].items()
            }
            bundle = Bundle(about["name"], about["variant"], about["embedding"], about["taxonomy"], models, held_out)
            digests = dict(about["digests"])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ModelError(f"{folder / FILE}: damaged ({error!r}): train the model again") from error
        for scheme, model in models.items():
            if model.digest != digests[scheme] or model.scheme != scheme:
                raise ModelError(f"{folder}: the model of {scheme} is not the one that belongs to this bundle")
        return bundle


def _about(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"no usable model in {folder} ({error}): train one with `embers classify --train`") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ModelError(f"{path}: made by another version of embers: train the model again")
    return about


def shipped_folder() -> Path:
    """Where the classifier that comes with embers lies.

    Raises:
        ModelError: this installation has none.
    """
    for home in (resources.CHECKOUT_DIR / "models", resources.SHIPPED_DIR / "models"):
        if (home / SHIPPED / FILE).is_file():
            return home / SHIPPED
    raise ModelError(
        "this installation has no classifier: reinstall torch-embers, or train one with `embers classify --train`"
    )
