"""What stands against a closing makes the disposition unknown: nobody guesses which of two statements holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.dispositions import REPO, item, link, put, read_as
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

MERGED = "TIMESTAMP '2024-01-03'"


def event(name: str, kind: str, moment: str | None, **columns: str) -> str:
    keys = "".join(f", {key}" for key in columns)
    values = "".join(f", '{value}'" for value in columns.values())
    time = f"TIMESTAMP '{moment}'" if moment else "NULL"
    return (
        f"INSERT INTO events (repo, number, event_id, type, created_at{keys}) "
        f"VALUES ('{REPO}', 1, '{name}', '{kind}', {time}{values})"
    )


def related(pull: int, relation: str, target: int) -> str:
    return (
        "INSERT INTO links (repo, number, relation, target_repo, target_number, evidence, found_in, stated_at) "
        f"VALUES ('{REPO}', {pull}, '{relation}', '{REPO}', {target}, 'text', 'title', TIMESTAMP '2024-01-05')"
    )


def closed_at(moment: str) -> str:
    return f"UPDATE items SET closed_at = TIMESTAMP '{moment}' WHERE number = 1"


def commit_of_history(moment: str, reason: str = "no_test_file", sha: str = "abcdef2", pull: str = "NULL") -> str:
    """A commit of a history that was read, which names the issue as fixed."""
    return (
        "INSERT INTO fix_tests (repo, commit_sha, pull_number, issues, committed_at, status, reason, first_release_by, rules, decided_at, "
        "provenance) "
        f"VALUES ('{REPO}', '{sha}', {pull}, ['1'], TIMESTAMP '{moment}', 'not_possible', '{reason}', 'tag', '9', now(), 'shipped')"
    )


DONE = item(1, reason="completed")
BY_COMMIT = {"commit_sha": "abcdef1"}
FIX = (item(20, kind="pull", merged=MERGED), link(20, 1))
UNKNOWN = {
    "a mark as duplicate beside a merged fix": (
        *(DONE, *FIX, event("1", "closed", "2024-01-04")),
        event("2", "marked_as_duplicate", "2024-01-04", other_number="50"),
    ),
    "a mark as duplicate beside a closing commit": (
        *(DONE, event("1", "closed", "2024-01-04", **BY_COMMIT)),
        event("2", "marked_as_duplicate", "2024-01-05", other_number="50"),
    ),
    "a human who cannot decide against a program": (
        DONE,
        read_as(1, "unknown", "2024-01-03", annotator_kind="human", annotator="h", evidence="both are said"),
        read_as(1, "fixed", "2024-01-02"),
    ),
    "a human who cannot decide against an event": (
        *(DONE, event("1", "closed", "2024-01-04", **BY_COMMIT)),
        read_as(1, "unknown", "2024-01-05", annotator_kind="human", annotator="h", evidence="both are said"),
    ),
    "read, reopened and closed otherwise on one day": (
        item(1, reason="not_planned"),
        *(event("1", "closed", "2024-01-03 08:00"), event("2", "reopened", "2024-01-03 10:00")),
        *(event("3", "closed", "2024-01-03 12:00"), closed_at("2024-01-03 12:00"), read_as(1, "fixed", "2024-01-03")),
    ),
    "reopened in the second of its closing": (
        *(DONE, event("10", "closed", "2024-01-01", **BY_COMMIT), event("11", "reopened", "2024-01-01")),
    ),
    "closed in two ways at one moment": (
        *(item(1), event("9", "closed", "2024-01-01", **BY_COMMIT)),
        *(event("10", "closed", "2024-01-01", state_reason="not_planned"), closed_at("2024-01-01")),
    ),
    "reopened at an unknown time": (
        *(DONE, event("1", "closed", "2024-01-01", **BY_COMMIT), event("2", "reopened", None)),
    ),
    "closed again at an unknown time": (
        *(item(1), event("1", "closed", "2024-01-01", **BY_COMMIT)),
        event("2", "closed", None, state_reason="not_planned"),
    ),
    "the item against its last closing": (
        *(DONE, event("1", "closed", "2024-02-01", state_reason="duplicate", **BY_COMMIT), closed_at("2024-02-01")),
    ),
    "the reason of an earlier closing": (
        *(item(1), event("1", "closed", "2024-01-01", state_reason="not_planned")),
        *(event("2", "reopened", "2024-01-02"), closed_at("2024-01-03")),
    ),
    "the reason of an item that was reopened": (
        *(item(1, reason="not_planned"), event("1", "closed", "2024-01-01")),
        *(event("2", "reopened", "2024-01-02"), closed_at("2024-01-01")),
    ),
    "an issue that was merged": (
        *(DONE, event("1", "merged", "2024-01-04", **BY_COMMIT), event("2", "closed", "2024-01-04")),
        read_as(1, "fixed", "2024-01-05"),
    ),
    "an item of unknown kind that was merged": (
        *(DONE, "UPDATE items SET kind = NULL, merge_sha = 'abcdef1', merged_at = TIMESTAMP '2024-01-01'"),
    ),
    "a fix that was backed out by a pull request": (
        *(DONE, *FIX, item(21, kind="pull", merged="TIMESTAMP '2024-01-05'"), related(21, "reverts", 20)),
    ),
    "a fix that was backed out by a commit": (
        *(DONE, *FIX),
        "INSERT INTO links (repo, sha, relation, target_repo, target_number, evidence, found_in, stated_at) "
        f"VALUES ('{REPO}', 'abc', 'reverts', '{REPO}', 20, 'commit', 'message', TIMESTAMP '2024-01-05')",
    ),
    "a commit of the history that was taken back": (DONE, commit_of_history("2024-01-03", "reverted")),
    "a commit of the history that came after the closing": (
        *(DONE, event("1", "closed", "2024-01-04"), closed_at("2024-01-04"), commit_of_history("2024-02-01")),
    ),
    "a commit of the history whose pull request was reverted elsewhere": (
        *(
            DONE,
            item(20, kind="pull", merged=MERGED),
            related(21, "reverts", 20),
            commit_of_history("2024-01-03", pull="20"),
        ),
    ),
    "a commit of the history beside a mark as duplicate": (
        *(DONE, commit_of_history("2024-01-03"), event("1", "marked_as_duplicate", "2024-01-05", other_number="50")),
    ),
    "a commit of the history that a reader found not to decide": (
        *(DONE, commit_of_history("2024-01-03"), read_as(1, "unknown", None, evidence="it mends a part")),
    ),
    "a closing pull request that was backed out": (
        *(DONE, item(20, kind="pull", merged=MERGED), related(21, "backs_out", 20)),
        event("1", "closed", "2024-01-04", other_number="20"),
    ),
}


@pytest.mark.parametrize("statements", UNKNOWN.values(), ids=UNKNOWN)
def test_contradictions_are_unknown(tmp_path: Path, statements: tuple[str, ...]) -> None:
    assert put(Store(tmp_path / "e.duckdb"), *statements)[1][0] == "unknown"


FIXED = {
    "a revert that was not merged": (*(DONE, *FIX, item(21, kind="pull"), related(21, "reverts", 20)),),
    "a fix that landed again": (
        *(DONE, *FIX, item(21, kind="pull", merged="TIMESTAMP '2024-01-05'"), related(21, "reverts", 20)),
        *(item(22, kind="pull", merged="TIMESTAMP '2024-01-06'"), related(22, "relands", 20)),
    ),
    "a fix whose own pull request landed again": (
        *(DONE, *FIX, related(21, "reverts", 20)),
        f"INSERT INTO commits (repo, sha, pull_number, committed_at) VALUES ('{REPO}', 'b', 20, TIMESTAMP '2024-01-07')",
    ),
    "a commit of the history, and no other word": (DONE, commit_of_history("2024-01-03")),
    "a commit of the history before the closing, and one behind it": (
        *(DONE, event("1", "closed", "2024-01-04"), closed_at("2024-01-04")),
        *(commit_of_history("2024-01-03"), commit_of_history("2024-06-03", sha="abcdef3")),
    ),
    "a mark that was taken back": (
        *(DONE, event("1", "closed", "2024-01-04", **BY_COMMIT), event("2", "marked_as_duplicate", "2024-01-05")),
        event("3", "unmarked_as_duplicate", "2024-01-06"),
    ),
    "an item that agrees with its last closing": (
        *(DONE, event("1", "closed", "2024-02-01", state_reason="completed", **BY_COMMIT), closed_at("2024-02-01")),
    ),
    "ids of one second as numbers": (
        *(DONE, event("9", "closed", "2024-01-01"), event("10", "reopened", "2024-01-02")),
        *(event("11", "closed", "2024-01-03", **BY_COMMIT), closed_at("2024-01-03")),
    ),
}


@pytest.mark.parametrize("statements", FIXED.values(), ids=FIXED)
def test_what_does_not_contradict_decides(tmp_path: Path, statements: tuple[str, ...]) -> None:
    assert put(Store(tmp_path / "e.duckdb"), *statements)[1][0] == "fixed"


def test_a_backed_out_fix_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    put(store, *UNKNOWN["a fix that was backed out by a commit"])
    with store.read() as connection:
        [(evidence,)] = connection.execute("SELECT evidence FROM item_dispositions").fetchall()
    assert evidence == "#20 names it as fixed, and was backed out"
