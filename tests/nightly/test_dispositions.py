"""Why closed issues were closed: the shipped file, and what events and links say where nobody read the thread."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from helpers.dispositions import GOOD, REPO, closing, comment, dispositions_of, item, link, put, read_as
from support import run_embers
from torch_embers.mine.files import dispositions
from torch_embers.mine.pages import make_page
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def said(number: int, what: str) -> tuple[str, ...]:
    """An issue whose closer wrote a comment beside the closing."""
    return (
        closing(number, "closed", 3),
        f"UPDATE events SET actor = 'bob' WHERE number = {number}",
        comment(number, f"{number}00", "bob", "2024-01-03 00:00:01"),
        f"UPDATE comments SET body = '{what}' WHERE number = {number}",
    )


def in_comment(number: int, relation: str, target: int, of: int) -> str:
    return (
        "INSERT INTO links (repo, number, relation, target_repo, target_number, evidence, found_in, found_id) "
        f"VALUES ('{REPO}', {number}, '{relation}', '{REPO}', {target}, 'text', 'comment', '{of}00')"
    )


def test_the_last_closing_decides_by_what_closed_it_and_by_its_comment(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    rows = put(
        store,
        item(1, reason="completed"),
        closing(1, "closed", 1),
        closing(1, "reopened", 2),
        closing(1, "closed", 3),
        f"UPDATE events SET other_repo = '{REPO}', other_number = 90 WHERE event_id = '1-3'",
        item(2, reason="completed"),
        closing(2, "closed", 3),
        f"UPDATE events SET other_repo = '{REPO}', other_number = 21 WHERE number = 2",
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
        f"INSERT INTO commits (repo, sha, pull_number) VALUES ('{REPO}', 'abc', 22)",
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


def test_lines_that_left_the_file_are_gone_also_after_a_replay(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")

    def stored() -> list[tuple[int, str]]:
        with store.read() as connection:
            return connection.execute("SELECT number, annotator FROM dispositions ORDER BY ALL").fetchall()

    files = [[GOOD, GOOD | {"number": 3}], [GOOD | {"annotator": "second reader"}]]
    with store.writer("test", create=True) as writer:
        for lines in files:
            body = "\n".join(map(json.dumps, lines)).encode()
            page = make_page(REPO, "catalog", dispositions.KIND, dispositions.FILE, body)
            batch = dispositions.read_dispositions(page)
            batch.pages.append(page)
            writer.commit(batch)
    assert stored() == [(1, "second reader")]
    assert run_embers("mine", "--replay", "--database", store.path).returncode == 0
    assert stored() == [(1, "second reader")]


def unknown_reasons(store: Store) -> dict[int, str]:
    with store.read() as connection:
        found = connection.execute("SELECT number, disposition, evidence FROM item_dispositions").fetchall()
    assert {row[1] for row in found} == {"unknown"}
    return {number: evidence for number, _, evidence in found}


def test_contradictions_are_unknown_with_what_was_seen(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    read_as = (
        "INSERT INTO dispositions (repo, number, disposition, evidence_kind, evidence, annotator_kind, annotator, confidence, "
        f"source) VALUES ('{REPO}', %d, '%s', 'comment', 'read', 'automated', '%s', %s, 'catalog')"
    )
    put(
        store,
        item(1, reason="completed"),
        read_as % (1, "fixed", "a", 0.9),
        read_as % (1, "declined", "b", 0.6),
        item(2, reason="completed"),
        closing(2, "closed", 1),
        "UPDATE events SET commit_sha = 'abc' WHERE number = 2",
        closing(2, "reopened", 4),
        "UPDATE items SET closed_at = TIMESTAMP '2025-06-01' WHERE number = 2",
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
        *said(7, "Duplicate of #50"),
        in_comment(7, "duplicates", 50, 7),
        f"UPDATE events SET other_repo = '{REPO}', other_number = 90 WHERE number = 7",
        item(8, reason="completed"),
        "UPDATE items SET created_at = TIMESTAMP '2024-02-01' WHERE number = 8",
        item(20, kind="pull", merged="TIMESTAMP '2020-01-03'"),
        link(20, 8),
        item(9, reason="completed"),
        closing(9, "closed", 1),
        "UPDATE events SET commit_sha = 'abc' WHERE number = 9",
        "UPDATE items SET closed_at = TIMESTAMP '2025-06-01' WHERE number = 9",
    )
    assert unknown_reasons(store) == {
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
    tmp_path: Path, day: str | None
) -> None:
    store = Store(tmp_path / "e.duckdb")
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


def test_show_says_who_closed_it_through_what_and_with_which_words(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    put(
        store,
        item(1, reason="completed"),
        closing(1, "closed", 3),
        f"UPDATE events SET actor = 'ann', other_repo = '{REPO}', other_number = 9",
        "UPDATE items SET author = 'zoe', created_at = TIMESTAMP '2024-01-01', closed_at = TIMESTAMP '2024-01-03'",
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
