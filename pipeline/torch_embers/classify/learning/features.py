"""The table that classifiers read, and the scikit-learn transformer that turns it into numbers.

The table is a data frame with a row per item: columns of text (``text``, or several such as ``title`` and ``body``),
``votes`` with the names of the labelling functions that voted, separated by blanks, and the numbers of embeddings as
``text:0``, ``text:1`` and so on. One fitted transformer serves all questions: each text is read once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


TEXT, VOTES = "text", "votes"
LATIN, LETTER = re.compile(r"[A-Za-z\u00C0-\u024F]"), re.compile(r"[^\W\d_]")

ANALYZERS: Mapping[str, Mapping[str, Any]] = {
    # Words and pairs of words, with the dots and underscores of code inside them: `torch.cumsum`, `channels_last`.
    "word": {"analyzer": "word", "token_pattern": r"(?u)\b\w[\w.]*\w\b", "ngram_range": (1, 2)},
    # Pieces of words: `noncontiguous`, `non-contiguous` and `is_contiguous` share most of theirs.
    "char": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    # Whole lines: the questions and ticked boxes of a project's form say what kind of report it is.
    "line": {"analyzer": "word", "token_pattern": r"(?m)^[ \t]*(\S[^\n]{0,79})", "ngram_range": (1, 1)},
}


@dataclass(frozen=True)
class View:
    """One way of looking at an item: ``kind`` word, char or line (of a text column) or vector (of an embedding)."""

    kind: str
    of: str = TEXT

    @property
    def name(self) -> str:
        """Name in messages and of the part of the transformer."""
        return f"{self.kind}:{self.of}"


class Terms(TfidfVectorizer):  # type: ignore[misc]  # scikit-learn has no types
    """A ``TfidfVectorizer`` that is kept with its terms as one text.

    skops keeps each place of a vocabulary as an object of its own: 60,000 of them took most of the time of loading.
    """

    def __getstate__(self) -> dict[str, Any]:
        """What is kept."""
        state: dict[str, Any] = dict(super().__getstate__())
        if (places := state.get("vocabulary_")) is not None:
            state["vocabulary_"] = json.dumps(sorted(places, key=places.__getitem__), ensure_ascii=False)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take up what was kept.

        Raises:
            ValueError: the terms are damaged.
        """
        super().__setstate__(state)
        if (kept := state.get("vocabulary_")) is not None:
            terms = json.loads(kept)
            whole = (
                isinstance(terms, list) and len(terms) == self.idf_.size and all(isinstance(one, str) for one in terms)
            )
            if not whole or len(set(terms)) < len(terms):
                raise ValueError("the terms do not fit their weights")
            self.vocabulary_ = {term: place for place, term in enumerate(terms)}


def table(
    texts: Sequence[str] | Mapping[str, Sequence[str]],
    vectors: NDArray[np.float32] | Mapping[str, NDArray[np.float32]] | None = None,
    votes: Iterable[Iterable[str]] | None = None,
) -> pd.DataFrame:
    """Put items into a table.

    Args:
        texts: a text per item, or several such columns by name.
        vectors: float32 [items, dimensions] of the column ``text``, or several such matrices by name.
        votes: names of the functions that voted on each item.

    Raises:
        InputError: texts, vectors and votes differ in number, or vectors are no matrix.
    """
    columns = {name: list(found) for name, found in (texts if isinstance(texts, Mapping) else {TEXT: texts}).items()}
    planes = {} if vectors is None else vectors if isinstance(vectors, Mapping) else {TEXT: vectors}
    if votes is not None:
        columns[VOTES] = [" ".join(names) for names in votes]
    lengths = {*map(len, columns.values()), *map(len, planes.values())}
    if len(lengths) > 1:
        raise InputError(f"texts, vectors and votes differ in number: {', '.join(map(str, sorted(lengths)))}")
    if flat := [name for name, plane in planes.items() if np.ndim(plane) != 2]:
        raise InputError(f"vectors must be a matrix, one row per text: {', '.join(flat)}")
    frames = [pd.DataFrame(columns, dtype=object)] if columns else []
    for name, plane in planes.items():
        frames.append(pd.DataFrame(np.asarray(plane, np.float32), columns=vector_columns(name, np.shape(plane)[1])))
    return pd.concat(frames, axis=1)


def vector_columns(name: str, size: int) -> list[str]:
    """Names of the columns of an embedding."""
    return [f"{name}:{place}" for place in range(size)]


def legible(text: str) -> bool:
    """Whether there is text, and no other script has more letters in it than ours: nothing was learned in others."""
    return bool(text.strip()) and 2 * len(LATIN.findall(text)) >= len(LETTER.findall(text))


def readable(items: pd.DataFrame) -> NDArray[np.bool_]:
    """Bool [items]: there is some legible text, and no vector is broken. Of the others nothing can be said."""
    words = [name for name in items.columns if items[name].dtype == object and name != VOTES]
    said = np.zeros(len(items), dtype=bool) if words else np.ones(len(items), dtype=bool)
    for name in words:
        said |= items[name].map(legible).to_numpy(dtype=bool)
    numbers = items.select_dtypes(np.floating).to_numpy()
    return np.asarray(said & np.isfinite(numbers).all(axis=1))


def check_views(items: pd.DataFrame, views: Iterable[View]) -> None:
    """Check that the items have what the views look at, and that no view stands twice.

    Raises:
        InputError: a column is missing, or a view stands twice.
    """
    seen: set[str] = set()
    for view in views:
        if view.name in seen:
            raise InputError(f"the classifier looks at {view.name} twice: name each view once")
        seen.add(view.name)
        column = f"{view.of}:0" if view.kind == "vector" else view.of
        if column not in items.columns:
            raise InputError(f"the classifier looks at {view.name}, which the items do not have")


def fit_features(
    items: pd.DataFrame, views: Sequence[View], min_df: int, max_features: int, functions: Sequence[str] = ()
) -> ColumnTransformer:
    """Fit the transformer: TF-IDF of each text view, vectors as they are, one column per labelling function.

    Args:
        items: to learn terms from; see ``table``.
        views: what to look at; a text view without any term is left out.
        min_df: texts that a term must stand in.
        max_features: terms kept per view, the most frequent.
        functions: labelling functions whose votes are read.

    Raises:
        InputError: a view looks at a column that the items do not have, or stands twice.
    """
    check_views(items, views)
    parts: list[tuple[str, Any, Any]] = []
    for view in views:
        if view.kind == "vector":
            own = [name for name in items.columns if name.startswith(f"{view.of}:")]
            parts.append((view.name, "passthrough", own))
            continue
        counts = {"min_df": min(min_df, len(items)), "max_features": max_features, **ANALYZERS[view.kind]}
        made = Terms(sublinear_tf=True, dtype=np.float32, **counts)
        analyze = made.build_analyzer()
        if any(analyze(text) for text in items[view.of]):
            parts.append((view.name, made, view.of))
    if functions and VOTES in items.columns:
        options = {"binary": True, "lowercase": False, "token_pattern": r"\S+", "dtype": np.float32}
        parts.append((VOTES, CountVectorizer(vocabulary=list(functions), **options), VOTES))
    return ColumnTransformer(parts, sparse_threshold=1.0).fit(items)


def columns_of(features: ColumnTransformer) -> dict[str, slice]:
    """Columns of each view in what a fitted transformer makes."""
    places = features.output_indices_.items()
    return {name: own for name, own in places if own.stop > own.start}
