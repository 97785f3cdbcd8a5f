"""The classifier of one scheme: several plain views of an item, each with its own logistic regression, and their vote.

Key insight: with a few hundred labelled items the embedding and the words are wrong about different items. One
regression per view (words, pieces of words, embedding), averaged, was never worse than one regression over all of
them put together on the schemes and benchmarks that were tried (docs/evaluation.md), and each view stays linear, so
that a label can be explained by its terms.

Classes are weighted by rarity while fitting, so the vote finds rare classes but is not sure of itself in the right
measure. Its one temperature is therefore set on out-of-fold votes, where groups (threads, near-duplicates) were held
out whole; so is the probability below which it abstains. Nothing is set on texts that the votes were trained on.

A saved model is a folder of two files: ``arrays.npz`` (numbers; loaded without pickle) and ``model.json`` (terms,
settings, the hash of the arrays and of itself). Loading one runs no code from it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import tempfile
import zipfile
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from torch_embers.classify.features import Inputs, Terms, Vectorizer, need
from torch_embers.classify.metrics import threshold_for
from torch_embers.classify.splits import grouped_folds, join_groups, near_duplicates
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

FORMAT = 1
"""Version of the saved form. A model of another version is refused: its numbers may mean something else."""
ARRAYS, ABOUT = "arrays.npz", "model.json"
SIZE_LIMIT = 512 * 2**20
"""Bytes that a saved model may unpack to: a file that claims more is not one of ours."""
TINY = 1e-6
"""Least probability of a vote: a class that a fold never saw must not make the logarithm infinite."""


class ModelError(InputError):
    """A saved model is missing, tampered with, damaged, or of another format version."""


@dataclass(frozen=True)
class View:
    """One way of looking at an item: ``kind`` word or char (of a field) or vector (of a plane)."""

    kind: str
    of: str = "text"

    @property
    def name(self) -> str:
        """Name for messages and files."""
        return f"{self.kind}:{self.of}"


DEFAULT_VIEWS = (View("word"), View("char"), View("vector"))


@dataclass(frozen=True)
class Settings:
    """How a model is fitted. The defaults were chosen by grouped cross-validation; see docs/evaluation.md."""

    views: tuple[View, ...] = DEFAULT_VIEWS
    strength: float = 1.0
    """Inverse regularisation of each regression (scikit-learn's C)."""
    least_texts: int = 1
    """A term must stand in this many training texts. One is enough for titles: a rare class has few examples, and the
    regularisation keeps terms seen once small."""
    most_terms: int = 20_000
    """Terms kept per view, the most frequent: this bounds the size of a saved model."""
    folds: int = 5
    """Parts for the out-of-fold votes; 0 leaves them out: raw votes, no abstention, a sixth of the time. The likeliest
    class is the same."""
    precision: float = 0.9
    """Share of right answers that the abstention threshold is set for."""
    seed: int = 0


@dataclass(frozen=True)
class Prediction:
    """What a model says of one item.

    ``value`` is ``None`` when it abstains; ``best`` is what it would have said.
    """

    scheme: str
    value: str | None
    probability: float
    abstained: bool
    provenance: str
    best: str | None = None


@dataclass(frozen=True)
class Reason:
    """One term of a text and how much it spoke for the class (log-odds against the average class)."""

    term: str
    weight: float


@dataclass(frozen=True)
class _Linear:
    """A fitted regression: weights float64 [classes, features], bias float64 [classes]."""

    view: View
    vectorizer: Vectorizer | None
    weights: Floats
    bias: Floats

    def matrix(self, inputs: Inputs) -> Any:
        if self.vectorizer is None:
            return np.asarray(inputs.planes[self.view.of], dtype=np.float64)
        return self.vectorizer(inputs.fields[self.view.of])

    def votes(self, inputs: Inputs) -> Floats:
        """Probabilities float64 [items, classes]."""
        return _softmax(np.asarray(self.matrix(inputs) @ self.weights.T) + self.bias)


@dataclass
class HybridClassifier:
    """Says which class of one scheme an item is of, how sure it is and why; abstains when it is not sure enough."""

    scheme: str
    settings: Settings = field(default_factory=Settings)
    classes: tuple[str, ...] = ()
    temperature: float = 1.0
    threshold: float = math.inf
    trained_on: Mapping[str, int] = field(default_factory=dict)
    """Number of training items per class."""
    digest: str = ""
    """SHA-256 of what was learned; part of every prediction's provenance."""
    out_of_fold: Floats | None = None
    """After ``fit``: calibrated probabilities float64 [items, classes] of the training items, each by a model that
    saw neither it nor its group. Not saved."""
    _members: tuple[_Linear, ...] = ()

    def fit(
        self,
        texts: Sequence[str] | Inputs,
        vectors: NDArray[np.float32] | None,
        labels: Sequence[str],
        groups: Sequence[Hashable] | None = None,
        weights: Sequence[float] | None = None,
    ) -> HybridClassifier:
        """Learn from labelled items.

        Args:
            texts: one model text per item, or ``Inputs`` with more fields and planes (then ``vectors`` is ``None``).
            vectors: float32 [items, dimensions], L2-normalised.
            labels: the class of each item.
            groups: items of one group are held out together; without groups, near-duplicate texts are found.
            weights: how much each item counts (certainty of its label); 1 when not given.

        Returns:
            Itself.

        Raises:
            InputError: lengths differ, fewer than two classes or groups, a broken vector, a weight that is not
            positive.
        """
        inputs = _inputs(texts, vectors)
        sure = np.ones(len(inputs)) if weights is None else np.asarray(weights, dtype=np.float64)
        self._check_training(inputs, labels, sure)
        numbers = self._grouped(inputs, groups)
        self.classes = tuple(sorted(set(labels)))
        self.trained_on = dict(sorted(Counter(labels).items()))
        truth = np.array([self.classes.index(label) for label in labels], dtype=np.int64)
        self.temperature, self.threshold, self.out_of_fold = 1.0, 0.0, None
        if self.settings.folds:
            held_out = self._held_out(inputs, labels, truth, numbers, sure)
            self.temperature = _temperature(held_out, truth, sure)
            self.out_of_fold = _tempered(held_out, self.temperature)
            self.threshold = self._threshold(self.out_of_fold, truth, sure)
        self._members = _fit_views(inputs, truth, len(self.classes), sure, self.settings)
        self.digest = hashlib.sha256(self._arrays() + _json(self._learned())).hexdigest()
        return self

    def predict_proba(self, texts: Sequence[str] | Inputs, vectors: NDArray[np.float32] | None = None) -> Floats:
        """Calibrated probabilities float64 [items, classes] in the order of ``classes``; rows sum to 1.

        Of an item without text or with a broken vector nothing can be said: all classes are equally likely.

        Raises:
            InputError: not fitted, lengths differ, or vectors of another size than those learned from.
        """
        inputs = self._readable_inputs(texts, vectors)
        result = np.full((len(inputs), len(self.classes)), 1 / len(self.classes))
        rows = np.flatnonzero(inputs.readable())
        if rows.size:
            chosen = inputs.take(rows)
            votes = np.mean([member.votes(chosen) for member in self._members], axis=0)
            result[rows] = _tempered(votes, self.temperature)
        return result

    def predict(self, texts: Sequence[str] | Inputs, vectors: NDArray[np.float32] | None = None) -> list[Prediction]:
        """Name the class of each item, or abstain: below the threshold, without text, with a broken vector.

        Raises:
            InputError: as ``predict_proba``.
        """
        inputs = self._readable_inputs(texts, vectors)
        return self.decide(self.predict_proba(inputs), inputs.readable())

    def decide(self, probabilities: Floats, readable: NDArray[np.bool_] | None = None) -> list[Prediction]:
        """Turn probabilities float64 [items, classes], such as ``out_of_fold``, into predictions."""
        said = np.ones(len(probabilities), dtype=bool) if readable is None else readable
        found = []
        for row, known in zip(probabilities, said, strict=True):
            best, probability = self.classes[int(row.argmax())], float(row.max())
            answers = bool(known) and probability >= self.threshold
            value = best if answers else None
            found.append(
                Prediction(self.scheme, value, probability, not answers, self.provenance, best if known else None)
            )
        return found

    @property
    def provenance(self) -> str:
        """Which model a label came from, as it is stored beside the label."""
        return f"model:{self.scheme}:{self.digest[:12]}"

    def explain(self, text: str | Inputs, vector: NDArray[np.float32] | None = None, count: int = 8) -> list[Reason]:
        """Name the words that spoke most for the predicted class, strongest first (then those that spoke against it).

        Pieces of words and the dimensions of a vector mean nothing to a reader and are left out; they do vote.

        Args:
            text: a model text, or ``Inputs`` of one item.
            vector: float32 [dimensions], when the model looks at vectors.
            count: how many at most.

        Raises:
            InputError: as ``predict_proba``, or more than one item.
        """
        one = (
            text
            if isinstance(text, Inputs)
            else Inputs.of([text], None if vector is None else np.asarray(vector)[None])
        )
        if len(one) != 1:
            raise InputError("one item at a time can be explained")
        best = int(self.predict_proba(one)[0].argmax())
        spoken: dict[str, float] = defaultdict(float)
        for member in self._members:
            if member.vectorizer is not None and member.view.kind == "word":
                row = member.matrix(one).tocoo()
                share = (member.weights[best] - member.weights.mean(axis=0)) / len(self._members)
                for column, value in zip(row.col, row.data, strict=True):
                    spoken[member.vectorizer.learned.terms[column]] += float(value * share[column])
        strongest = sorted(spoken.items(), key=lambda entry: (-abs(entry[1]), entry[0]))[:count]
        return [Reason(term, weight) for term, weight in sorted(strongest, key=lambda entry: (-entry[1], entry[0]))]

    def save(self, folder: Path) -> None:
        """Write the model into ``folder`` (made if missing), each file at once or not at all.

        Raises:
            InputError: not fitted.
            ModelError: the folder cannot be written.
        """
        self._check_fitted()
        arrays = self._arrays()
        about = {
            "format": FORMAT,
            **self._learned(),
            "digest": self.digest,
            "sha256": {ARRAYS: hashlib.sha256(arrays).hexdigest()},
        }
        about["seal"] = _seal(about)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _replace(folder / ARRAYS, arrays)
            _replace(folder / ABOUT, _json(about))
        except OSError as error:
            raise ModelError(f"cannot write the model to {folder}: {error}") from error

    @staticmethod
    def load(folder: Path) -> HybridClassifier:
        """Read a saved model. Nothing in the files is executed.

        Raises:
            ModelError: a file is missing, changed since it was saved, damaged, or of another format version.
        """
        about = _about(folder)
        arrays = _checked_arrays(folder, about)
        try:
            return _rebuilt(about, arrays)
        except (KeyError, TypeError, ValueError, InputError) as error:
            raise ModelError(f"{folder} is no model that this embers can read: {error}") from error

    def _check_fitted(self) -> None:
        if not self._members:
            raise InputError(f"the classifier of {self.scheme} has not learned anything yet")

    def _check_training(self, inputs: Inputs, labels: Sequence[str], sure: Floats) -> None:
        if not len(inputs) == len(labels) == len(sure):
            raise InputError(f"{len(inputs)} texts, {len(labels)} labels and {len(sure)} weights do not go together")
        if len(set(labels)) < 2:
            raise InputError(f"{self.scheme}: at least two classes are needed to learn, there is {len(set(labels))}")
        if not (np.isfinite(sure) & (sure > 0)).all():
            raise InputError(f"{self.scheme}: every weight must be a positive number")
        broken = [name for name, plane in inputs.planes.items() if not np.isfinite(plane).all()]
        if broken:
            raise InputError(
                f"{self.scheme}: vectors to learn from hold values that are no numbers ({', '.join(broken)})"
            )
        self._check_views(inputs)

    def _check_views(self, inputs: Inputs) -> None:
        for view in self.settings.views:
            if view.of not in (inputs.planes if view.kind == "vector" else inputs.fields):
                raise InputError(f"{self.scheme}: the classifier looks at {view.name}, which the items do not have")

    def _grouped(self, inputs: Inputs, groups: Sequence[Hashable] | None) -> NDArray[np.int64]:
        if groups is not None and len(groups) != len(inputs):
            raise InputError(f"{len(inputs)} texts but {len(groups)} groups")
        if groups is not None:
            return join_groups(groups)
        longest = [max(texts, key=len) for texts in zip(*inputs.fields.values(), strict=True)]
        return near_duplicates(longest) if longest else np.arange(len(inputs))

    def _held_out(
        self, inputs: Inputs, labels: Sequence[str], truth: NDArray[np.int64], groups: NDArray[np.int64], sure: Floats
    ) -> Floats:
        """Votes float64 [items, classes], each by members that did not see the item's group."""
        votes = np.full((len(inputs), len(self.classes)), 1 / len(self.classes))
        for split in grouped_folds(labels, groups.tolist(), self.settings.folds, self.settings.seed):
            part = inputs.take(split.train)
            members = _fit_views(part, truth[split.train], len(self.classes), sure[split.train], self.settings)
            unseen = inputs.take(split.test)
            votes[split.test] = np.mean([member.votes(unseen) for member in members], axis=0)
        return votes

    def _threshold(self, calibrated: Floats, truth: NDArray[np.int64], sure: Floats) -> float:
        """Set the threshold on the surest labels alone: a doubtful one cannot tell a right answer from a wrong one."""
        rows = sure >= sure.max() / 2
        right = calibrated[rows].argmax(axis=1) == truth[rows]
        return threshold_for(calibrated[rows].max(axis=1).tolist(), right.tolist(), self.settings.precision)

    def _readable_inputs(self, texts: Sequence[str] | Inputs, vectors: NDArray[np.float32] | None) -> Inputs:
        self._check_fitted()
        inputs = _inputs(texts, vectors)
        self._check_views(inputs)
        for member in self._members:
            if member.vectorizer is None and inputs.planes[member.view.of].shape[1] != member.weights.shape[1]:
                given, known = inputs.planes[member.view.of].shape[1], member.weights.shape[1]
                raise InputError(
                    f"{self.scheme}: vectors of {given} numbers, but it learned from {known} (another embedder?)"
                )
        return inputs

    def _learned(self) -> dict[str, Any]:
        """Everything but the numbers, as plain data."""
        terms = [
            None
            if member.vectorizer is None
            else {"analyzer": member.vectorizer.learned.analyzer, "terms": member.vectorizer.learned.terms}
            for member in self._members
        ]
        return {
            "scheme": self.scheme,
            "classes": self.classes,
            "settings": asdict(self.settings),
            "temperature": self.temperature,
            "threshold": self.threshold if math.isfinite(self.threshold) else None,
            "trained_on": dict(self.trained_on),
            "members": [
                {"view": asdict(member.view), "terms": known}
                for member, known in zip(self._members, terms, strict=True)
            ],
        }

    def _arrays(self) -> bytes:
        """The numbers as the bytes of an npz file; equal numbers give equal bytes."""
        arrays: dict[str, NDArray[Any]] = {}
        for place, member in enumerate(self._members):
            arrays[f"weights{place}"] = member.weights.astype(np.float32)
            arrays[f"bias{place}"] = member.bias
            if member.vectorizer is not None:
                arrays[f"idf{place}"] = member.vectorizer.learned.idf
        stream = io.BytesIO()
        np.savez_compressed(stream, allow_pickle=False, **arrays)
        return stream.getvalue()


def _inputs(texts: Sequence[str] | Inputs, vectors: NDArray[np.float32] | None) -> Inputs:
    if not isinstance(texts, Inputs):
        return Inputs.of(texts, vectors)
    if vectors is not None:
        raise InputError("vectors belong into the planes of the inputs")
    texts.check()
    return texts


def _fit_views(
    inputs: Inputs, truth: NDArray[np.int64], count: int, sure: Floats, settings: Settings
) -> tuple[_Linear, ...]:
    return tuple(member for view in settings.views if (member := _fit_view(view, inputs, truth, count, sure, settings)))


def _fit_view(
    view: View, inputs: Inputs, truth: NDArray[np.int64], count: int, sure: Floats, settings: Settings
) -> _Linear | None:
    """Fit one regression, classes weighted by rarity; ``None`` when the texts hold no usable term.

    Weights are rounded to float32 here, so that a loaded model gives exactly the probabilities of the fitted one.
    """
    vectorizer = None
    if view.kind == "vector":
        matrix: Any = np.asarray(inputs.planes[view.of], dtype=np.float64)
    else:
        vectorizer = Vectorizer.fit(inputs.fields[view.of], view.kind, settings.least_texts, settings.most_terms)
        if vectorizer is None:
            return None
        matrix = vectorizer(inputs.fields[view.of])
    weights, bias = np.zeros((count, matrix.shape[1])), np.full(count, math.log(TINY))
    present = np.unique(truth)
    if len(present) == 1:
        bias[present] = 0.0
        return _Linear(view, vectorizer, weights, bias)
    made = need("sklearn.linear_model").LogisticRegression(C=settings.strength, class_weight="balanced", max_iter=1_000)
    made.fit(matrix, truth, sample_weight=sure)
    known, offset = made.coef_, made.intercept_
    if len(present) == 2:  # one row that speaks for the second class: give each class its half
        known, offset = np.vstack([-known / 2, known / 2]), np.array([-offset[0] / 2, offset[0] / 2])
    weights[present] = known.astype(np.float32)
    bias[:] = offset.min() + math.log(TINY)
    bias[present] = offset
    return _Linear(view, vectorizer, weights, bias)


def _softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=1, keepdims=True)
    return shares


def _tempered(votes: Floats, temperature: float) -> Floats:
    return _softmax(np.log(np.maximum(votes, TINY)) / temperature)


def _temperature(votes: Floats, truth: NDArray[np.int64], sure: Floats) -> float:
    """Return the temperature that makes the held-out truth most likely, searched from 0.1 to 5 on a fine grid."""
    grid = np.geomspace(0.1, 5.0, 80)
    rows = np.arange(len(truth))
    losses = [-(sure * np.log(np.maximum(_tempered(votes, one)[rows, truth], TINY))).sum() for one in grid]
    return float(grid[int(np.argmin(losses))])


def _json(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _seal(about: Mapping[str, Any]) -> str:
    return hashlib.sha256(_json({key: value for key, value in about.items() if key != "seal"})).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _about(folder: Path) -> dict[str, Any]:
    """Read and check ``model.json``: its version first, because another version may be sealed another way."""
    path = folder / ABOUT
    try:
        about = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelError(f"there is no model in {folder}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged: {error}") from error
    version = about.get("format") if isinstance(about, dict) else None
    if version != FORMAT:
        raise ModelError(f"{path} has format version {version}, this embers reads {FORMAT}: fit the model anew")
    if about.get("seal") != _seal(about):
        raise ModelError(f"{path} was changed after it was saved")
    return dict(about)


def _checked_arrays(folder: Path, about: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    path = folder / ARRAYS
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"the model in {folder} is not complete: {error}") from error
    expected = about.get("sha256")
    if not isinstance(expected, dict) or hashlib.sha256(content).hexdigest() != expected.get(ARRAYS):
        raise ModelError(f"{path} is not the file that was saved with {ABOUT}")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > SIZE_LIMIT:
                raise ModelError(f"{path} would unpack to more than {SIZE_LIMIT} bytes")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ModelError(f"{path} is damaged: {error}") from error


def _rebuilt(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> HybridClassifier:
    stored = dict(about["settings"])
    stored["views"] = tuple(View(**view) for view in stored["views"])
    if set(stored) != {entry.name for entry in fields(Settings)}:
        raise InputError("its settings are others")
    classes = tuple(map(str, about["classes"]))
    members = tuple(_member(entry, place, len(classes), arrays) for place, entry in enumerate(about["members"]))
    threshold = math.inf if about["threshold"] is None else float(about["threshold"])
    return HybridClassifier(
        scheme=str(about["scheme"]),
        settings=Settings(**stored),
        classes=classes,
        temperature=float(about["temperature"]),
        threshold=threshold,
        trained_on=dict(about["trained_on"]),
        digest=str(about["digest"]),
        _members=members,
    )


def _member(entry: Mapping[str, Any], place: int, classes: int, arrays: Mapping[str, NDArray[Any]]) -> _Linear:
    weights, bias = arrays[f"weights{place}"].astype(np.float64), arrays[f"bias{place}"].astype(np.float64)
    vectorizer = None
    if entry["terms"] is not None:
        learned = Terms(
            str(entry["terms"]["analyzer"]), tuple(map(str, entry["terms"]["terms"])), arrays[f"idf{place}"]
        )
        vectorizer = Vectorizer(learned)
        if weights.shape[1:] != (len(learned.terms),):
            raise InputError("weights and terms differ in number")
    if weights.ndim != 2 or len(weights) != classes or bias.shape != (classes,):
        raise InputError("weights and classes differ in number")
    if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
        raise InputError("weights hold values that are no numbers")
    return _Linear(View(**entry["view"]), vectorizer, weights, bias)
