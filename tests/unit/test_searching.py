"""`embers search --like` and `embers search`: meaning and words together, filters, and databases without vectors."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers import resources
from torch_embers.errors import StoreMissingError
from torch_embers.search import command
from torch_embers.search.fusion import fuse, nearness
from torch_embers.search.rules import NearnessRules, SearchRules
from torch_embers.search.words import by_words, query_words
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REPO = "o/r"
RATED = SearchRules.load().pairs[0].model
"""A model of which pairs were read."""


def test_an_item_that_both_orders_put_first_is_first() -> None:
    a, b, c = (REPO, 1), (REPO, 2), (REPO, 3)
    assert fuse([[b, a, c], [b, c, a]], 20) == [b, a, c]
    assert fuse([[a], []], 20) == [a]
    assert fuse([], 20) == []


def test_of_items_alike_the_one_with_the_nearer_number_is_first_and_one_far_off_keeps_its_place() -> None:
    rules = NearnessRules(reach=100, reach_reason="-", power=0.5, power_reason="-")
    near, far, elsewhere = (REPO, 90), (REPO, 9_000), ("x/y", 101)
    factor = nearness((REPO, 100), rules)
    assert factor((REPO, 100)) == 1
    assert factor(near) == pytest.approx(1.1**-0.5)
    assert factor((REPO, 200)) == factor((REPO, 0)) == pytest.approx(2**-0.5)
    assert factor(elsewhere) == 0
    assert fuse([[far, near]], 5) == [far, near]
    assert fuse([[far, near]], 5, factor) == [near, far]
    assert fuse([[far, elsewhere]], 5, factor) == [far, elsewhere]


@given(st.lists(st.permutations([(REPO, n) for n in range(6)]), min_size=1, max_size=4), st.integers(0, 100))
def test_a_fused_order_holds_every_item_once_and_keeps_an_order_that_all_share(
    orders: list[list[tuple[str, int]]], constant: int
) -> None:
    assert sorted(fuse(orders, constant)) == sorted(orders[0])
    assert fuse([orders[0]] * 3, constant) == orders[0]


def test_words_of_a_query_are_split_as_those_of_the_items_and_its_names_come_whole_behind_them() -> None:
    words = ["torch", "nn", "conv", "transpose2d", "é", "x"]
    assert query_words("torch.nn.Conv_transpose2d: É x, x _x x_", 99) == [*words, "conv_transpose2d"]
    assert query_words("a b c", 2) == ["a", "b"]
    assert query_words("a_b b_a c__c d_", 2) == ["a", "b", "a_b", "b_a"]
    assert query_words("__init__ __a__b_ ___", 9) == ["init", "a", "b", "a__b"]
    # took hours when a name was looked for anew from every letter
    assert query_words("x" * 1_000_000, 9) == ["x" * 1_000_000]


def plain_bm25(texts: dict[int, str], words: Sequence[str], k1: float, b: float, power: float) -> dict[int, float]:
    """The formula, read off the paper, but for the power of the rarity."""
    split = {number: text.lower().split() for number, text in texts.items()}
    average = sum(map(len, split.values())) / len(split)
    scores = {}
    for number, own in split.items():
        counts = Counter(own)
        for word in words:
            holding = sum(word in other for other in split.values())
            if times := counts[word]:
                rarity = math.log(1 + (len(split) - holding + 0.5) / (holding + 0.5)) ** power
                part = rarity * times * (k1 + 1) / (times + k1 * (1 - b + b * len(own) / average))
                scores[number] = scores.get(number, 0.0) + part
    return scores


@settings(max_examples=example_count(20), deadline=None)
@given(
    st.lists(st.text("abc ", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=6),
    st.sets(st.sampled_from(["a", "b", "ab", "ca", "zz"]), min_size=1),
)
def test_scores_are_those_of_bm25(titles: list[str], words: set[str]) -> None:
    rules = SearchRules.load()
    texts = {n: f"{t} " * rules.words.weight_of_title for n, t in enumerate(titles, start=1)}
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE items (repo VARCHAR, number INTEGER, title VARCHAR, body VARCHAR)")
        connection.executemany(
            "INSERT INTO items VALUES (?, ?, ?, NULL)", [(REPO, n, t) for n, t in enumerate(titles, start=1)]
        )
        found = {hit.number: hit.score for hit in by_words(connection, sorted(words), rules)}
    how = rules.words
    assert found == pytest.approx(plain_bm25(texts, sorted(words), how.saturation, how.length, how.rarity))


def test_rates_of_pairs_cover_every_cosine() -> None:
    rules = SearchRules.load()
    own = [pair.share for pair in rules.pairs if pair.model == RATED]
    assert rules.share(None, RATED) == rules.share(-1.0, f"{RATED}/int8-1") == own[-1]
    assert rules.share(1.0, RATED) == own[0]
    data = resources.load_toml("search.toml")
    with pytest.raises(ValueError, match="must fall"):
        SearchRules.model_validate(data | {"pairs": data["pairs"][:1]})


def test_a_missing_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreMissingError, match="embers mine"):
        command.search(Store(tmp_path / "none.duckdb"), "x", 5)
