"""The vectors of the items: only what changed is embedded, a kill loses one batch, and the nearest items are found."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from helpers.search import NOON, REPO, Words, embedded, item, store_of
from support import rows
from torch_embers.classify.embedding import nearest, vectors
from torch_embers.errors import InputError
from torch_embers.store import schema
from torch_embers.store.records import Comment
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def library(database: Path) -> Store:
    titles = ["strided input wrong gradient", "wrong gradient for strided view", "loader hangs", "loader hangs forever"]
    store = store_of(database, [*(item(n, t) for n, t in enumerate(titles, 1)), item(1, "loader hangs", repo="x/y")])
    embedded(store, Words())
    return store


def test_a_database_of_the_first_schema_gets_the_tables_and_keeps_its_items(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", dict)
        store = Store(database)
        with store.writer("test", create=True) as writer, writer.transaction() as connection:
            connection.execute("INSERT INTO items (repo, number, title) VALUES (?, 1, 'kept')", [REPO])
    with pytest.raises(InputError, match="embers classify"):
        nearest.similar(store, REPO, 1)
    assert embedded(store, Words()).embedded == 1
    assert rows(database, "SELECT title FROM items") == [("kept",)]


# ---- only what changed ------------------------------------------------------------------------------------------


def test_only_a_changed_text_is_embedded_again(database: Path) -> None:
    store = store_of(database, [item(n, f"wrong gradient {n}") for n in range(1, 8)])
    assert embedded(store, Words()).embedded == 7
    assert embedded(store, Words()) == vectors.Embedded(0, 0, 0)
    store_of(database, [item(3, "hang in loader", updated="2024-02-01T00:00:00Z"), item(8, "new")])
    again = Words()
    assert embedded(store, again).items == 2
    assert sorted(again.seen) == ["hang in loader", "new"]
    assert rows(database, "SELECT count(*), count(DISTINCT number) FROM model_texts") == [(8, 8)]


def test_another_model_keeps_vectors_of_its_own(database: Path) -> None:
    store = store_of(database, [item(1, "wrong gradient"), item(2, "wrong gradients")])
    embedded(store, Words())
    assert embedded(store, Words(16, "small")).embedded == 2
    found = rows(
        database, "SELECT model, count(vector), count(wide), max(len(wide)) FROM embeddings GROUP BY 1 ORDER BY 1"
    )
    assert found == [("small", 0, 2, 16), ("words", 2, 0, None)]
    assert [h.number for h in nearest.similar(store, REPO, 1, model="small")] == [2]
    assert nearest.search(store, "gradients", embedder=Words(16, "small"))[0].number == 2


def test_new_cleaning_rules_read_every_text_again_but_embed_only_what_they_change(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(database, [item(n, f"wrong gradient {n}") for n in range(1, 5)])
    embedded(store, Words())
    monkeypatch.setattr(vectors, "rules_hash", lambda: "newer")
    again = Words()
    assert embedded(store, again).items == 4
    assert again.seen == []


def test_a_thread_is_embedded_again_when_a_comment_comes(database: Path) -> None:
    first = Comment(REPO, 1, "c1", body="seen on the gpu too", created_at=NOON)
    store = store_of(database, [item(1, "wrong gradient", "body"), item(2, "other")], [first])
    words = Words()
    embedded(store, words, "thread")
    assert any("gpu" in text for text in words.seen)
    store_of(database, [], [Comment(REPO, 1, "c2", body="fixed by an upgrade", created_at="2024-01-02T00:00:00Z")])
    again = Words()
    assert embedded(store, again, "thread").items == 1
    assert "upgrade" in again.seen[0]


def test_items_without_text_get_no_vector_and_are_not_tried_again(database: Path) -> None:
    store = store_of(database, [item(1, None), item(2, "", ""), item(3, "x y")])
    assert embedded(store, Words()).embedded == 1
    assert embedded(store, Words()).items == 0
    with pytest.raises(InputError, match="has no text"):
        nearest.similar(store, REPO, 2)


# ---- vectors that are no numbers --------------------------------------------------------------------------------


def test_a_vector_of_nan_is_never_stored(database: Path) -> None:
    store = store_of(database, [item(1, "loss becomes nan"), item(2, "fine words"), item(3, "fine words here")])
    assert embedded(store, Words()).refused == 1
    assert rows(database, "SELECT count(*) FROM embeddings") == [(2,)]
    assert [h.number for h in nearest.similar(store, REPO, 2)] == [3]
    with pytest.raises(InputError, match="embers classify"):
        nearest.similar(store, REPO, 1)
    with pytest.raises(InputError, match="no finite vector"):
        nearest.search(store, "nan", embedder=Words())


def test_a_model_that_gives_only_nan_is_called_damaged(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(database, [item(1, "nan"), item(2, "nan nan")])
    assert embedded(store, Words()).refused == 2
    assert embedded(store, Words()).refused == 2
    monkeypatch.setattr(vectors, "PROBE", "nan")
    with pytest.raises(InputError, match="damaged"):
        embedded(store, Words())


# ---- interruption -----------------------------------------------------------------------------------------------


KILLED = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from helpers.search import Words
from torch_embers.classify.embedding import vectors
from torch_embers.store.store import Store
class Dies(Words):
    def _encode(self, texts):
        if len(self.seen) >= 8:
            os.kill(os.getpid(), 9)
        return super()._encode(texts)
vectors.BATCH = 4
store = Store(Path(sys.argv[1]))
with store.writer("test", create=True) as writer:
    vectors.embed_items(store, writer, Dies())
"""


def test_a_killed_run_is_resumed_without_loss_or_repeat(database: Path, request: pytest.FixtureRequest) -> None:
    store = store_of(database, [item(n, f"wrong gradient {n}") for n in range(1, 15)])
    died = subprocess.run([sys.executable, "-c", KILLED, str(database), str(request.path.parent.parent)])
    assert died.returncode == -9
    rest = Words()
    embedded(store, rest)
    assert len(rest.seen) == 6
    assert rows(database, "SELECT count(*), count(DISTINCT text_hash) FROM embeddings") == [(14, 14)]


# ---- any texts --------------------------------------------------------------------------------------------------


def test_batches_give_every_wanted_item_its_text(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BATCH", 3)
    others = [item(n, f"other {n}", repo="x/y") for n in range(3)]
    store = store_of(database, [*others, *(item(n, f"title {n}", "words") for n in range(1, 8))])
    found = list(vectors.text_batches(store, "title_body", {(REPO, number) for number in range(1, 8)}))
    assert [len(batch) for batch in found] == [3, 3, 1]
    assert [one.number for batch in found for one in batch] == [1, 2, 3, 4, 5, 6, 7]
    assert all(str(one.number) in one.text and one.text_hash for batch in found for one in batch)
    some = list(vectors.text_batches(store, "title_body", {(REPO, 2), (REPO, 7), ("x/y", 2), ("x/y", 99)}))
    assert [(one.repo, one.number) for batch in some for one in batch] == [("x/y", 2), (REPO, 2), (REPO, 7)]


def test_search_finds_by_words_in_all_repositories_or_one(library: Store) -> None:
    found = nearest.search(library, "loader hangs", 2, embedder=Words())
    assert [(h.repo, h.number) for h in found] == [(REPO, 3), ("x/y", 1)]
    assert found[0].score == pytest.approx(1, abs=1e-5)
    assert {h.repo for h in nearest.search(library, "loader", embedder=Words(), repo="x/y")} == {"x/y"}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda s: nearest.similar(s, REPO, 1, model="other"), "has no vector"),
        (lambda s: nearest.search(s, "a", embedder=Words(8, "other")), "no vectors of other"),
    ],
)
def test_what_cannot_be_searched_is_said(library: Store, ask: Callable[[Store], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ask(library)


def test_equal_texts_are_embedded_once(database: Path) -> None:
    store = store_of(database, [item(n, "the same words") for n in range(1, 6)])
    words = Words()
    assert embedded(store, words).embedded == 1
    assert words.seen == ["the same words"]
    assert rows(database, "SELECT count(*) FROM embeddings") == [(1,)]


def test_scores_are_the_cosines(library: Store) -> None:
    words = Words()
    [query] = words.encode(["strided loader"])
    for hit in nearest.search(library, "strided loader", embedder=words):
        assert hit.score == pytest.approx(float(words.encode([hit.title])[0] @ query), abs=1e-5)


def test_search_only_reads(library: Store) -> None:
    before = library.path.read_bytes()
    nearest.similar(library, REPO, 1)
    nearest.search(library, "loader", embedder=Words())
    assert library.path.read_bytes() == before
