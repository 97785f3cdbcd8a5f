"""The classifier of one scheme: the mean of several logistic regressions, each on one view of an item.

Key insight: with a few hundred labelled items the embedding and the words are wrong about different items. One
regression per view (words, pieces of words, embedding), averaged, was never worse than one regression over all of
them put together on the schemes and benchmarks that were tried (docs/evaluation.md), and each view stays linear, so
that a label can be explained by its terms.

Classes are weighted by rarity while fitting, so the vote finds rare classes, but its probabilities are not calibrated.
One temperature and the abstention threshold are therefore set on out-of-fold votes, with groups (threads,
near-duplicates) held out whole. Nothing is set on texts that the votes were trained on.

A saved model is a folder of two files: ``arrays.npz`` (numbers; loaded without pickle) and ``model.json`` (terms,
settings, the hash of the arrays and of itself). Loading one runs no code from it.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from torch_embers.classify.learning import linear, sealed
from torch_embers.classify.learning.features import Inputs, Terms, Vectorizer
from torch_embers.classify.learning.linear import TINY, Linear, View, softmax
from torch_embers.classify.learning.sealed import ModelError
from torch_embers.errors import InputError
from torch_embers.statistics.metrics import threshold_for
from torch_embers.statistics.splits import grouped_folds, join_groups, near_duplicates

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

DEFAULT_VIEWS = (View("word"), View("char"), View("vector"))


@dataclass(frozen=True)
class Settings:
    """How a model is fitted. The defaults were chosen by grouped cross-validation; see docs/evaluation.md."""

    views: tuple[View, ...] = DEFAULT_VIEWS
    C: float = 1.0
    """Inverse regularisation of each regression, as in scikit-learn."""
    min_df: int = 1
    """A term must stand in this many training texts. One is enough for titles: a rare class has few examples, and the
    regularisation keeps terms seen once small."""
    max_features: int = 20_000
    """Terms kept per view, the most frequent: this bounds the size of a saved model."""
    folds: int = 5
    """Parts for the out-of-fold votes; 0 leaves them out: raw votes, no abstention, a sixth of the time. The likeliest
    class is the same."""
    precision: float = 0.9
    """Share of right answers that the abstention threshold is set for."""
    seed: int = 0


@dataclass(frozen=True)
class Prediction:
    """The prediction for one item.

    ``value`` is ``None`` when the model abstains; ``best`` is the likeliest class in any case.
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


@dataclass
class HybridClassifier:
    """Predicts the class of an item in one scheme, with a calibrated probability; abstains below a threshold."""

    scheme: str
    settings: Settings = field(default_factory=Settings)
    classes: tuple[str, ...] = ()
    temperature: float = 1.0
    threshold: float = math.inf
    trained_on: Mapping[str, int] = field(default_factory=dict)
    """Number of calibration items per class."""
    digest: str = ""
    """SHA-256 of what was learned; part of every prediction's provenance."""
    out_of_fold: Floats | None = None
    """After ``fit``: calibrated probabilities float64 [items, classes] of the calibration items, each by a model that
    saw neither it nor its group. Not saved."""
    members: tuple[Linear, ...] = ()

    def fit(
        self,
        texts: Sequence[str] | Inputs,
        vectors: NDArray[np.float32] | None,
        labels: Sequence[str],
        groups: Sequence[Hashable] | None = None,
        weights: Sequence[float] | None = None,
        calibration: Sequence[bool] | None = None,
    ) -> HybridClassifier:
        """Learn from labelled items.

        Args:
            texts: one model text per item, or ``Inputs`` with more fields and planes (then ``vectors`` is ``None``).
            vectors: float32 [items, dimensions], L2-normalised.
            labels: the class of each item.
            groups: items of one group are held out together; without groups, near-duplicate texts are found.
            weights: how much each item counts (certainty of its label); 1 when not given.
            calibration: which items temperature and threshold are set on, all when not given. The others, whose labels
                are doubtful, are learned from and nothing else.

        Returns:
            Itself.

        Raises:
            InputError: lengths differ, fewer than two classes or groups, a broken vector, a weight that is not
            positive.
        """
        inputs = _inputs(texts, vectors)
        sample_weight = np.ones(len(inputs)) if weights is None else np.asarray(weights, dtype=np.float64)
        known = np.ones(len(inputs), dtype=bool) if calibration is None else np.asarray(calibration, dtype=bool)
        self._check_training(inputs, labels, sample_weight, known)
        numbers = self._grouped(inputs, groups)
        self.classes = tuple(sorted(set(labels)))
        self.trained_on = dict(sorted(Counter(label for label, own in zip(labels, known, strict=True) if own).items()))
        truth = np.array([self.classes.index(label) for label in labels], dtype=np.int64)
        self.temperature, self.threshold, self.out_of_fold = 1.0, 0.0, None
        if self.settings.folds:
            held_out = self._held_out(inputs, truth, numbers, sample_weight, known)
            self.temperature = best_temperature(held_out, truth[known], sample_weight[known])
            self.out_of_fold = tempered(held_out, self.temperature)
            self.threshold = self._threshold(self.out_of_fold, truth[known], sample_weight[known])
        self.members = _fit_views(inputs, truth, len(self.classes), sample_weight, self.settings)
        self.digest = hashlib.sha256(self._arrays() + sealed.json_bytes(self._learned())).hexdigest()
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
            votes = np.mean([member.votes(chosen) for member in self.members], axis=0)
            result[rows] = tempered(votes, self.temperature)
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

    def explain(
        self, text: str | Inputs, vector: NDArray[np.float32] | None = None, count: int = 8, label: str | None = None
    ) -> list[Reason]:
        """Name the words that spoke most for a class, strongest first (then those that spoke against it).

        Pieces of words and the dimensions of a vector mean nothing to a reader and are left out; they do vote.

        Args:
            text: a model text, or ``Inputs`` of one item.
            vector: float32 [dimensions], when the model looks at vectors.
            count: how many at most.
            label: the class; the predicted one when not given.

        Raises:
            InputError: as ``predict_proba``, more than one item, or no such class.
        """
        one = (
            text
            if isinstance(text, Inputs)
            else Inputs.of([text], None if vector is None else np.asarray(vector)[None])
        )
        if len(one) != 1:
            raise InputError("one item at a time can be explained")
        if label is not None and label not in self.classes:
            raise InputError(f"{self.scheme} has no class {label!r}")
        best = int(self.predict_proba(one)[0].argmax()) if label is None else self.classes.index(label)
        spoken: dict[str, float] = defaultdict(float)
        for member in self.members:
            if member.vectorizer is not None and member.view.kind == "word":
                row = member.matrix(one).tocoo()
                share = (member.weights[best] - member.weights.mean(axis=0)) / len(self.members)
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
        sealed.write(folder, {**self._learned(), "digest": self.digest}, self._arrays())

    @staticmethod
    def load(folder: Path) -> HybridClassifier:
        """Read a saved model. Nothing in the files is executed.

        Raises:
            ModelError: a file is missing, changed since it was saved, damaged, or of another format version.
        """
        about, arrays = sealed.read(folder)
        try:
            return _rebuilt(about, arrays)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, InputError) as error:
            raise ModelError(f"{folder} is no model that this embers can read: {error}") from error

    def _check_fitted(self) -> None:
        if not self.members:
            raise InputError(f"the classifier of {self.scheme} has not learned anything yet")

    def _check_training(
        self, inputs: Inputs, labels: Sequence[str], sample_weight: Floats, calibration: NDArray[np.bool_]
    ) -> None:
        if not len(inputs) == len(labels) == len(sample_weight) == len(calibration):
            raise InputError(
                f"{len(inputs)} texts, {len(labels)} labels and {len(sample_weight)} weights do not go together"
            )
        own = {label for label, known in zip(labels, calibration, strict=True) if known}
        if len(own) < 2:
            raise InputError(f"{self.scheme}: at least two classes are needed to learn, there is {len(own)}")
        if not own.issuperset(labels):
            raise InputError(f"{self.scheme}: a class has doubtful labels only: {sorted(set(labels) - own)[0]}")
        if not (np.isfinite(sample_weight) & (sample_weight > 0)).all():
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
        self,
        inputs: Inputs,
        truth: NDArray[np.int64],
        groups: NDArray[np.int64],
        sample_weight: Floats,
        calibration: NDArray[np.bool_],
    ) -> Floats:
        """Votes float64 [calibration items, classes], each by members that did not see the item's group."""
        own, others = np.flatnonzero(calibration), np.flatnonzero(~calibration)
        votes = np.full((len(own), len(self.classes)), 1 / len(self.classes))
        labels = [self.classes[number] for number in truth[own]]
        for split in grouped_folds(labels, groups[own].tolist(), self.settings.folds, self.settings.seed):
            apart = others[~np.isin(groups[others], groups[own[split.test]])]
            rows = np.concatenate([own[split.train], apart])
            members = _fit_views(inputs.take(rows), truth[rows], len(self.classes), sample_weight[rows], self.settings)
            unseen = inputs.take(own[split.test])
            votes[split.test] = np.mean([member.votes(unseen) for member in members], axis=0)
        return votes

    def _threshold(self, calibrated: Floats, truth: NDArray[np.int64], sample_weight: Floats) -> float:
        """Set the threshold on the surest labels alone: a doubtful one cannot tell a right answer from a wrong one."""
        rows = sample_weight >= sample_weight.max() / 2
        right = calibrated[rows].argmax(axis=1) == truth[rows]
        return threshold_for(calibrated[rows].max(axis=1).tolist(), right.tolist(), self.settings.precision)

    def _readable_inputs(self, texts: Sequence[str] | Inputs, vectors: NDArray[np.float32] | None) -> Inputs:
        inputs = _inputs(texts, vectors)
        self.check(inputs)
        return inputs

    def check(self, inputs: Inputs) -> None:
        """See that items have what the classifier looks at.

        Raises:
            InputError: it has not learned anything yet, or a text or vector is missing or of another size.
        """
        self._check_fitted()
        self._check_views(inputs)
        for member in self.members:
            if member.vectorizer is None and inputs.planes[member.view.of].shape[1] != member.weights.shape[1]:
                given, known = inputs.planes[member.view.of].shape[1], member.weights.shape[1]
                raise InputError(
                    f"{self.scheme}: vectors of {given} numbers, but it learned from {known} (another embedder?)"
                )

    def _learned(self) -> dict[str, Any]:
        """Everything but the numbers, as plain data."""
        terms = [
            None
            if member.vectorizer is None
            else {"analyzer": member.vectorizer.learned.analyzer, "terms": member.vectorizer.learned.terms}
            for member in self.members
        ]
        return {
            "scheme": self.scheme,
            "classes": self.classes,
            "settings": asdict(self.settings),
            "temperature": self.temperature,
            "threshold": self.threshold if math.isfinite(self.threshold) else None,
            "trained_on": dict(self.trained_on),
            "members": [
                {"view": asdict(member.view), "terms": known} for member, known in zip(self.members, terms, strict=True)
            ],
        }

    def _arrays(self) -> bytes:
        """The numbers as the bytes of an npz file; equal numbers give equal bytes."""
        arrays: dict[str, NDArray[Any]] = {}
        for place, member in enumerate(self.members):
            arrays[f"weights{place}"] = member.weights.astype(np.float32)
            arrays[f"bias{place}"] = member.bias
            if member.vectorizer is not None:
                arrays[f"idf{place}"] = member.vectorizer.learned.idf
        return sealed.arrays_bytes(arrays)


def _inputs(texts: Sequence[str] | Inputs, vectors: NDArray[np.float32] | None) -> Inputs:
    if not isinstance(texts, Inputs):
        return Inputs.of(texts, vectors)
    if vectors is not None:
        raise InputError("vectors belong into the planes of the inputs")
    texts.check()
    return texts


def _fit_views(
    inputs: Inputs, truth: NDArray[np.int64], count: int, sample_weight: Floats, settings: Settings
) -> tuple[Linear, ...]:
    how = (settings.C, settings.min_df, settings.max_features)
    fitted = (linear.fit(view, inputs, truth, count, sample_weight, *how) for view in settings.views)
    return tuple(member for member in fitted if member is not None)


def tempered(votes: Floats, temperature: float) -> Floats:
    """Sharpen (below 1) or flatten (above 1) probabilities float64 [items, classes]."""
    return softmax(np.log(np.maximum(votes, TINY)) / temperature)


def best_temperature(votes: Floats, truth: NDArray[np.int64], sample_weight: Floats) -> float:
    """Return the temperature that makes the held-out truth most likely, searched from 0.1 to 5 on a fine grid."""
    grid = np.geomspace(0.1, 5.0, 80)
    rows = np.arange(len(truth))
    losses = [-(sample_weight * np.log(np.maximum(tempered(votes, one)[rows, truth], TINY))).sum() for one in grid]
    return float(grid[int(np.argmin(losses))])


def _rebuilt(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> HybridClassifier:
    """Put a saved classifier together; every value is checked, as nothing but care keeps the files as they were."""
    stored = dict(about["settings"])
    stored["views"] = tuple(View(**view) for view in stored["views"])
    if set(stored) != {entry.name for entry in fields(Settings)}:
        raise InputError("its settings are others")
    settings = Settings(**stored)
    classes = tuple(map(str, _distinct(about["classes"], "classes")))
    members = tuple(
        _member(entry, arrays[f"weights{place}"], arrays[f"bias{place}"], arrays.get(f"idf{place}"), len(classes))
        for place, entry in enumerate(about["members"])
    )
    if not members or any(member.view not in settings.views for member in members):
        raise InputError("its regressions are not those of its settings")
    temperature = float(about["temperature"])
    threshold = math.inf if about["threshold"] is None else float(about["threshold"])
    if not (math.isfinite(temperature) and temperature > 0) or math.isnan(threshold):
        raise InputError("temperature or threshold is no usable number")
    return HybridClassifier(
        scheme=str(about["scheme"]),
        settings=settings,
        classes=classes,
        temperature=temperature,
        threshold=threshold,
        trained_on=dict(about["trained_on"]),
        digest=str(about["digest"]),
        members=members,
    )


def _distinct(values: Any, what: str) -> list[str]:
    if not isinstance(values, list) or len(set(values)) != len(values):
        raise InputError(f"{what}: not a list of different names")
    return values


def _member(
    entry: Mapping[str, Any], weights: NDArray[Any], bias: NDArray[Any], idf: NDArray[Any] | None, classes: int
) -> Linear:
    view = View(**entry["view"])
    vectorizer = None
    if (entry["terms"] is None) != (view.kind == "vector"):
        raise InputError("terms where there are vectors, or none where there are texts")
    if entry["terms"] is not None:
        if idf is None or not np.isfinite(idf.astype(np.float64)).all():
            raise InputError("weights of terms are missing or no numbers")
        terms = tuple(map(str, _distinct(entry["terms"]["terms"], "terms")))
        vectorizer = Vectorizer(Terms(str(entry["terms"]["analyzer"]), terms, idf.astype(np.float64)))
        if weights.shape[1:] != (len(terms),):
            raise InputError("weights and terms differ in number")
    if weights.ndim != 2 or len(weights) != classes or bias.shape != (classes,):
        raise InputError("weights and classes differ in number")
    found = weights.astype(np.float64), bias.astype(np.float64)
    if not all(np.isfinite(numbers).all() for numbers in found):
        raise InputError("weights hold values that are no numbers")
    return Linear(view, vectorizer, *found)
