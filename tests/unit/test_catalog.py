"""The embedded catalog: valid by the guide's classes, complete where the study and the seeds name bugs, in our words."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from helpers.catalog import (
    REPO,
    labels,
    rows,
    store,  # noqa: F401 - fixtures
)
from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.mine.files.catalog import FILE, KIND, CatalogSource, read_catalog
from torch_embers.mine.pages import make_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.store.records import Batch
    from torch_embers.store.store import Store

BUG_TYPES = {
    *("memory", "data_pipe", "device_management", "logical", "data_type", "file_descriptor", "indexing"),
    *("initialization", "onnx", "resource_limit", "thread_management", "other", "not_a_bug"),
}
MEMORY = {
    "non_contiguous": {"cuda_limitation", "information_loss", "input_tensor_management", "channel_management"},
    "segment_fault": {"memory_access_violation", "invalid_memory_address", "memory_corruption", "programming"},
    "indexing": {"overflow", "data_type", "invalid_class_type", "invalid_memory_access"},
    "memory_format": {"channel_management", "stride_calculation_manually"},
    "logic": {"order"},
    "pin_memory": {"input_tensor_management", "programming"},
    "concurrency": {"miss_lock"},
    "nested_tensor_layout": {"storage_format_mismatch"},
    "memory_overflow": {"programming"},
    "checking": {"input_checking"},
    "initialization": {"order"},
}
CONSEQUENCES = {"crash", "silent_correctness", "nan_inf", "runtime_error", "hang", "performance", "other"}
BACKENDS = {"cpu", "cuda", "mps", "xpu", "rocm", "inductor", "distributed", "other"}
RELATIONS = {"duplicates", "reverts", "backs_out", "relands", "supersedes", "explains", "mentions", "cherry_picks"}
STATE_REASONS = {"completed", "not_planned", "duplicate", "merged", None}
FACTS_FROM = {"thread", "maintainer_labels", "mhnurf", "paper_cited", "orion", "recent", "chen"}
KEYS = {
    *("repo", "number", "kind", "title", "state", "state_reason", "created_at", "closed_at", "labels", "fix_prs"),
    *("fix_files", "related", "affected_versions", "fixed_versions", "backends", "taxonomy", "summary"),
    *("facts_from", "facts_as_of"),
}
LABEL_KEYS = {"scheme", "value", "annotator_kind", "annotator", "evidence"}
OURS, SECOND, PAPER = ("automated", "embers-guide-1"), ("automated", "embers-guide-2"), ("paper", "data-path-study")

CITED = {
    *(32866, 38385, 45721, 52062, 53894, 58354, 64813, 67513, 82060, 84018, 84082, 87713, 94303, 99519, 99638),
    *(102167, 102493, 107199, 108345, 111457, 111484, 112577, 115330, 130734),
}
"""The 24 issues that the study cites."""
CITED_PULLS = {86496, 88108, 106127, 112096}


@pytest.fixture(scope="module")
def entries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in resources.data_file(FILE).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def by_number(entries: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {e["number"]: e for e in entries}


def wrong(entries: list[dict[str, Any]], good: Any) -> list[int]:
    return [e["number"] for e in entries if not good(e)]


# ---- form -------------------------------------------------------------------------------------------------------


def test_there_are_at_least_eighty_bugs_each_once_and_in_order(entries: list[dict[str, Any]]) -> None:
    numbers = [e["number"] for e in entries]
    assert len(numbers) >= 80
    assert [n for n, times in Counter(numbers).items() if times > 1] == []
    assert numbers == sorted(numbers)


def test_every_entry_has_exactly_the_keys(entries: list[dict[str, Any]]) -> None:
    assert wrong(entries, lambda e: set(e) == KEYS) == []


def test_facts_have_the_right_types_and_values(entries: list[dict[str, Any]]) -> None:
    assert wrong(entries, lambda e: e["repo"] == REPO and isinstance(e["number"], int) and e["number"] > 0) == []
    assert wrong(entries, lambda e: e["kind"] in ("issue", "pull") and e["state"] in ("open", "closed")) == []
    assert wrong(entries, lambda e: e["state_reason"] in STATE_REASONS) == []
    assert wrong(entries, lambda e: e["state_reason"] is None or e["state"] == "closed") == []
    assert wrong(entries, lambda e: e["state_reason"] != "merged" or e["kind"] == "pull") == []
    assert wrong(entries, lambda e: isinstance(e["title"], str) and e["title"] == e["title"].strip() != "") == []
    for name in ("labels", "fix_files", "affected_versions", "fixed_versions", "backends", "facts_from"):
        assert wrong(entries, lambda e, n=name: all(isinstance(v, str) and v for v in e[n])) == [], name
        assert wrong(entries, lambda e, n=name: len(set(e[n])) == len(e[n])) == [], name
    assert wrong(entries, lambda e: all(isinstance(n, int) and n > 0 for n in e["fix_prs"])) == []
    assert wrong(entries, lambda e: e["kind"] == "pull" or e["number"] not in e["fix_prs"]) == []


def test_dates_are_dates_in_their_order(entries: list[dict[str, Any]]) -> None:
    def good(e: dict[str, Any]) -> bool:
        days = [date.fromisoformat(e[k]) for k in ("created_at", "closed_at", "facts_as_of") if e[k]]
        return days == sorted(days) and bool(e["facts_as_of"]) and (e["closed_at"] is None or e["state"] == "closed")

    assert wrong(entries, good) == []


def test_numbers_grow_with_their_dates(entries: list[dict[str, Any]]) -> None:
    """Numbers are given in order: a date far out of it belongs to another thread."""
    dated = [(e["number"], date.fromisoformat(e["created_at"])) for e in entries if e["created_at"]]
    late = [(a, b) for (a, day), (b, following) in pairwise(dated) if (day - following).days > 1]
    assert late == []


def test_versions_look_like_versions(entries: list[dict[str, Any]]) -> None:
    good = re.compile(r"\d+\.\d+(\.\d+)?([a-z0-9.+-]*)?")
    assert wrong(entries, lambda e: all(good.fullmatch(v) for v in e["affected_versions"] + e["fixed_versions"])) == []


def test_where_facts_come_from_is_said(entries: list[dict[str, Any]]) -> None:
    assert wrong(entries, lambda e: e["facts_from"] and set(e["facts_from"]) <= FACTS_FROM) == []


def test_labels_have_exactly_the_keys_known_annotators_and_evidence(entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        for label in entry["taxonomy"]:
            assert set(label) == LABEL_KEYS, entry["number"]
            assert (label["annotator_kind"], label["annotator"]) in (OURS, SECOND, PAPER), entry["number"]
            assert label["evidence"].strip(), entry["number"]
        keys = [(t["scheme"], t["value"], t["annotator"]) for t in entry["taxonomy"]]
        assert len(keys) == len(set(keys)), entry["number"]


@pytest.mark.parametrize("annotator", [OURS, SECOND, PAPER], ids=["ours", "second", "paper"])
def test_classes_are_those_of_the_guide(entries: list[dict[str, Any]], annotator: tuple[str, str]) -> None:
    for entry in entries:
        found = labels(entry, annotator)
        assert set(found) <= {"bug_type", "memory_type", "memory_subtype", "consequence"}, entry["number"]
        assert set(found.get("bug_type", ())) <= BUG_TYPES, entry["number"]
        assert set(found.get("memory_type", ())) <= set(MEMORY), entry["number"]
        assert set(found.get("consequence", ())) <= CONSEQUENCES, entry["number"]
        possible = set().union(*(MEMORY[t] for t in found.get("memory_type", ())))
        assert set(found.get("memory_subtype", ())) <= possible, entry["number"]


@pytest.mark.parametrize("annotator", [OURS, SECOND], ids=["ours", "second"])
def test_our_labels_are_complete_and_exclusive(entries: list[dict[str, Any]], annotator: tuple[str, str]) -> None:
    for entry in entries:
        found = labels(entry, annotator)
        if annotator == SECOND and not found:
            continue  # the second annotator labelled a sample
        assert len(found["bug_type"]) == len(found["consequence"]) == 1, entry["number"]
        assert len(found.get("memory_type", ())) == (found["bug_type"] == ["memory"]), entry["number"]
        assert len(found.get("memory_subtype", ())) <= ("memory_type" in found), entry["number"]


def test_backends_are_those_of_the_guide(entries: list[dict[str, Any]]) -> None:
    assert wrong(entries, lambda e: set(e["backends"]) <= BACKENDS) == []


def test_a_backend_that_the_title_names_is_there(entries: list[dict[str, Any]]) -> None:
    assert wrong(entries, lambda e: "[MPS]" not in e["title"] or "mps" in e["backends"]) == []


# ---- summaries --------------------------------------------------------------------------------------------------


def sentences(text: str) -> int:
    return len(re.findall(r"[.!?][\"')\]]?(?=\s+[^a-z]|\s*$)", text))


def test_summaries_have_three_to_six_sentences_and_no_code(entries: list[dict[str, Any]]) -> None:
    assert wrong(entries, lambda e: 3 <= sentences(e["summary"]) <= 6) == []
    assert (
        wrong(entries, lambda e: "```" not in e["summary"] and ">>>" not in e["summary"] and "\n" not in e["summary"])
        == []
    )
    assert wrong(entries, lambda e: not re.search(r"\b(I|we|my|our)\b", e["summary"])) == []


def runs(text: str, length: int = 8) -> Iterator[str]:
    words = re.findall(r"[a-z0-9_]+", text.lower())
    for place in range(len(words) - length + 1):
        yield " ".join(words[place : place + length])


def test_no_two_summaries_share_a_run_of_eight_words(entries: list[dict[str, Any]]) -> None:
    owners: dict[str, set[int]] = {}
    for entry in entries:
        for run in runs(entry["summary"]):
            owners.setdefault(run, set()).add(entry["number"])
    assert {run: numbers for run, numbers in owners.items() if len(numbers) > 1} == {}


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


def test_every_cited_issue_and_pull_request_is_there_with_the_papers_label(
    by_number: dict[int, dict[str, Any]],
) -> None:
    assert set(by_number) >= CITED | CITED_PULLS
    assert {n: by_number[n]["kind"] for n in CITED | CITED_PULLS} == dict.fromkeys(CITED, "issue") | dict.fromkeys(
        CITED_PULLS, "pull"
    )
    unlabelled = {n for n in CITED | CITED_PULLS if not labels(by_number[n], PAPER)}
    assert unlabelled <= {111457}, "the study gives every cited bug a class but one"


def test_the_cited_issues_are_those_of_the_shared_table(shared_data: Any) -> None:
    import csv

    with (shared_data / "paper_cited_issues.csv").open(encoding="utf-8") as table:
        found = {(int(r["number"]), r["kind"]) for r in csv.DictReader(table)}
    assert found == {(n, "issue") for n in CITED} | {(n, "pull") for n in CITED_PULLS}


def test_every_cited_issue_is_a_candidate_of_a_database_that_has_the_catalog_alone(store: Store) -> None:
    found = {r[0] for r in rows(store, "SELECT number FROM candidates")}
    assert CITED - found == set()


def test_what_was_annotated_as_no_bug_is_no_candidate(store: Store, entries: list[dict[str, Any]]) -> None:
    no_bugs = {e["number"] for e in entries if labels(e, OURS)["bug_type"] == ["not_a_bug"] and not labels(e, PAPER)}
    assert no_bugs
    assert not no_bugs & {r[0] for r in rows(store, "SELECT number FROM candidates")}


CHAIN = {
    (177703, "backs_out", 174594),
    (179151, "reverts", 172340),
    (170571, "supersedes", 172340),
    (180875, "explains", 174594),
}


def test_the_chain_of_reverts_is_there(store: Store) -> None:
    stated = set(rows(store, "SELECT number, relation, target_number FROM stated_links"))
    assert stated >= CHAIN
    linked = set(rows(store, "SELECT number, relation, target_number FROM links"))
    assert linked >= CHAIN


def test_relations_are_known_and_point_elsewhere(entries: list[dict[str, Any]]) -> None:
    known = {r["name"] for r in resources.load_toml("relations.toml")["relation"]}
    assert known >= RELATIONS
    for entry in entries:
        for other in entry["related"]:
            assert set(other) == {"relation", "number"}, entry["number"]
            assert other["relation"] in RELATIONS, entry["number"]
            assert isinstance(other["number"], int), entry["number"]
            assert other["number"] != entry["number"], entry["number"]


def test_the_optimizer_bug_of_the_mps_story_is_there(by_number: dict[int, dict[str, Any]]) -> None:
    entry = by_number[118115]
    assert "mps" in entry["backends"]
    assert labels(entry, OURS)["memory_type"] == ["non_contiguous"]
    assert labels(entry, OURS)["consequence"] == ["silent_correctness"]


# ---- the MPS document -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(resources.data_file("mps_status.toml").read_text(encoding="utf-8"))[
        "entry"
    ]
    return found


def test_each_of_eight_works_and_seven_challenges_has_an_entry(mps: list[dict[str, Any]]) -> None:
    places = [(e["section"], e["item"]) for e in mps]
    assert sorted(places) == [("challenge", n) for n in range(1, 8)] + [("works", n) for n in range(1, 9)]


def test_each_mps_entry_has_catalogued_issues_or_says_what_was_searched(
    mps: list[dict[str, Any]], by_number: dict[int, dict[str, Any]]
) -> None:
    for entry in mps:
        place = (entry["section"], entry["item"])
        assert entry["topic"].strip(), place
        assert entry["reason"].strip(), place
        if entry.get("none_found"):
            assert entry["searches"], place
            assert not entry.get("issues"), place
        else:
            assert entry["issues"], place
            assert set(entry["issues"]) <= set(by_number), place
            assert all("mps" in by_number[n]["backends"] for n in entry["issues"]), place


# ---- reading ----------------------------------------------------------------------------------------------------


def read(*lines: str) -> Batch:
    return read_catalog(make_page(REPO, "catalog", KIND, FILE, "\n".join(lines).encode()))


def test_every_entry_becomes_an_item_a_summary_and_labels(store: Store, entries: list[dict[str, Any]]) -> None:
    assert rows(store, "FROM rejects") == []
    assert rows(store, "SELECT count(*) FROM catalog") == [(len(entries),)]
    [(items,)] = rows(store, "SELECT count(*) FROM items")
    assert items == len(entries)
    assert rows(store, "SELECT count(*) FROM gold_labels") == [(sum(len(e["taxonomy"]) for e in entries),)]


def test_an_unchanged_catalog_is_not_read_twice(store: Store) -> None:
    assert list(CatalogSource(REPO).batches(store.cursors(REPO, "catalog"))) == []
    assert list(CatalogSource(REPO).batches({}))


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "null",
        '{"repo": "o/r", "number": 0}',
        '{"repo": "o/r", "number": 5}',
        '{"repo": "o/r", "number": 5, "kind": "issue", "title": "t", "state": "open", "summary": "s", "taxonomy": [5]}',
        '{"repo": "o/r", "number": 5, "kind": "issue", "title": "t", "state": "open", "summary": "s", "taxonomy": null}',
    ],
    ids=range(7),
)
def test_a_malformed_entry_is_set_aside_with_its_line_and_leaves_nothing_behind(line: str) -> None:
    good = (
        '{"repo": "o/r", "number": 6, "kind": "issue", "title": "t", "state": "open", "summary": "s", "taxonomy": []}'
    )
    batch = read(good, "", line)
    assert [(r.line, bool(r.reason)) for r in batch.rejects] == [(3, True)]
    assert [i.number for i in batch.items] == [6]
    assert [c.number for c in batch.catalog] == [6]
    assert batch.gold_labels == []


@pytest.mark.parametrize("name", ["catalog.jsonl", "dispositions.jsonl"])
def test_an_emptied_file_is_refused_and_what_was_read_stays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = resources.data_file

    class Emptied:
        def read_bytes(self) -> bytes:
            return b"\n"

    monkeypatch.setattr(resources, "data_file", lambda asked: Emptied() if asked == name else whole(asked))
    with pytest.raises(InputError, match=f"data/{name} is empty"):
        list(CatalogSource("pytorch/pytorch").batches({}))
