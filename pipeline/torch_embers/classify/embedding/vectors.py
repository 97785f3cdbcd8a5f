"""The vectors of the items, kept in the store: a run embeds only texts that it has not seen.

Texts are read, cleaned, embedded and committed in small batches, so that memory stays bounded and a kill loses one
batch. What is kept is keyed by the text, not by the item: equal texts are embedded once, and an edit that the cleaning
removes costs nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from torch_embers import resources
from torch_embers.classify.cleaning import rules
from torch_embers.classify.text import RULES_VERSION, VARIANTS, Variant, model_text
from torch_embers.errors import InputError
from torch_embers.store import rows as table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    import duckdb
    import numpy.typing as npt

    from torch_embers.classify.embedding.embedder import Embedder, Vectors
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

VARIANT: Variant = "title_body"
BATCH = 1_024
"""Items of one commit: some seconds of embedding, which is all that a kill can lose."""
FIXED_DIM = 384
"""Vectors of this length have a column of fixed size, which search reads four times as fast."""
PROBE = "wrong gradient"
"""Where a whole batch has no finite vector, this tells a damaged model from texts that it cannot read."""
LOOKUP = 4_096
"""Hashes of one query."""


@dataclass(frozen=True, slots=True)
class ItemText:
    """An item and the text that a model reads for it."""

    repo: str
    number: int
    text: str
    text_hash: str
    """Key of the vector; empty where there is no text to embed."""
    content_hash: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """What ``embed_items`` did."""

    items: int
    """Items that were new or changed, for this model and these cleaning rules."""
    embedded: int
    """Texts that went through the model; the others had a vector, or no text."""
    refused: int
    """Texts for which the model gave no finite vector."""


def text_hash(text: str) -> str:
    """Key of a text's vectors; empty for a text without a letter or digit, of which nothing can be said."""
    if not any(map(str.isalnum, text)):
        return ""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def rules_hash() -> str:
    """Identifies the cleaning: changes with its patterns and with ``RULES_VERSION``."""
    digest = hashlib.blake2b(resources.data_file(rules.FILE).read_bytes(), digest_size=8)
    digest.update(str(RULES_VERSION).encode())
    return digest.hexdigest()


def vector_column(dim: int) -> str:
    """SQL expression of the vectors of ``dim`` dimensions in table ``embeddings``."""
    return "vector" if dim == FIXED_DIM else f"wide::FLOAT[{int(dim)}]"


def has_tables(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the database was ever written by a release that embeds."""
    return bool(connection.execute("FROM duckdb_tables() WHERE table_name = 'embeddings'").fetchall())


# ---- texts ---------------------------------------------------------------------------------------------------------

_ITEMS = "SELECT rowid AS place, repo, number, coalesce(content_hash, '') AS content_hash FROM items"
_SOURCES = {
    "title": _ITEMS,
    "title_body": _ITEMS,
    "thread": """
        SELECT i.rowid AS place, i.repo, i.number,
               md5(coalesce(i.content_hash, '') || coalesce(c.said, '')) AS content_hash
        FROM items i LEFT JOIN (
            SELECT repo, number, string_agg(md5(coalesce(body, '')), '' ORDER BY created_at, comment_id) AS said
            FROM comments GROUP BY ALL
        ) c ON c.repo = i.repo AND c.number = i.number""",
}
"""Items of each variant with the hash of everything its text is made from."""

_PENDING = """
    SELECT s.place, s.content_hash FROM ({source}) s
    LEFT JOIN model_texts t
      ON t.repo = s.repo AND t.number = s.number AND t.variant = $variant AND t.rules = $rules
     AND t.content_hash = s.content_hash
    LEFT JOIN (SELECT text_hash FROM embeddings WHERE model = $model) e ON e.text_hash = t.text_hash
    WHERE (t.text_hash IS NULL OR (t.text_hash <> '' AND e.text_hash IS NULL))
    ORDER BY s.place"""

_ALL = "SELECT s.place, s.content_hash, s.repo, s.number FROM ({source}) s ORDER BY s.place"

_TEXTS = """
    SELECT rowid AS place, repo, number, title, body FROM items
    WHERE rowid BETWEEN $first AND $last AND rowid IN (SELECT unnest($places)) ORDER BY place"""

_COMMENTS = """
    SELECT i.rowid AS place, list(c.body ORDER BY c.created_at, c.comment_id) FROM comments c
    JOIN items i ON i.repo = c.repo AND i.number = c.number
    WHERE i.rowid IN (SELECT unnest($places)) AND c.body IS NOT NULL GROUP BY ALL"""


def text_batches(store: Store, variant: Variant, only: Container[tuple[str, int]]) -> Iterator[list[ItemText]]:
    """The model texts of items by repository and number, ``BATCH`` at a time.

    Hold the writer's lock around it: it remembers places in the table between its reads.

    Raises:
        InputError: an unknown variant.
    """
    found = _places(store, _ALL, variant, {})
    yield from _texts(store, [(place, key) for place, key, *item in found if tuple(item) in only], variant)


def _places(store: Store, query: str, variant: Variant, parameters: dict[str, str]) -> list[tuple[Any, ...]]:
    if variant not in VARIANTS:
        raise InputError(f"text variant {variant!r}: one of {', '.join(VARIANTS)}")
    with store.read() as connection:
        return connection.execute(query.format(source=_SOURCES[variant]), parameters).fetchall()


def _texts(store: Store, places: list[tuple[int, str]], variant: Variant) -> Iterator[list[ItemText]]:
    for start in range(0, len(places), BATCH):
        hashes = dict(places[start : start + BATCH])
        wanted = {"places": list(hashes)}
        said: dict[int, list[str]] = {}
        with store.read() as connection:
            bounds = {"first": min(hashes), "last": max(hashes)}
            rows = connection.execute(_TEXTS, wanted | bounds).fetchall()
            if variant == "thread":
                said = dict(connection.execute(_COMMENTS, wanted).fetchall())
        yield [
            ItemText(repo, number, text, text_hash(text), hashes[place])
            for place, repo, number, title, body in rows
            for text in (model_text(title or "", body, said.get(place, ()), variant),)
        ]


# ---- vectors -------------------------------------------------------------------------------------------------------


def embed_items(
    store: Store,
    writer: Writer,
    embedder: Embedder,
    *,
    variant: Variant = VARIANT,
    progress: Callable[[int], None] | None = None,
    expects: Callable[[int], None] | None = None,
) -> Embedded:
    """Embed every item whose text has no vector of this model, batch by batch.

    ``expects`` is called once with the number of items to do, ``progress`` with the number just committed. It can be
    stopped at any time: the next call goes on with what is missing.

    Raises:
        InputError: an unknown variant, or a model that gives no finite vector at all.
    """
    hashed = rules_hash()
    parameters = {"variant": variant, "rules": hashed, "model": embedder.model_id}
    places = _places(store, _PENDING, variant, parameters)
    if expects is not None:
        expects(len(places))
    embedded = refused = 0
    for batch in _texts(store, places, variant):
        fresh = _missing(store, embedder, {item.text_hash: item.text for item in batch if item.text_hash})
        vectors = embedder.encode(list(fresh.values()))
        good = _finite(vectors)
        if good.size and not good.any() and not _finite(embedder.encode([PROBE])).all():
            raise InputError(f"{embedder.model_id} gives no finite vector: its weights are damaged, install it again")
        with writer.transaction() as connection:
            _keep_vectors(connection, embedder, np.array(list(fresh))[good].tolist(), vectors[good])
            same = {"variant": variant, "rules": hashed}
            texts = [
                same | {name: getattr(item, name) for name in ("repo", "number", "content_hash", "text_hash")}
                for item in batch
            ]
            table_rows.replace(connection, "model_texts", ("repo", "number", "variant"), texts)
        embedded += int(good.sum())
        refused += int((~good).sum())
        if progress is not None:
            progress(len(batch))
    return Embedded(len(places), embedded, refused)


def stored_vectors(store: Store, model: str, dim: int, hashes: Sequence[str]) -> Vectors:
    """Vectors by text hash, float32 [n, dim]; a row of NaN where there is none."""
    made = np.full((len(hashes), dim), np.nan, np.float32)
    query = (
        f"SELECT w.place, {vector_column(dim)} AS vector FROM embeddings "
        "JOIN (SELECT unnest($places) AS place, unnest($hashes) AS text_hash) w USING (text_hash) WHERE model = $model"
    )
    with store.read() as connection:
        for start in range(0, len(hashes), LOOKUP):
            part = list(hashes[start : start + LOOKUP])
            wanted = {"model": model, "hashes": part, "places": list(range(start, start + len(part)))}
            for place, vector in zip(*connection.execute(query, wanted).fetchnumpy().values(), strict=True):
                made[place] = vector
    return made


def _finite(vectors: Vectors) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isfinite(vectors).all(axis=1))


def _missing(store: Store, embedder: Embedder, texts: dict[str, str]) -> dict[str, str]:
    """Those of the texts, by hash, that have no vector yet."""
    with store.read() as connection:
        known = connection.execute(
            "SELECT text_hash FROM embeddings WHERE model = $model AND text_hash IN (SELECT unnest($hashes))",
            {"model": embedder.model_id, "hashes": list(texts)},
        ).fetchall()
    done = {key for (key,) in known}
    return {key: text for key, text in texts.items() if key not in done}


def _keep_vectors(
    connection: duckdb.DuckDBPyConnection, embedder: Embedder, hashes: list[str], vectors: Vectors
) -> None:
    if not hashes:
        return
    flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
    made = pa.FixedSizeListArray.from_arrays(flat, embedder.dim)
    column = "vector" if embedder.dim == FIXED_DIM else "wide"
    connection.register("stage", pa.table({"text_hash": pa.array(hashes, pa.string()), "made": made}))
    connection.execute(
        f"INSERT INTO embeddings (text_hash, model, {column}) SELECT text_hash, $model, made FROM stage",
        {"model": embedder.model_id},
    )
    connection.unregister("stage")
