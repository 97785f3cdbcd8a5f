"""Why closed issues were closed: the shipped file, and what events and links say where nobody read the thread."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from helpers.rows import Commit, Event, Link, Row
from support import run_embers
from torch_embers import judgements, resources
from unit.test_dispositions import REPO, closing, comment, dispositions_of, item, link, put, read_as, store  # noqa: F401 - a fixture
from unit.test_judgements import GOOD

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.store.store import Store
    from unit.test_dispositions import Told


def said(number: int, what: str, **more: Any) -> tuple[Told, ...]:
    """An issue whose closer wrote a comment beside the closing."""
    wrote = comment(number, f"{number}00", "bob", "2024-01-03 00:00:01", what)
    return closing(number, "closed", 3, actor="bob", **more), wrote


def in_comment(number: int, relation: str, target: int, of: int) -> Told:
    return "links", Link(REPO, number, relation, REPO, target, found_in="comment", found_id=f"{of}00")


def test_the_last_closing_decides_by_what_closed_it_and_by_its_comment(store: Store) -> None:
    rows = put(
        store,
        item(1, reason="completed"),
        closing(1, "closed", 1),
        closing(1, "reopened", 2),
        closing(1, "closed", 3, other_repo=REPO, other_number=90),
        item(2, reason="completed"),
        closing(2, "closed", 3, other_repo=REPO, other_number=21),
        item(21, kind="pull"),
        item(3, reason="not_planned"),
        *said(3, "Duplicate of #50"),
        in_comment(3, "duplicates", 50, 3),
        item(4, reason="completed"),
        *said(4, "Superseded by #51"),
        in_comment(51, "supersedes", 4, 4),
        item(5, reason="completed"),
        *said(5, "Fixed by #52"),
        in_comment(52, "fixes", 5, 5),
        item(6, reason="completed"),
        *said(6, "Fixed by #21, which was closed unmerged"),
        in_comment(21, "fixes", 6, 6),
        item(7, reason="completed"),
        *said(7, "of another comment"),
        in_comment(53, "fixes", 7, 8),
        item(9, reason="completed"),
        *said(9, "Fixed by #22, which landed by a commit"),
        in_comment(22, "fixes", 9, 9),
        item(22, kind="pull"),
        ("commits", Commit(REPO, "abc", pull_number=22)),
    )
    comments = f"https://github.com/{REPO}/issues/%d#issuecomment-%d00"
    assert rows == {
        1: ("fixed", "closing_pr", "#90", "rule"),
        2: ("unknown", None, None, "rule"),
        3: ("duplicate", "comment", comments % (3, 3), "rule"),
        4: ("superseded", "comment", comments % (4, 4), "rule"),
        5: ("fixed", "comment", comments % (5, 5), "rule"),
        6: ("unknown", None, None, "rule"),
        7: ("unknown", None, None, "rule"),
        9: ("fixed", "comment", comments % (9, 9), "rule"),
    }
    with store.read() as connection:
        assert connection.execute("SELECT duplicate_of FROM item_dispositions WHERE number = 3").fetchall() == [(50,)]


def test_lines_that_left_the_file_are_gone_also_after_a_replay(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, mine = resources.data_file, tmp_path / "judgements.jsonl"
    monkeypatch.setattr(resources, "data_file", lambda name: mine if name == judgements.FILE else whole(name))

    def stored() -> list[tuple[int, str]]:
        with store.read() as connection:
            return connection.execute("SELECT number, annotator FROM dispositions ORDER BY ALL").fetchall()

    for lines in ([GOOD, GOOD | {"item": 3, "subject": "item:3"}], [GOOD | {"reader": "automated:second reader"}]):
        mine.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert run_embers("mine", "--source", "catalog", "--database", store.path).returncode == 0
    assert stored() == [(1, "second reader")]
    assert run_embers("mine", "--replay", "--database", store.path).returncode == 0
    assert stored() == [(1, "second reader")]


def test_contradictions_are_unknown_with_what_was_seen(store: Store) -> None:
    put(
        store,
        item(1, reason="completed"),
        read_as(1, "fixed", None, confidence=0.9),
        read_as(1, "declined", None, annotator="b", confidence=0.6),
        item(2, reason="completed", closed_at="2025-06-01"),
        closing(2, "closed", 1, commit_sha="abc"),
        closing(2, "reopened", 4),
        item(3, reason="not_planned"),
        *said(3, "Fixed by #52"),
        in_comment(52, "fixes", 3, 3),
        item(4, reason="completed"),
        *said(4, "Duplicate of #50 or #40"),
        in_comment(4, "duplicates", 50, 4),
        in_comment(4, "duplicates", 40, 4),
        item(5, reason="duplicate"),
        *said(5, "Duplicate of #6"),
        in_comment(5, "duplicates", 6, 5),
        item(6, reason="duplicate"),
        *said(6, "Duplicate of #5"),
        in_comment(6, "duplicates", 5, 6),
        item(7, reason="completed"),
        *said(7, "Duplicate of #50", other_repo=REPO, other_number=90),
        in_comment(7, "duplicates", 50, 7),
        item(8, reason="completed", created_at="2024-02-01"),
        item(20, kind="pull", merged_at="2020-01-03"),
        link(20, 8),
        item(9, reason="completed", closed_at="2025-06-01"),
        closing(9, "closed", 1, commit_sha="abc"),
    )
    found = dispositions_of(store)
    assert {disposition for disposition, _ in found.values()} == {"unknown"}
    assert {number: evidence for number, (_, evidence) in found.items()} == {
        1: "annotators disagree: declined (b), fixed (a)",
        2: "closed and reopened, and the last closing does not say why",
        3: "the last closing calls it fixed, and not planned",
        4: "the closing comment calls it a duplicate of #40 and of #50",
        5: "called a duplicate of #6, which is called a duplicate itself",
        6: "called a duplicate of #5, which is called a duplicate itself",
        7: "the last closing calls it fixed, and a duplicate",
        8: "#20 names it as fixed, and was merged before the report",
        9: "closed again later, and what closed it then was not seen",
    }


@pytest.mark.parametrize("day", ["2023-05-01", "2024-01-03", "2024-01-04", None])
def test_a_closing_that_contradicts_a_reading_counts_if_it_is_later_or_nobody_knows(
    store: Store, day: str | None
) -> None:
    put(
        store,
        item(1, reason="not_planned"),
        closing(1, "closed", 3),
        read_as(1, "fixed", day),
        item(2, reason="duplicate"),
        closing(2, "closed", 3),
        read_as(2, "declined", day),
        item(3, reason="completed"),
        *said(3, "Duplicate of #50"),
        in_comment(3, "duplicates", 50, 3),
        read_as(3, "duplicate", day, duplicate_of=40),
        item(4, reason="not_planned"),
        closing(4, "closed", 3),
        read_as(4, "stale", day),
        item(5, reason="completed"),
        closing(5, "closed", 3),
        read_as(5, "fixed", day),
    )
    found = dispositions_of(store)
    assert found.pop(4)[0] == "stale", "not planned is said of what is stale, too"
    assert found.pop(5)[0] == "fixed", "completed contradicts nothing"
    if day in ("2024-01-03", "2024-01-04"):
        assert {number: row[0] for number, row in found.items()} == {1: "fixed", 2: "declined", 3: "duplicate"}
        return
    said_when = f"({day}); the tracker on" if day else "without a day; the tracker on"
    for number, words in {
        1: ("a read fixed", "closed as not planned"),
        2: ("a read declined", "closed as duplicate"),
        3: ("a read duplicate of #40", "the closing comment calls it a duplicate of #50"),
    }.items():
        disposition, evidence = found[number]
        assert disposition == "unknown"
        assert all(word in evidence for word in (*words, said_when)), evidence
        assert ("which is later is not known" in evidence) == (day is None)


def test_show_says_who_closed_it_through_what_and_with_which_words(store: Store) -> None:
    put(
        store,
        item(1, reason="completed", author="zoe", created_at="2024-01-01", closed_at="2024-01-03"),
        closing(1, "closed", 3, actor="ann", other_repo=REPO, other_number=9),
        comment(1, "Fixed by #9.", "ann", "2024-01-03 00:00:01"),
    )
    done = run_embers("show", "1", "--database", store.path)
    assert done.returncode == 0, done.stderr
    told = done.stdout
    assert "opened 2024-01-01 (" in told
    assert " by zoe, closed 2024-01-03 (" in told
    assert " by ann\n" in told
    assert f"closed through {REPO}#9\n" in told
    assert "closing comment: Fixed by #9.\n" in told


MERGED = "2024-01-03"


def event(name: str, kind: str, moment: str | None, **columns: Any) -> Told:
    return "events", Event(REPO, 1, name, kind, moment, **columns)


def related(pull: int | None, relation: str, target: int, **more: Any) -> Told:
    return "links", Link(REPO, pull, relation, REPO, target, found_in="title", stated_at="2024-01-05", **more)


def closed_at(moment: str) -> str:
    return f"UPDATE items SET closed_at = TIMESTAMP '{moment}' WHERE number = 1"


def commit_of_history(moment: str, reason: str = "no_test_file", sha: str = "abcdef2", pull: int | None = None) -> Told:
    """A commit of a history that was read, which names the issue as fixed."""
    row = {"repo": REPO, "commit_sha": sha, "pull_number": pull, "issues": ["1"], "committed_at": moment}
    row |= {"status": "not_possible", "reason": reason, "first_release_by": "tag", "rules": "9"}
    return "fix_tests", Row(row | {"decided_at": "2026-01-01", "provenance": "shipped"})


DONE = item(1, reason="completed")
BY_COMMIT = {"commit_sha": "abcdef1"}
FIX = (item(20, kind="pull", merged_at=MERGED), link(20, 1))
UNKNOWN: dict[str, tuple[Told, ...]] = {
    "a mark as duplicate beside a merged fix": (
        *(DONE, *FIX, event("1", "closed", "2024-01-04")),
        event("2", "marked_as_duplicate", "2024-01-04", other_number=50),
    ),
    "a mark as duplicate beside a closing commit": (
        *(DONE, event("1", "closed", "2024-01-04", **BY_COMMIT)),
        event("2", "marked_as_duplicate", "2024-01-05", other_number=50),
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
        *(DONE, *FIX, item(21, kind="pull", merged_at="2024-01-05"), related(21, "reverts", 20)),
    ),
    "a fix that was backed out by a commit": (
        *(DONE, *FIX),
        related(None, "reverts", 20, sha="abc", evidence="commit"),
    ),
    "a commit of the history that was taken back": (DONE, commit_of_history("2024-01-03", "reverted")),
    "a commit of the history that came after the closing": (
        *(DONE, event("1", "closed", "2024-01-04"), closed_at("2024-01-04"), commit_of_history("2024-02-01")),
    ),
    "a commit of the history whose pull request was reverted elsewhere": (
        *(
            DONE,
            item(20, kind="pull", merged_at=MERGED),
            related(21, "reverts", 20),
            commit_of_history("2024-01-03", pull=20),
        ),
    ),
    "a commit of the history beside a mark as duplicate": (
        *(DONE, commit_of_history("2024-01-03"), event("1", "marked_as_duplicate", "2024-01-05", other_number=50)),
    ),
    "a commit of the history that a reader found not to decide": (
        *(DONE, commit_of_history("2024-01-03"), read_as(1, "unknown", None, evidence="it mends a part")),
    ),
    "a closing pull request that was backed out": (
        *(DONE, item(20, kind="pull", merged_at=MERGED), related(21, "backs_out", 20)),
        event("1", "closed", "2024-01-04", other_number=20),
    ),
}


FIXED: dict[str, tuple[Told, ...]] = {
    "a revert that was not merged": (*(DONE, *FIX, item(21, kind="pull"), related(21, "reverts", 20)),),
    "a fix that landed again": (
        *(DONE, *FIX, item(21, kind="pull", merged_at="2024-01-05"), related(21, "reverts", 20)),
        *(item(22, kind="pull", merged_at="2024-01-06"), related(22, "relands", 20)),
    ),
    "a fix whose own pull request landed again": (
        *(DONE, *FIX, related(21, "reverts", 20)),
        ("commits", Commit(REPO, "b", committed_at="2024-01-07", pull_number=20)),
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


@pytest.mark.parametrize(
    ("told", "disposition"),
    [
        *(pytest.param(told, "unknown", id=name) for name, told in UNKNOWN.items()),
        *(pytest.param(told, "fixed", id=name) for name, told in FIXED.items()),
    ],
)
def test_what_stands_against_a_closing_makes_it_unknown(store: Store, told: tuple[Told, ...], disposition: str) -> None:
    assert put(store, *told)[1][0] == disposition
