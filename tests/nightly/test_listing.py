"""`embers list`, `embers list --cases`, and JSON on standard output."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from helpers.listing import (
    NEW,
    OLD,
    documented,
    store,  # noqa: F401 - fixtures
)
from support import run_embers
from torch_embers.store import item_lists
from torch_embers.store.listing import ItemFilter, list_items
from torch_embers.store.store import Store
from torch_embers.verdicts.item_verdict import item_verdict
from torch_embers.verdicts.matrix import entries

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"state": "open"}, [2, 3]),
        ({"occurs_on": OLD}, [1, 2]),
        ({"occurs_on": NEW}, [1, 4]),
        ({"occurs_on": f"named-{NEW}"}, [1, 4]),
        ({"absent_on": NEW}, [2]),
        ({"absent_on": OLD}, [4]),
        ({"status": "closed_but_occurs"}, [1]),
        ({"labels": ("module: mps",)}, [1, 2, 3, 4, 5]),
        ({"classes": ("consequence=slow",)}, [2, 3]),
        ({"classes": ("crash",)}, [1]),
        ({"operator": "torch.addmm"}, [1, 4]),
        ({"operator": "addm"}, []),
        ({"operator": "sum"}, [1]),
        ({"backend": "cuda"}, [2]),
        ({"has_case": False}, [5]),
        ({"has_case": True, "state": "open"}, [2, 3]),
        ({"origin": "curated"}, [1, 2, 3, 4]),
        ({"origin": "fix_test"}, []),  # an origin of which the database has none is no mistake
        ({"sort": "updated"}, [1, 3, 2, 4, 5]),
        ({"sort": "comments", "descending": True}, [2, 1, 3, 5, 4]),
        ({"limit": 2}, [1, 2]),
    ],
)
def test_filters_choose_items(store: Store, asked: dict[str, Any], numbers: list[int]) -> None:
    assert [row["number"] for row in list_items(store, ItemFilter(repo="a/b", **asked))] == numbers


def test_a_list_marks_verdicts_of_another_input_and_agrees_with_the_line_of_each_item(catalog_database: Path) -> None:
    store = Store(catalog_database)
    found = {row["number"]: row for row in list_items(store, ItemFilter(has_case=True))}
    told = entries(store)
    with store.read() as connection:
        query = "SELECT i.number, c.name, c.origin, i.relation FROM case_items i JOIN cases c USING (case_hash) WHERE c.current"
        linked = connection.execute(query).fetchall()
    for number, row in found.items():
        cases = [
            {"name": n, "origin": origin, "relation": relation} for i, n, origin, relation in linked if i == number
        ]
        own = [e for e in told if e.case in {case["name"] for case in cases} and e.build == row["release"]]
        decided = item_verdict(cases, own)
        assert (row["verdict"], row["verdict_speaks_of"], row["another_occurs"]) == (
            decided.entry.verdict,
            decided.speaks_of,
            decided.also_occurs,
        )
    assert item_lists.item_verdict_text(found[973]) == "occurs 2.15.0*"
    assert item_lists.item_verdict_text(found[84577]) == "occurs 2.15.0"


def test_search_prints_a_line_a_hit_with_state_verdict_named_scores_and_address(classified_template: Path) -> None:
    for words in (("search", "loss becomes NaN"), ("search", "--like", "118115")):
        done = run_embers(*words, "-k", "2", "--json", "--database", classified_template)
        entries = json.loads(done.stdout)
        assert [set(entry) for entry in entries] == [documented("embers search")] * 2
        text = run_embers(*words, "-k", "2", "--database", classified_template, COLUMNS="80").stdout
        lines = [line.split() for line in text.splitlines()]
        assert {"similarity", "keyword", "verdict", "state", "title"} <= {*lines[0], *lines[1]}
        assert [words[0] for words in lines if words[0].startswith("#")] == [f"#{e['number']}" for e in entries]
        text = run_embers(*words, "-k", "2", "--urls", "--database", classified_template, COLUMNS="80").stdout
        assert all(entry["address"] in text for entry in entries)


def test_verbose_logs_on_standard_error_and_nothing_is_logged_without(catalog_database: Path) -> None:
    assert run_embers("data", "link", "--database", catalog_database).stderr == ""
    ended = subprocess.run(
        [sys.executable, "-m", "torch_embers", "--verbose", "data", "link", "--database", catalog_database],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "torch_embers.link.update_links: 0 changed texts to link" in ended.stderr
