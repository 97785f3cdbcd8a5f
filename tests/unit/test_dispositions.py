"""Why closed issues were closed: the shipped file, and what events and links say where nobody read the thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from helpers import rows
from helpers.rows import Comment, Disposition, Event, Item, Link
from support import execute
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    Told = tuple[str, rows.Row] | str
    """A row with the name of its table, or a statement that changes rows."""

REPO = "pytorch/pytorch"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "e.duckdb")


def put(store: Store, *told: Told) -> dict[int, tuple[Any, ...]]:
    """Store rows, then change them; what is said of each closed issue."""
    tables: dict[str, list[rows.Row]] = {}
    for table, row in (one for one in told if not isinstance(one, str)):
        tables.setdefault(table, []).append(row)
    rows.store_of(store.path, **tables)
    execute(store.path, *(one for one in told if isinstance(one, str)))
    with store.read() as connection:
        found = connection.execute(
            "SELECT number, disposition, evidence_kind, evidence_ref, annotator_kind FROM item_dispositions"
        ).fetchall()
    return {row[0]: row[1:] for row in found}


def item(number: int, state: str = "closed", reason: str = "", kind: str = "issue", **more: Any) -> Told:
    return "items", Item(REPO, number, kind, "t", state=state, state_reason=reason or None, **more)


def closing(number: int, kind: str, day: int, **more: Any) -> Told:
    return "events", Event(REPO, number, f"{number}-{day}", kind, f"2024-01-0{day}", **more)


def link(pull: int, issue: int) -> Told:
    return "links", Link(REPO, pull, "fixes", REPO, issue)


def read_as(number: int, disposition: str, day: str | None, **more: Any) -> Told:
    """A line of an annotator, with the day of its evidence."""
    return "dispositions", Disposition(REPO, number, disposition, day, **more)


def dispositions_of(store: Store) -> dict[int, tuple[str, str]]:
    with store.read() as connection:
        found = connection.execute("SELECT number, disposition, evidence FROM item_dispositions").fetchall()
    return {number: (disposition, evidence) for number, disposition, evidence in found}


def comment(number: int, name: str, author: str, at: str, body: str = "") -> Told:
    return "comments", Comment(REPO, number, name, author, created_at=at, body=body or name)


def test_events_and_links_decide_where_nobody_read_the_thread(store: Store) -> None:
    rows = put(
        store,
        item(1, reason="not_planned"),
        item(2, reason="duplicate"),
        item(3, reason="completed"),
        item(4, reason="completed"),
        item(5, state="open"),
        item(6, kind="pull"),
        item(7, reason="completed"),
        item(20, kind="pull", merged_at="2024-01-03"),
        item(21, kind="pull"),
        link(20, 3),
        link(21, 4),
        link(20, 7),
        closing(7, "closed", 1),
        closing(7, "reopened", 2),
        closing(7, "closed", 3),
        item(8, reason="completed"),
        closing(8, "closed", 4, commit_sha="abc"),
    )
    assert rows == {
        1: ("declined", "state_reason", None, "rule"),
        2: ("duplicate", "state_reason", None, "rule"),
        3: ("fixed", "closing_pr", "#20", "rule"),
        4: ("unknown", None, None, "rule"),
        7: ("unknown", None, None, "rule"),
        8: ("fixed", "commit", "abc", "rule"),
    }


def test_what_an_annotator_read_goes_before_rules_unless_it_is_unknown(store: Store) -> None:
    rows = put(
        store,
        *(line for number in (1, 2, 3) for line in (item(number, reason="not_planned"), closing(number, "closed", 3))),
        read_as(1, "fixed", "2024-01-03"),
        read_as(2, "unknown", "2024-01-03"),
        read_as(3, "fixed", "2024-01-03"),
        read_as(3, "stale", "2024-01-03", annotator_kind="human", annotator="b"),
    )
    assert {number: row[0] for number, row in rows.items()} == {1: "fixed", 2: "declined", 3: "stale"}


def test_what_was_read_of_a_closing_before_a_reopening_does_not_explain_the_last_one(store: Store) -> None:
    twice = [
        closing(number, kind, day)
        for number in (1, 2, 3)
        for kind, day in (("closed", 1), ("reopened", 2), ("closed", 3))
    ]
    put(
        store,
        item(1, reason="not_planned"),
        item(2, reason="completed"),
        item(3, reason="completed"),
        *(read_as(number, "fixed", "2023-05-01") for number in (1, 2, 3)),
        *twice,
        "UPDATE events SET commit_sha = 'abc' WHERE number = 3",
    )
    before = "a read fixed (2023-05-01)"
    assert dispositions_of(store) == {
        1: ("unknown", f"{before}, reopened on 2024-01-02; the tracker on 2024-01-03: closed as not planned"),
        2: ("unknown", f"{before}; reopened on 2024-01-02, and the last closing does not say why"),
        3: ("fixed", "a commit closed it"),
    }


def test_a_reading_without_a_day_does_not_outlive_a_reopening(store: Store) -> None:
    put(
        store,
        item(1, reason="completed"),
        read_as(1, "fixed", None),
        closing(1, "closed", 1),
        closing(1, "reopened", 2),
        closing(1, "closed", 3),
        item(2, reason="completed"),
        read_as(2, "fixed", None),
        closing(2, "closed", 1),
        item(3, reason="completed", closed_at="2024-03-01"),
        read_as(3, "fixed", "2024-02-01"),
        closing(3, "closed", 1),
        item(4, "open"),
        read_as(4, "fixed", None),
    )
    assert dispositions_of(store) == {
        1: ("unknown", "a read fixed, without a day; reopened on 2024-01-02, and the last closing does not say why"),
        2: ("fixed", "read"),
        3: ("unknown", "a read fixed (2024-02-01); closed again on 2024-03-01, and the last closing does not say why"),
    }


def test_a_pull_request_that_the_bot_labelled_as_merged_fixed_what_it_names(store: Store) -> None:
    landed = item(8, kind="pull", labels=("Merged", "x"))
    found = put(store, item(1), item(2), landed, item(9, kind="pull"), link(8, 1), link(9, 2))
    assert found[1][:3] == ("fixed", "closing_pr", "#8")
    assert found[2][0] == "unknown", "closed without the label, it may have been given up"


def test_a_merged_pull_request_contradicts_a_reading_only_where_it_is_known_to_be_later(store: Store) -> None:
    put(
        store,
        item(20, kind="pull", merged_at="2024-01-05"),
        *(line for number in (1, 2, 3) for line in (item(number, reason="completed"), link(20, number))),
        read_as(1, "declined", "2024-01-03"),
        read_as(2, "declined", "2024-01-06"),
        read_as(3, "declined", None),
        *(item(4, reason="completed"), closing(4, "closed", 3, other_repo=REPO, other_number=90)),
        read_as(4, "superseded", "2024-01-02", evidence_ref="#90"),  # the annotator names what closed it
    )
    found = {number: disposition for number, (disposition, _) in dispositions_of(store).items()}
    assert found == {1: "unknown", 2: "declined", 3: "declined", 4: "superseded"}


def closings(store: Store) -> dict[int, tuple[Any, ...]]:
    with store.read() as connection:
        found = connection.execute(
            "SELECT number, closed_by, reason, closing_number, closing_sha, closing_comment FROM closings"
        ).fetchall()
    return {row[0]: row[1:] for row in found}


def test_the_last_closing_says_who_and_through_what_and_with_which_words(store: Store) -> None:
    put(
        store,
        item(1, reason="not_planned"),
        closing(1, "closed", 1, actor="ann", other_repo=REPO, other_number=9),
        closing(1, "reopened", 2),
        closing(1, "closed", 3, actor="bob"),
        comment(1, "long before", "bob", "2024-01-02 12:00:00"),
        comment(1, "just before", "bob", "2024-01-02 23:56:00"),
        comment(1, "with it", "bob", "2024-01-03 00:00:01"),
        comment(1, "of another", "ann", "2024-01-03 00:00:02"),
        comment(1, "long after", "bob", "2024-01-03 00:05:00"),
        item(2, closed_by="cid", closed_at="2024-01-05"),
        comment(2, "without an event", "cid", "2024-01-05 00:00:00"),
        item(3, state="open"),
        item(4, kind="pull", reason="merged"),
        closing(4, "merged", 6, commit_sha="abc", actor="dan"),
    )
    assert closings(store) == {
        1: ("bob", "not_planned", None, None, "with it"),
        2: ("cid", None, None, None, "without an event"),
        4: ("dan", "merged", None, "abc", None),
    }
