"""The vectors of the items, kept in the store: a run embeds only texts that it has not seen.

Texts are read, cleaned, embedded and committed in small batches, so that memory stays bounded and a kill loses one
batch. What is kept is keyed by the text, not by the item: equal texts are embedded once, and an edit that the cleaning
removes costs nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from torch_embers import resources
from torch_embers.classify.cleaning import rules
from torch_embers.classify.text import RULES_VERSION, Variant, read
from torch_embers.errors import InputError
from torch_embers.store import rows as table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import duckdb
    import numpy.typing as npt

    from torch_embers.classify.embedding.embedder import Embedder, Vectors
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

VARIANT: Variant = "title"
"""The text that search compares."""
BATCH = 1_024
"""Items of one commit: some seconds of embedding, which is all that a kill can lose."""
FIXED_DIM = 384
"""Vectors of this length have a column of fixed size, which search reads four times as fast."""
PROBE = "wrong gradient"
"""Where a whole batch has no finite vector, this tells a damaged model from texts that it cannot read."""
LOOKUP = 4_096
"""Hashes of one query."""


@dataclass(frozen=True, slots=True)
class StoredText:
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

_PENDING = """
    SELECT s.rowid, coalesce(s.content_hash, '') FROM items s
    LEFT JOIN model_texts t
      ON t.repo = s.repo AND t.number = s.number AND t.variant = $variant AND t.rules = $rules
     AND t.content_hash = coalesce(s.content_hash, '')
    LEFT JOIN (SELECT text_hash FROM embeddings WHERE model = $model) e ON e.text_hash = t.text_hash
    WHERE (t.text_hash IS NULL OR (t.text_hash <> '' AND e.text_hash IS NULL))
    ORDER BY s.rowid"""

_TEXTS = """
    SELECT rowid AS place, repo, number, title, body FROM items
    WHERE rowid BETWEEN $first AND $last AND rowid IN (SELECT unnest($places)) ORDER BY place"""


def texts_of(store: Store, places: Sequence[tuple[int, str]], variant: Variant) -> Iterator[list[StoredText]]:
    """The texts of items by their place in the table with their content hash, ``BATCH`` at a time.

    Hold the writer's lock around it: places must stay between reads.
    """
    for start in range(0, len(places), BATCH):
        hashes = dict(places[start : start + BATCH])
        wanted = {"places": list(hashes), "first": min(hashes), "last": max(hashes)}
        with store.read() as connection:
            rows = connection.execute(_TEXTS, wanted).fetchall()
        yield [
            StoredText(repo, number, text, text_hash(text), hashes[place])
            for place, repo, number, title, body in rows
            for text in (text_of(title or "", body, variant),)
        ]


def text_of(title: str, body: str | None, variant: Variant) -> str:
    """What is embedded of an item."""
    return read(title, body if variant == "text" else None).words


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
        InputError: a model that gives no finite vector at all.
    """
    hashed = rules_hash()
    parameters = {"variant": variant, "rules": hashed, "model": embedder.model_id}
    with store.read() as connection:
        places = connection.execute(_PENDING, parameters).fetchall()
    if expects is not None:
        expects(len(places))
    embedded = refused = 0
    for batch in texts_of(store, places, variant):
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
