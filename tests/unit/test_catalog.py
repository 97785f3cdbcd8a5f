"""The embedded catalog: valid by the guide's classes, complete where the study and the seeds name bugs, in our words."""

from __future__ import annotations

import json
import re
import shutil
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from support import execute, rows, snapshot
from torch_embers import judgements, resources
from torch_embers.errors import InputError
from torch_embers.mine import plan
from torch_embers.mine.files import CATALOG as FILE
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def store(catalog_template: Path) -> Store:
    """A fresh database that holds the catalog alone."""
    return Store(catalog_template)


def labels(entry: dict[str, Any], annotator: tuple[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for label in entry["taxonomy"]:
        if (label["annotator_kind"], label["annotator"]) == annotator:
            found.setdefault(label["scheme"], []).append(label["value"])
    return found


VERSION = re.compile(r"\d+\.\d+(\.\d+)?([a-z0-9.+-]*)?")
RELATIONS = {"duplicates", "reverts", "backs_out", "relands", "supersedes", "explains", "mentions", "cherry_picks"}
OURS, PAPER = ("automated", "embers-guide-1"), ("paper", "data-path-study")

CITED = {
    *(32866, 38385, 45721, 52062, 53894, 58354, 64813, 67513, 82060, 84018, 84082, 87713, 94303, 99519, 99638),
    *(102167, 102493, 107199, 108345, 111457, 111484, 112577, 115330, 130734),
}
"""The 24 issues that the study cites."""
CITED_PULLS = {86496, 88108, 106127, 112096}


@pytest.fixture(scope="module")
def entries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in resources.data_file(FILE).read_text(encoding="utf-8").splitlines()]


# ---- form -------------------------------------------------------------------------------------------------------


def test_every_entry_is_whole(entries: list[dict[str, Any]]) -> None:
    """What neither the reader nor the test of the taxonomy checks: order, days, evidence of labels, relations."""
    assert len(entries) >= 80
    assert [e["number"] for e in entries] == sorted({e["number"] for e in entries})
    for entry in entries:
        said = entry["number"]
        days = [date.fromisoformat(entry[key]) for key in ("created_at", "closed_at", "facts_as_of") if entry[key]]
        assert days == sorted(days), said
        assert entry["facts_as_of"], said
        assert entry["facts_from"], said
        assert entry["state"] == "closed" or not (entry["closed_at"] or entry["state_reason"]), said
        assert all(VERSION.fullmatch(one) for one in entry["affected_versions"] + entry["fixed_versions"]), said
        for label in entry["taxonomy"]:
            assert (label["annotator_kind"], label["annotator"]) in (OURS, PAPER), said
            assert label["evidence"].strip(), said
        found = labels(entry, OURS)
        assert len(found["bug_type"]) == len(found["consequence"]) == 1, said
        assert len(found.get("memory_type", ())) == (found["bug_type"] == ["memory"]), said
        for other in entry["related"]:
            assert other["relation"] in RELATIONS, said
            assert other["number"] != said, said


def test_each_point_of_the_mps_document_names_catalogued_issues_or_what_was_searched(
    entries: list[dict[str, Any]],
) -> None:
    points = resources.load_toml("mps_status.toml")["entry"]
    assert sorted((one["section"], one["item"]) for one in points) == [
        *(("challenge", place) for place in range(1, 8)),
        *(("works", place) for place in range(1, 9)),
    ]
    on_mps = {entry["number"] for entry in entries if "mps" in entry["backends"]}
    for one in points:
        assert set(one.get("issues", ())) <= on_mps, one["topic"]
        assert bool(one.get("issues")) is not bool(one.get("none_found") and one["searches"]), one["topic"]


# ---- in our words -----------------------------------------------------------------------------------------------


def runs(text: str, length: int = 8) -> Iterator[str]:
    words = re.findall(r"[a-z0-9_]+", text.lower())
    for place in range(len(words) - length + 1):
        yield " ".join(words[place : place + length])


def test_no_summary_repeats_the_threads_words(entries: list[dict[str, Any]], shared_data: Any) -> None:
    """Where the text of a thread lies beside the checkout, no run of eight words of it is in our summary."""
    import csv
    import gzip
    import sys

    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    texts: dict[int, str] = {}
    with gzip.open(shared_data / "mhnurf_pytorch.csv.gz", "rt", encoding="utf-8") as table:
        texts |= {int(r["Number"]): r["Body"] + " " + r["Comments"] for r in csv.DictReader(table)}
    with gzip.open(shared_data / "recent_issues_text.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            texts |= {int(n): f"{record['problem_statement']} {record['hints_text']}" for n in record["issue_numbers"]}
    checked = [e for e in entries if e["number"] in texts]
    assert len(checked) > 5
    copied = {}
    for entry in checked:
        title = set(runs(entry["title"]))
        if found := set(runs(entry["summary"])) & set(runs(texts[entry["number"]])) - title:
            copied[entry["number"]] = found
    assert copied == {}


# ---- completeness -----------------------------------------------------------------------------------------------


def test_the_cited_issues_are_those_of_the_shared_table(shared_data: Any) -> None:
    import csv

    with (shared_data / "paper_cited_issues.csv").open(encoding="utf-8") as table:
        found = {(int(r["number"]), r["kind"]) for r in csv.DictReader(table)}
    assert found == {(n, "issue") for n in CITED} | {(n, "pull") for n in CITED_PULLS}


def test_every_entry_is_stored_and_of_them_the_cited_bugs_are_candidates_and_no_bugs_are_not(
    store: Store, entries: list[dict[str, Any]]
) -> None:
    assert rows(store.path, "FROM rejects") == []
    for table in ("items", "catalog"):
        assert rows(store.path, f"SELECT count(*) FROM {table}") == [(len(entries),)]
    [read] = judgements.ask("SELECT count(*) AS labels FROM judgements WHERE question LIKE 'label:%'")
    labels_ = sum(len(entry["taxonomy"]) for entry in entries) + read["labels"]
    assert rows(store.path, "SELECT count(*) FROM gold_labels") == [(labels_,)]
    candidates = {number for (number,) in rows(store.path, "SELECT number FROM candidates")}
    assert candidates >= CITED
    unlabelled = {e["number"] for e in entries if e["number"] in CITED | CITED_PULLS and not labels(e, PAPER)}
    assert unlabelled <= {111457}, "the study gives every cited bug a class but one"
    no_bugs = {e["number"] for e in entries if labels(e, OURS)["bug_type"] == ["not_a_bug"] and not labels(e, PAPER)}
    assert no_bugs
    assert not no_bugs & candidates


CHAIN = {
    (177703, "backs_out", 174594),
    (179151, "reverts", 172340),
    (170571, "supersedes", 172340),
    (180875, "explains", 174594),
}


def test_the_chain_of_reverts_is_there(store: Store) -> None:
    stated = set(rows(store.path, "SELECT number, relation, target_number FROM stated_links"))
    assert stated >= CHAIN
    linked = set(rows(store.path, "SELECT number, relation, target_number FROM links"))
    assert linked >= CHAIN


# ---- reading ----------------------------------------------------------------------------------------------------


def test_an_unchanged_catalog_is_not_read_twice(store: Store, tmp_path: Path) -> None:
    copy = Store(shutil.copy(store.path, tmp_path / "e.duckdb"))
    assert plan.mine_catalog(copy).items == 0
    execute(copy.path, "UPDATE raw SET hash = 'older' WHERE id = '973' AND source = 'catalog'")
    assert plan.mine_catalog(copy).items > 80
    assert snapshot(copy.path) == snapshot(store.path)


@pytest.mark.parametrize("name", ["catalog.jsonl", "judgements.jsonl"])
def test_an_emptied_file_is_refused_and_what_was_read_stays(
    name: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = resources.data_file
    (tmp_path / "empty").write_text("")
    monkeypatch.setattr(resources, "data_file", lambda asked: tmp_path / "empty" if asked == name else whole(asked))
    copy = Store(shutil.copy(store.path, tmp_path / "e.duckdb"))
    with pytest.raises(InputError, match=f"data/{name} is empty"):
        plan.mine_catalog(copy)
    assert snapshot(copy.path) == snapshot(store.path)
