"""`embers search --like` and `embers search`: only what changed is embedded, meaning and words together, filters."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.rows import store_of
from helpers.search import REPO, Words, embedded, item
from support import example_count, rows
from torch_embers.classify.embedding import nearest, vectors
from torch_embers.errors import InputError
from torch_embers.search import command
from torch_embers.search.command import possible_duplicates
from torch_embers.search.rules import SearchRules
from torch_embers.search.words import by_words, query_words
from torch_embers.settings import DEFAULT_EMBEDDER
from torch_embers.store.listing import ItemFilter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_embers.store.store import Store


RATED = SearchRules.load().pairs[0].model
"""A model of which pairs were read."""
TITLES = {
    1: "conv_transpose2d gives wrong gradient for strided input",
    2: "wrong gradient of conv_transpose2d",
    3: "DataLoader hangs with workers",
    4: "workers of the loader never end",
    5: "gradient checkpointing is slow",
}


@pytest.fixture
def library(database: Path) -> Store:
    store = store_of(database, [*(item(n, t) for n, t in TITLES.items()), item(1, "wrong gradient", repo="x/y")])
    embedded(store, Words())
    return store


def test_only_a_changed_text_is_embedded_again_and_equal_ones_once(database: Path) -> None:
    store = store_of(database, [item(n, f"wrong gradient {n}") for n in range(1, 8)])
    assert embedded(store, Words()).embedded == 7
    assert embedded(store, Words()) == vectors.Embedded(0, 0, 0)
    store_of(database, [item(3, "hang in loader", updated="2024-02-01T00:00:00Z"), item(8, "new"), item(9, "new")])
    again = Words()
    assert embedded(store, again).items == 3
    assert sorted(again.seen) == ["hang in loader", "new"], "equal texts are embedded once"
    assert rows(database, "SELECT count(*), count(DISTINCT number) FROM model_texts") == [(9, 9)]


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


def test_new_cleaning_rules_embed_only_what_they_change(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(database, [item(n, f"wrong gradient {n}") for n in range(1, 5)])
    embedded(store, Words())
    monkeypatch.setattr(vectors, "rules_hash", lambda: "newer")
    again = Words()
    assert embedded(store, again).items == 4
    assert again.seen == []


def test_items_without_text_get_no_vector_and_are_not_tried_again(database: Path) -> None:
    store = store_of(database, [item(1, None), item(2, "", ""), item(3, "x y")])
    assert embedded(store, Words()).embedded == 1
    assert embedded(store, Words()).items == 0
    with pytest.raises(InputError, match="has no text"):
        nearest.similar(store, REPO, 2)


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


def test_scores_are_the_cosines_and_search_only_reads(library: Store) -> None:
    before, words = library.path.read_bytes(), Words()
    [query] = words.encode(["strided loader"])
    found = nearest.search(library, "strided loader", embedder=words)
    assert {(hit.repo, hit.number) for hit in found} == {*((REPO, number) for number in TITLES), ("x/y", 1)}
    for hit in found:
        assert hit.score == pytest.approx(float(words.encode([hit.title])[0] @ query), abs=1e-5)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert {hit.repo for hit in nearest.search(library, "gradient", embedder=words, repo="x/y")} == {"x/y"}
    nearest.similar(library, REPO, 1)
    assert library.path.read_bytes() == before


# ---- meaning and words together ---------------------------------------------------------------------------------


def test_a_name_counts_more_where_it_stands_whole(database: Path) -> None:
    titles = ["the sparse mask of a sparse index", "index_sparse_mask is slow", "sparse_mask is slow", "tests"]
    store = store_of(database, [item(n, title, "sparse_mask " * (n == 4)) for n, title in enumerate(titles, start=1)])
    with store.read() as connection:
        found = by_words(connection, query_words("Sparse_Mask", 9), SearchRules.load())
        apart = by_words(connection, ["sparse", "mask"], SearchRules.load())
    assert [hit.number for hit in found] == [3, 2, 4, 1]
    scores = {hit.number: hit.score for hit in apart}
    assert found[-1].score == pytest.approx(scores[1])
    assert all(hit.score > scores[hit.number] for hit in found[:-1])


def test_an_item_without_a_shared_word_is_found_by_meaning_alone(library: Store) -> None:
    hits = {hit.number: hit for hit in command.search(library, "workers", 9, embedder=Words()).hits}
    assert (hits[3].words is None, hits[2].words is None, hits[2].cosine is None) == (False, True, False)


def test_a_database_without_vectors_is_searched_by_words_and_says_so(database: Path) -> None:
    store = store_of(database, [item(n, t) for n, t in TITLES.items()])
    for found in (command.similar(store, REPO, 1, 9), command.search(store, "wrong gradient", 9)):
        assert "embers classify" in found.note
        assert {hit.cosine for hit in found.hits} == {None}
        assert 2 in {hit.number for hit in found.hits}


CORE_ALONE = """
import sys
from pathlib import Path
from torch_embers import packages

missing = {name for names in packages.EXTRAS.values() for name in names} - {"numpy"}  # pandas brings numpy


class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Missing())
packages.installed = lambda extra: False
from torch_embers.search import command
from torch_embers.store.store import Store

store = Store(Path(sys.argv[1]))
for found in (command.similar(store, "o/r", 1, 3), command.search(store, "wrong gradient", 3)):
    print([hit.number for hit in found.hits], found.note)
"""


def test_words_are_searched_without_the_packages_of_any_extra(library: Store) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CORE_ALONE, library.path], capture_output=True, text=True, check=True, timeout=120
    )
    near, words = done.stdout.splitlines()
    assert near.startswith("[2, ")
    assert near.endswith("] ")  # vectors that are stored need no model
    assert "1, 2" in words or "2, 1" in words
    assert "pip install 'torch-embers[classify]'" in words


def test_an_item_that_has_no_vector_yet_is_compared_by_its_words(library: Store) -> None:
    store_of(library.path, [item(9, "conv_transpose2d again")])
    assert 9 in {hit.number for hit in command.search(library, "conv_transpose2d", 9, embedder=Words()).hits}
    found = command.similar(library, REPO, 9, 2)
    assert [hit.number for hit in found.hits] == [2, 1]
    assert "o/r#9 has no vector" in found.note


def test_a_nearer_item_belongs_together_more_often_and_only_such_items_are_possible_duplicates(database: Path) -> None:
    near, far = "wrong gradient of conv_transpose2d with stride", "workers of the loader never end"
    store = store_of(database, [item(1, near), item(2, f"{near} again"), item(3, far)])
    assert possible_duplicates(store, REPO, 1) == []  # no vectors yet
    embedded(store, Words(name=f"{RATED}/words"))
    linked = {hit.number: hit.linked or 0 for hit in command.similar(store, REPO, 1, 9).hits}
    assert linked[2] > 0.5 > linked[3]
    assert [hit.number for hit in possible_duplicates(store, REPO, 1)] == [2]
    assert possible_duplicates(store, REPO, 99) == []


def test_cosines_of_a_model_whose_pairs_nobody_read_promise_nothing(library: Store) -> None:
    assert {hit.linked for hit in command.similar(library, REPO, 1, 9).hits} == {None}
    assert possible_duplicates(library, REPO, 1) == []


def test_the_encoder_of_the_setting_is_compared_once_it_embedded_nearly_all(library: Store) -> None:
    def compared() -> str:
        return nearest.similar(library, REPO, 1)[0].model

    assert compared() == "words"
    embedded(library, Words(name="another@0"))
    assert compared() == "another@0"  # as many, and first by name
    embedded(library, Words(name=f"{DEFAULT_EMBEDDER}@0/int8-1"))
    assert compared() == f"{DEFAULT_EMBEDDER}@0/int8-1"
    new = [item(n, f"{n} more words of {n}") for n in range(50, 60)]
    store_of(library.path, new)
    embedded(library, Words())
    assert compared() == "words"


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (ItemFilter(repo="X/y"), {("x/y", 1)}),
        (ItemFilter(operator="conv_transpose2d"), {(REPO, 1), (REPO, 2)}),
        (ItemFilter(repo=REPO, items=(f"{REPO}#5",)), {(REPO, 5)}),
        (ItemFilter(repo=REPO, items=(f"{REPO}#77",)), set()),
    ],
)
def test_only_what_passes_the_filter_is_found(
    library: Store, wanted: ItemFilter, numbers: set[tuple[str, int]]
) -> None:
    found = command.search(library, "gradient", 9, wanted, embedder=Words())
    assert {(hit.repo, hit.number) for hit in found.hits} == numbers


@settings(max_examples=example_count(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=30).filter(lambda text: text.strip() and "nan" not in text.lower()), st.integers(1, 9))
def test_any_words_can_be_searched(library: Store, text: str, k: int) -> None:
    hits = command.search(library, text, k, embedder=Words()).hits
    assert len(hits) <= k
    assert all(-1.001 <= hit.cosine <= 1.001 for hit in hits if hit.cosine is not None)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda s: command.similar(s, REPO, 99, 5), "o/r#99 is not in the database"),
        (lambda s: command.similar(s, REPO, 1, 0), "number of hits 0"),
        (lambda s: command.search(s, "x", nearest.MOST + 1), "number of hits"),
        (lambda s: command.search(s, " \n", 5), "give some words"),
        (lambda s: command.search(s, "x", 5, ItemFilter(state="ajar")), "open or closed"),
        (lambda s: command.search(s, "x", 5, ItemFilter(repo="no/such"), embedder=Words()), "no repository 'no/such'"),
        (lambda s: nearest.similar(s, REPO, 1, model="other"), "has no vector"),
        (lambda s: nearest.search(s, "a", embedder=Words(8, "other")), "no vectors of other"),
    ],
)
def test_what_cannot_be_looked_for_is_said(library: Store, ask: Callable[[Store], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ask(library)


def test_similar_items_share_meaning_and_words_and_are_of_the_same_repository(library: Store) -> None:
    found = command.similar(library, REPO, 1, 3)
    first = found.hits[0]
    assert (first.number, first.cosine is None, first.words is None, found.note) == (2, False, False, "")
    assert {hit.repo for hit in found.hits} == {REPO}
    assert 1 not in {hit.number for hit in found.hits}
