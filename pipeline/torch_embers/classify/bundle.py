"""The classifiers of all questions that were trained together, as one folder that is saved, checked and loaded.

``bundle.json`` names the text variant, the embedding model and the taxonomy of the training, and holds the vote
weights, the training rows with their sources, and the out-of-fold probabilities of the items with gold labels: no item
is labelled by a model that was trained on it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.classify.combiner import Combiner
from torch_embers.classify.learning.model import HybridClassifier
from torch_embers.classify.learning.sealed import ModelError, seal
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FORMAT = 4
FILE = "bundle.json"
TRAINING = "TRAINING.md"
"""Counts of the training rows, written for readers; never read."""
SHIPPED = "study-titles"
"""The classifier in models/ that labels at once on a fresh machine."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Calibrated probabilities of one training item by a model that saw neither it nor its group."""

    repo: str
    number: int
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """An item that a classifier learned from."""

    repo: str
    number: int
    label: str
    weight: float
    source: str
    """``gold:<kind>:<annotator>``, or ``weak:<functions>``."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The combiners of all questions with what they were trained for."""

    name: str
    variant: str
    """Text that they read: title, title_body or thread."""
    embedding: str
    """Model and weights of their vectors, without the arithmetic: ``all-MiniLM-L6-v2@53aa51172d14``."""
    taxonomy: str
    """Digest of the taxonomy they were trained on."""
    combiners: Mapping[str, Combiner]
    """By the name of their question."""
    held_out: Mapping[str, tuple[HeldOut, ...]] = field(default_factory=dict)
    rows: Mapping[str, tuple[TrainingRow, ...]] = field(default_factory=dict)

    @property
    def models(self) -> dict[str, HybridClassifier]:
        """The classifiers of texts by the name of their question."""
        return {name: combiner.model for name, combiner in self.combiners.items()}

    @property
    def version(self) -> str:
        """Name and digest, as stored beside each prediction."""
        digest = hashlib.sha256("".join(combiner.model.digest for combiner in self.combiners.values()).encode())
        digest.update(json.dumps({name: combiner.as_data() for name, combiner in self.combiners.items()}).encode())
        return f"{self.name}@{digest.hexdigest()[:12]}"

    def sources(self, repo: str, number: int) -> dict[str, TrainingRow]:
        """How an item was learned from, by question; nothing where it was not."""
        return {
            name: row for name, rows in self.rows.items() for row in rows if (row.repo, row.number) == (repo, number)
        }

    def save(self, folder: Path) -> None:
        """Write the bundle.

        Raises:
            ModelError: the folder cannot be written.
        """
        for name, combiner in self.combiners.items():
            combiner.model.save(folder / name)
        about = {
            "format": FORMAT,
            "name": self.name,
            "variant": self.variant,
            "embedding": self.embedding,
            "taxonomy": self.taxonomy,
            "digests": {name: combiner.model.digest for name, combiner in self.combiners.items()},
            "combiners": {name: combiner.as_data() for name, combiner in self.combiners.items()},
            "held_out": {
                name: [[h.repo, h.number, *(round(p, 6) for p in h.probabilities)] for h in rows]
                for name, rows in self.held_out.items()
            },
            "rows": {
                name: [[r.repo, r.number, r.label, round(r.weight, 6), r.source] for r in rows]
                for name, rows in self.rows.items()
            },
        }
        try:
            (folder / TRAINING).write_text(training_card(self), encoding="utf-8")
            _write(folder, about)
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
            digests = {str(name): str(digest) for name, digest in about["digests"].items()}
            models = {name: HybridClassifier.load(folder / name) for name in digests}
            combiners = {name: Combiner.from_data(model, about["combiners"][name]) for name, model in models.items()}
            held_out = {
                name: tuple(HeldOut(str(r[0]), int(r[1]), tuple(map(float, r[2:]))) for r in rows)
                for name, rows in about["held_out"].items()
            }
            rows = {
                name: tuple(TrainingRow(str(r[0]), int(r[1]), str(r[2]), float(r[3]), str(r[4])) for r in own)
                for name, own in about["rows"].items()
            }
            texts = [str(about[key]) for key in ("name", "variant", "embedding", "taxonomy")]
        except ModelError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, InputError) as error:
            raise ModelError(f"{folder / FILE}: damaged ({error!r}): train the model again") from error
        for name, model in models.items():
            if model.digest != digests[name] or model.scheme != name:
                raise ModelError(f"{folder}: the model of {name} is not the one that belongs to this bundle")
            if any(len(own.probabilities) != len(model.classes) for own in held_out.get(name, ())):
                raise ModelError(f"{folder / FILE}: held-out answers of {name} do not fit its classes")
        return Bundle(texts[0], texts[1], texts[2], texts[3], combiners, held_out, rows)


def reseal(folder: Path) -> None:
    """Seal a bundle again after a file beside it, such as the card, was written anew.

    Raises:
        ModelError: there is no bundle, or it cannot be written.
    """
    try:
        _write(folder, json.loads((folder / FILE).read_bytes()))
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot seal the model in {folder}: {error}") from error


def _write(folder: Path, about: Mapping[str, Any]) -> None:
    """Write ``bundle.json`` with the hashes of all other files and of itself."""
    sealed = {**about, "files": _hashes(folder)}
    sealed["seal"] = seal(sealed)
    partial = folder / (FILE + ".part")
    partial.write_text(json.dumps(sealed, indent=0, sort_keys=True), encoding="utf-8")
    partial.replace(folder / FILE)


def _hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a bundle but ``bundle.json``, by its path in the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in (FILE, FILE + ".part"))
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _check_seal(folder: Path, about: Mapping[str, Any]) -> None:
    """Refuse a bundle of which any file was added, removed or changed."""
    if about.get("seal") != seal(about) or not isinstance(about.get("files"), dict):
        raise ModelError(f"{folder / FILE} was changed after it was saved: train the model again")
    found = _hashes(folder)
    for name in sorted({*found, *about["files"]}):
        if found.get(name) != about["files"].get(name):
            raise ModelError(f"{folder / name} is not the file that was saved with {FILE}: train the model again")


def weights_of(model_id: str) -> str:
    """Model and weights of an embedder's id, without the arithmetic it runs with."""
    return model_id.partition("/")[0]


def training_card(bundle: Bundle) -> str:
    """What the combiners learned from, as Markdown: labelled items by annotator, and items that votes labelled."""
    lines = [
        f"# What {bundle.name} learned from",
        "",
        f"Written by `embers classify --train`; text: {bundle.variant}, vectors: {bundle.embedding}.",
        "",
        "| question | source | items |",
        "| --- | --- | ---: |",
    ]
    for name, rows in bundle.rows.items():
        counts = Counter(row.source if row.source.startswith("gold") else "votes, without gold" for row in rows)
        lines += [f"| {name} | {source} | {count} |" for source, count in sorted(counts.items())]
    lines += ["", "| question | class | items with gold |", "| --- | --- | ---: |"]
    for name, combiner in bundle.combiners.items():
        lines += [f"| {name} | `{value}` | {count} |" for value, count in combiner.model.trained_on.items()]
    return "\n".join(lines) + "\n"


def _about(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"no usable model in {folder} ({error}): train one with `embers classify --train`") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ModelError(f"{path}: made by another version of embers: train the model again")
    _check_seal(folder, about)
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
