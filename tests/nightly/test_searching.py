"""`embers similar` and `embers search`: meaning and words together, filters, and databases without vectors."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.search import REPO, Words, embedded, item, store_of
from support import example_count
from torch_embers.classify.embedding import nearest
from torch_embers.errors import InputError
from torch_embers.search import command
from torch_embers.search.duplicates import possible_duplicates
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


def test_an_unknown_repository_is_refused_and_a_known_one_is_found_in_any_case(library: Store) -> None:
    with pytest.raises(InputError, match="no repository 'no/such'"):
        command.search(library, "workers", 9, ItemFilter(repo="no/such"), embedder=Words())
    assert command.search(library, "workers", 9, ItemFilter(repo=REPO.upper()), embedder=Words()).hits


def test_an_item_without_a_shared_word_is_found_by_meaning_alone(library: Store) -> None:
    hits = {hit.number: hit for hit in command.search(library, "workers", 9, embedder=Words()).hits}
    assert hits[3].words is not None
    assert hits[2].words is None
    assert hits[2].cosine is not None


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
        with library.read() as connection:
            found = nearest.embedded_model(connection)
        assert found == nearest.similar(library, REPO, 1)[0].model
        return str(found)

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
        (ItemFilter(repo="x/y"), {("x/y", 1)}),
        (ItemFilter(operator="conv_transpose2d"), {(REPO, 1), (REPO, 2)}),
        (ItemFilter(repo=REPO, items=(f"{REPO}#5",)), {(REPO, 5)}),
        (ItemFilter(repo=REPO, items=(f"{REPO}#77",)), set()),
    ],
)
def test_only_items_that_pass_the_filter_are_found(
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
    ],
)
def test_what_cannot_be_looked_for_is_said(library: Store, ask: Callable[[Store], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ask(library)


def test_similar_items_share_meaning_and_words_and_are_of_the_same_repository(library: Store) -> None:
    found = command.similar(library, REPO, 1, 3)
    assert found.hits[0].number == 2
    assert {hit.repo for hit in found.hits} == {REPO}
    assert 1 not in {hit.number for hit in found.hits}
    assert found.note == ""
    assert found.hits[0].cosine is not None
    assert found.hits[0].words is not None
