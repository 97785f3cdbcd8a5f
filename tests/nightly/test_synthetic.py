"""The made-up database of the benchmarks: sound, and read alike by the views and by one query per signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support import rows
from synthetic import make
from torch_embers import resources
from torch_embers.store.connection import quoted
from torch_embers.store.rows import KEYS

if TYPE_CHECKING:
    from torch_embers.store.store import Store

ITEMS = 3_000
COMMENTS = 5_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make(tmp_path_factory.mktemp("synthetic") / "s.duckdb", ITEMS, COMMENTS)


def test_every_table_is_filled_and_no_key_stands_twice(made: Store) -> None:
    named = "items comments events components links commits pull_files predictions gold_labels weak_labels catalog cases case_items verdicts"
    assert rows(made.path, "SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM comments)") == [
        (ITEMS, COMMENTS)
    ]
    for table in [*named.split(), "builds", "status_history"]:
        key = ", ".join(KEYS.get(table, ())) or "*"
        [(count, keys)] = rows(
            made.path, f"SELECT count(*), (SELECT count(*) FROM (SELECT DISTINCT {key} FROM {table})) FROM {table}"
        )
        assert count == keys > 0, table


def test_the_view_of_signals_finds_what_one_query_per_pattern_finds(made: Store) -> None:
    for signal in resources.load_toml("candidates.toml")["signal"]:
        if signal["from"] == "label":
            tests = [f"list_contains(labels, {quoted(label)})" for label in signal["match"]]
        else:
            options = "im" if signal["from"] == "body" else "i"
            tests = [f"regexp_matches({signal['from']}, {quoted(text)}, '{options}')" for text in signal["match"]]
        plain = rows(made.path, f"SELECT number FROM items WHERE {' OR '.join(tests)} ORDER BY ALL")
        viewed = f"SELECT number FROM signals WHERE signal = {quoted(signal['id'])} AND consequence = {quoted(signal['consequence'])} ORDER BY ALL"
        assert rows(made.path, viewed) == plain, signal["id"]
        assert plain


def test_the_funnel_counts_in_one_pass_what_its_stages_count_one_by_one(made: Store) -> None:
    conditions: list[str] = []
    for stage, (name, items) in zip(
        resources.load_toml("candidates.toml")["stage"], rows(made.path, "SELECT name, items FROM funnel"), strict=True
    ):
        conditions.append(f"({stage['where']})")
        plain = rows(made.path, f"SELECT count(*) FROM judged_items WHERE {' AND '.join(conditions)}")
        assert (name, [(items,)]) == (stage["name"], plain)
        assert items > 10
