"""What `embers search --like` and `embers search` do: the order by meaning and the order by words become one.

And possible duplicates, by vectors that are stored already: no model is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch_embers import packages
from torch_embers.classify.embedding import nearest
from torch_embers.classify.text import model_text
from torch_embers.errors import InputError, StoreMissingError
from torch_embers.search.fusion import fuse, nearness
from torch_embers.search.rules import SearchRules
from torch_embers.search.words import Scored, by_words, query_words
from torch_embers.store.listing import ItemFilter, list_items, repository

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.store.store import Store


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that was found, and why."""

    repo: str
    number: int
    title: str
    cosine: float | None
    """Of the texts' vectors; None where the item has none, or a thousand others are nearer."""
    words: float | None
    """Score of the shared words (BM25); None where they share none, or a thousand others share more."""
    linked: float | None = None
    """Share of read pairs of this nearness that belong together (``PairRate``); None where the query was no item."""


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, best first."""

    hits: Sequence[Hit]
    note: str = ""
    """What could not be taken into account; empty where nothing was left out."""


WITHOUT_VECTORS = "found by words alone: this database has no vectors, `embers classify` adds them"
WITHOUT_MODEL = "found by words alone: search by meaning needs more: pip install 'torch-embers[classify]'"


def similar(store: Store, repo: str, number: int, k: int, wanted: ItemFilter | None = None) -> Found:
    """The ``k`` items of a repository that are nearest to an item of it; loads no model.

    Args:
        store: the database.
        repo: repository of the item.
        number: its number.
        k: how many, at most ``nearest.MOST``.
        wanted: only items that pass this.

    Raises:
        InputError: no such item, an item without text, an impossible ``k`` or filter.
        StoreMissingError: no database.
    """
    nearest.check_k(k)
    rules = SearchRules.load()
    among = _among(store, wanted)
    with store.read() as connection:
        text = _text(connection, repo, number)
        but = f"{repo}#{number}"
        words = query_words(text, rules.words.query_words)
        shared = by_words(connection, words, rules, repo=repo, among=among, but=but)
        variant = nearest.embedded_variant(connection)
    meant: Sequence[nearest.Hit] = []
    note = WITHOUT_VECTORS if variant is None else ""
    if variant is not None:
        try:
            meant = nearest.similar(store, repo, number, rules.fusion.depth, variant=variant, among=among)
        except nearest.NoVectorError as error:
            note = f"found by words alone: {error}"
    model = meant[0].model if meant else ""
    hits = _together(meant, shared, rules, k, (repo, number))
    return Found([replace(hit, linked=rules.share(hit.cosine, model)) for hit in hits], note)


def search(
    store: Store, text: str, k: int, wanted: ItemFilter | None = None, *, embedder: Embedder | None = None
) -> Found:
    """The ``k`` items that are nearest to some words; by words alone where there are no vectors, or no model.

    Args:
        store: the database.
        text: the words.
        k: how many, at most ``nearest.MOST``.
        wanted: only items that pass this.
        embedder: the model that reads the words; without one, that of the stored vectors, or of the settings.

    Raises:
        InputError: no words, an impossible ``k`` or filter, or a model other than that of the stored vectors.
        StoreMissingError: no database.
    """
    nearest.check_k(k)
    if not text.strip():
        raise InputError("nothing to search for: give some words")
    rules = SearchRules.load()
    among = _among(store, wanted)
    with store.read() as connection:
        inside = repository(connection, wanted.repo) if wanted and wanted.repo else ""
        shared = by_words(connection, query_words(text, rules.words.query_words), rules, repo=inside, among=among)
        variant = nearest.embedded_variant(connection)
    if variant is None:
        return Found(_together([], shared, rules, k), WITHOUT_VECTORS)
    if embedder is None:
        if not packages.installed("classify"):
            return Found(_together([], shared, rules, k), WITHOUT_MODEL)
        from torch_embers.classify.embedding import embed  # its packages are of an extra

        embedder = embed.load_embedder()
    meant = nearest.search(
        store, text, rules.fusion.depth, embedder=embedder, repo=inside, variant=variant, among=among
    )
    return Found(_together(meant, shared, rules, k))


def possible_duplicates(store: Store, repo: str, number: int, k: int = 5) -> list[Hit]:
    """The items that a triager would probably link to an item, nearest first; none where it has no vector.

    Raises:
        StoreMissingError: no database.
    """
    rules = SearchRules.load()
    store.require()
    with store.read() as connection:
        variant = nearest.embedded_variant(connection)
    if variant is None:
        return []
    try:
        meant = nearest.similar(store, repo, number, k, variant=variant)
    except InputError:  # no vector, no text, or no such item: nothing to compare
        return []
    rated = [(hit, rules.share(hit.score, hit.model)) for hit in meant]
    return [
        Hit(hit.repo, hit.number, hit.title, hit.score, None, share)
        for hit, share in rated
        if share is not None and share >= rules.duplicates.shown_from
    ]


def _together(
    meant: Sequence[nearest.Hit],
    shared: Sequence[Scored],
    rules: SearchRules,
    k: int,
    own: tuple[str, int] | None = None,
) -> list[Hit]:
    """The first ``k`` of both orders together, those near to ``own`` before others where an item is asked about."""
    cosines = {(hit.repo, hit.number): hit for hit in meant}
    scores = {(hit.repo, hit.number): hit for hit in shared}
    orders, constant = [list(cosines), list(scores)], rules.fusion.constant
    order = fuse(orders, constant, nearness(own, rules.nearness)) if own else fuse(orders, constant)
    return [
        Hit(
            *key,
            title=(cosines.get(key) or scores[key]).title,
            cosine=cosines[key].score if key in cosines else None,
            words=scores[key].score if key in scores else None,
        )
        for key in order[:k]
    ]


def _among(store: Store, wanted: ItemFilter | None) -> list[str] | None:
    """The items that pass a filter as owner/name#number; None where every item does."""
    if not store.exists():
        raise StoreMissingError(f"no database at {store.path}: run `embers mine` first")
    if wanted is None or wanted == ItemFilter(repo=wanted.repo):
        return None
    return [f"{row['repo']}#{row['number']}" for row in list_items(store, wanted, columns=("repo", "number"))]


def _text(connection: duckdb.DuckDBPyConnection, repo: str, number: int) -> str:
    """Title and cleaned body of an item.

    Raises:
        InputError: there is no such item, or it has no text.
    """
    found = connection.execute(
        "SELECT coalesce(title, ''), body FROM items WHERE repo = ? AND number = ?", [repo, number]
    ).fetchall()
    if not found:
        raise InputError(f"{repo}#{number} is not in the database: `embers mine --repo {repo}` brings it")
    [(title, body)] = found
    text = model_text(title, body)
    if not any(map(str.isalnum, text)):
        raise InputError(f"{repo}#{number} has no text to compare, or nothing but pictures")
    return text
