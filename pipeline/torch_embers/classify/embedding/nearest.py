"""Nearest by meaning: the items next to an item or to a text, by DuckDB's array functions over stored vectors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers import settings
from torch_embers.classify.embedding.vectors import VARIANT, has_tables, vector_column
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.text import Variant
    from torch_embers.store.store import Store

MOST = 1_000
"""Most hits of one search."""
NEARLY_ALL = 0.9
"""Share of the fullest model's vectors from which on another one is complete: texts change, and old vectors stay."""
EMBED_FIRST = "run `embers classify` first"


class NoVectorError(InputError):
    """An item is there, but has no vector."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that was found."""

    repo: str
    number: int
    title: str
    score: float
    """Cosine: 1 for the same direction, about 0 for unrelated texts."""
    model: str
    """Id of the model that made the vectors."""


# Which items are nearest to a given vector? Vectors have length one, so the inner product is the cosine. The scores are
# made before the joins: joining rows that carry vectors would not fit into the store's memory limit.
_NEAREST = """
    WITH scored AS (
        SELECT text_hash, array_inner_product({column}, $vector::FLOAT[{dim}]) AS score
        FROM embeddings WHERE model = $model
    )
    SELECT i.repo, i.number, coalesce(i.title, ''), s.score FROM scored s
    JOIN model_texts t ON t.text_hash = s.text_hash AND t.variant = $variant
    JOIN items i ON i.repo = t.repo AND i.number = t.number
    WHERE $repo IN ('', i.repo) AND NOT (i.repo = $but_repo AND i.number = $but_number)
      AND ($everything OR i.repo || '#' || i.number IN (SELECT unnest($among)))
    ORDER BY s.score DESC, i.repo, i.number LIMIT $k"""

# Which models made vectors, which first? That of the setting, unless its vectors are far
# from complete; then that with most vectors.
_MODELS = f"""
    SELECT model, row_number() OVER (
        ORDER BY starts_with(model, $preferred || '@') AND size >= {NEARLY_ALL} * fullest DESC, size DESC, model
    ) AS place
    FROM (SELECT model, count(*) AS size, max(count(*)) OVER () AS fullest FROM embeddings GROUP BY model)"""

# Which vectors does an item have?
_OWN = f"""
    SELECT e.model, coalesce(e.vector::FLOAT[], e.wide) FROM embeddings e JOIN ({_MODELS}) m USING (model)
    WHERE e.text_hash IN (
        SELECT text_hash FROM model_texts WHERE repo = $repo AND number = $number AND variant = $variant)
    ORDER BY m.place"""


def similar(
    store: Store,
    repo: str,
    number: int,
    k: int = 10,
    *,
    model: str | None = None,
    variant: Variant = VARIANT,
    among: Sequence[str] | None = None,
) -> list[Hit]:
    """The ``k`` items of ``repo`` that are nearest to an item of it, best first; loads no model.

    Args:
        store: the database.
        repo: repository of the item.
        number: its number.
        k: how many.
        model: a model id; without one, the setting's where it embedded nearly all, else that which embedded most.
        variant: text that was embedded.
        among: only these, as owner/name#number.

    Raises:
        NoVectorError: the item has no vector.
        InputError: no such item, an item without text, or an impossible ``k``.
    """
    check_k(k)
    own = {"repo": repo, "number": number, "variant": variant, "preferred": _preferred()}
    with store.read() as connection:
        _check_tables(connection)
        vectors = dict(connection.execute(_OWN, own).fetchall())
        chosen = model if model is not None else next(iter(vectors), None)
        if chosen is None or chosen not in vectors:
            raise _without_vector(connection, repo, number, variant)
        return _nearest(connection, chosen, list(vectors[chosen]), k, variant, repo, among, but=(repo, number))


def search(
    store: Store,
    text: str,
    k: int = 10,
    *,
    embedder: Embedder,
    repo: str | None = None,
    variant: Variant = VARIANT,
    among: Sequence[str] | None = None,
) -> list[Hit]:
    """The ``k`` items (of ``repo``, of ``among`` as owner/name#number) whose text is nearest in meaning to ``text``.

    Raises:
        InputError: an empty text, no vectors of this model, an impossible ``k``, or a model that cannot be loaded.
    """
    check_k(k)
    if not text.strip():
        raise InputError("nothing to search for: give some words")
    with store.read() as connection:
        _check_tables(connection)
    vector = embedder.encode([text])[0]
    if not np.isfinite(vector).all():
        raise InputError(f"{embedder.model_id} gives no finite vector: its weights are damaged, install it again")
    with store.read() as connection:
        if not connection.execute(
            "SELECT 1 FROM embeddings WHERE model = $m LIMIT 1", {"m": embedder.model_id}
        ).fetchall():
            raise InputError(f"no vectors of {embedder.model_id} in {store.path}: {EMBED_FIRST}")
        return _nearest(connection, embedder.model_id, vector.tolist(), k, variant, repo or "", among)


def _nearest(
    connection: duckdb.DuckDBPyConnection,
    model: str,
    vector: list[float],
    k: int,
    variant: str,
    repo: str,
    among: Sequence[str] | None,
    but: tuple[str, int] = ("", 0),
) -> list[Hit]:
    query = _NEAREST.format(column=vector_column(len(vector)), dim=len(vector))
    parameters: dict[str, Any] = {"vector": vector, "model": model, "variant": variant, "repo": repo, "k": k}
    parameters |= {"everything": among is None, "among": list(among or ())}
    rows = connection.execute(query, parameters | {"but_repo": but[0], "but_number": but[1]}).fetchall()
    return [Hit(found, number, title, score, model) for found, number, title, score in rows]


def embedded_variant(connection: duckdb.DuckDBPyConnection) -> Variant | None:
    """The text that was embedded of items, titles before others; None where nothing was embedded."""
    if not has_tables(connection):
        return None
    rows = connection.execute(
        "SELECT variant FROM model_texts WHERE text_hash <> '' GROUP BY variant "
        "ORDER BY variant = 'title' DESC, count(*) DESC LIMIT 1"
    ).fetchall()
    return rows[0][0] if rows else None


def _preferred() -> str:
    """How ids of the setting's model begin."""
    return Path(settings.load().embedder).name


def check_k(k: int) -> None:
    """Refuse an impossible number of hits.

    Raises:
        InputError: it is not between 1 and ``MOST``.
    """
    if not 1 <= k <= MOST:
        raise InputError(f"number of hits {k}: between 1 and {MOST}")


def _check_tables(connection: duckdb.DuckDBPyConnection) -> None:
    if not has_tables(connection):
        raise InputError(f"this database has no vectors: {EMBED_FIRST}")


def _without_vector(connection: duckdb.DuckDBPyConnection, repo: str, number: int, variant: str) -> InputError:
    query = """
        SELECT trim(coalesce(i.title, '') || coalesce(i.body, '')) = '', t.text_hash FROM items i
        LEFT JOIN model_texts t ON t.repo = i.repo AND t.number = i.number AND t.variant = $variant
        WHERE i.repo = $repo AND i.number = $number"""
    found = connection.execute(query, {"repo": repo, "number": number, "variant": variant}).fetchall()
    if not found:
        return InputError(f"{repo}#{number} is not in the database: `embers mine --repo {repo}` brings it")
    [(empty, key)] = found[:1]
    if empty or key == "":
        return InputError(f"{repo}#{number} has no text to compare, or nothing but pictures")
    return NoVectorError(f"{repo}#{number} has no vector: {EMBED_FIRST}")
