"""An item that was read whole replaces what is stored of it; one that was not waits to be read again."""

from __future__ import annotations

import shutil
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from support import rows
from torch_embers.link.stage import link_changed
from torch_embers.mine.pages import make_page
from torch_embers.store.records import Batch, Comment, Event, Item, PullFile, Reading, StatedLink
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
EARLY, NOON, LATE = "2024-01-23T10:00:00Z", "2024-01-23T12:00:00Z", "2024-01-23T14:00:00Z"
LATEST = "2024-01-23T16:00:00Z"
PARTS = ("item", "comments", "pull_files", "events", "closing_references", "closed_by")


@pytest.fixture
def database(new_database: Path, tmp_path: Path) -> Path:
    return shutil.copy(new_database, tmp_path / "e.duckdb")


def reading(
    comments: dict[str, str],
    at: str,
    *,
    paths: tuple[str, ...] = (),
    fixes: tuple[int, ...] = (),
    parts: tuple[str, ...] = PARTS,
    source: str = "graphql",
    number: int = 1,
    **defects: Any,
) -> Batch:
    """One page that holds an item with comments (id -> time of its edit), files and closing references."""
    page = make_page(REPO, source, "graphql.2", "issues", repr((comments, paths, fixes)).encode(), at)
    stamp = page.stamp
    return Batch(
        pages=[page],
        items=[Item(REPO, number, updated_at=at, **stamp)],
        comments=[
            Comment(REPO, number, c, updated_at=moment, body=f"fixes #{c}", **stamp) for c, moment in comments.items()
        ],
        pull_files=[PullFile(REPO, number, path, **stamp) for path in paths],
        stated_links=[StatedLink(REPO, number, "fixes", REPO, t, "closing_reference", **stamp) for t in fixes],
        readings=[Reading(REPO, number, part, page.page_id, **stamp, **defects) for part in parts],
    )


def commit(database: Path, *batches: Batch) -> None:
    with Store(database).writer("test", create=True) as writer:
        for batch in batches:
            writer.commit(batch)


def together(*batches: Batch) -> Batch:
    whole = Batch()
    for batch in batches:
        whole.extend(batch)
    return whole


def comments(database: Path) -> list[str]:
    return [c for (c,) in rows(database, "SELECT comment_id FROM comments ORDER BY ALL")]


def waiting(database: Path) -> list[tuple[Any, ...]]:
    return rows(database, "SELECT place, number, tries, since::VARCHAR, reason FROM incomplete_items ORDER BY ALL")


@pytest.mark.parametrize("at_once", [False, True])
def test_a_whole_reading_replaces_comments_files_and_closing_references(database: Path, at_once: bool) -> None:
    first = reading({"1": EARLY, "2": EARLY}, EARLY, paths=("a", "b"), fixes=(7, 8))
    second = reading({"2": EARLY, "3": NOON}, NOON, paths=("b",), fixes=(8,))
    commit(database, *([together(first, second)] if at_once else [first, second]))
    assert comments(database) == ["2", "3"]
    assert rows(database, "SELECT path FROM pull_files") == [("b",)]
    assert rows(database, "SELECT target_number FROM stated_links") == [(8,)]


def test_older_rows_of_other_sources_go_and_newer_ones_and_those_of_other_items_stay(database: Path) -> None:
    commit(database, reading({"old": EARLY}, EARLY, parts=(), source="rest"))
    commit(database, reading({"new": LATE}, LATE, parts=(), source="rest"))
    commit(database, reading({"edited": LATE}, EARLY, source="rest", parts=()))
    commit(database, reading({"of another": EARLY}, EARLY, number=2, paths=("a",)))
    commit(database, reading({"1": NOON, "edited": EARLY}, NOON))
    assert comments(database) == ["1", "edited", "new", "of another"]
    assert rows(database, "SELECT number FROM pull_files") == [(2,)]


@pytest.mark.parametrize("defect", [{"sound": False}, {"ends": False}, {"nodes": 1, "total": 2}])
def test_a_reading_that_is_not_whole_deletes_nothing_and_waits(database: Path, defect: dict[str, Any]) -> None:
    commit(database, reading({"1": EARLY}, EARLY))
    commit(database, reading({"2": NOON}, NOON, parts=("item", "comments"), **defect))
    assert comments(database) == ["1", "2"]
    assert [(place, number, tries) for place, number, tries, *_ in waiting(database)] == [("#1", 1, 1)]


@pytest.mark.parametrize("lack", [{"excused": True, "nodes": 0, "total": 6}, {"hidden": True, "nodes": 2, "total": 2}])
def test_what_the_source_counts_or_hides_is_not_waited_for_and_not_deleted(
    database: Path, lack: dict[str, Any]
) -> None:
    commit(database, reading({"1": EARLY}, EARLY, fixes=(7,)))
    commit(database, reading({}, NOON, **lack))
    assert comments(database) == ["1"]
    assert rows(database, "SELECT target_number FROM stated_links") == [(7,)]
    assert waiting(database) == []


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2)])
def test_it_makes_no_difference_how_readings_are_gathered_into_transactions(
    database: Path, cuts: tuple[int, ...]
) -> None:
    broken = {"sound": False, "reason": "comments: null"}
    whole = [reading({"1": EARLY, "2": EARLY}, EARLY), reading({"2": EARLY}, NOON)]
    readings = [*whole, reading({}, LATE, **broken), reading({"4": LATE}, LATEST, **broken)]
    edges = [0, *cuts, len(readings)]
    commit(database, *(together(*readings[a:b]) for a, b in pairwise(edges)))
    assert comments(database) == ["2", "4"]
    [(place, number, tries, since, _)] = waiting(database)
    assert (place, number, tries, since) == ("#1", 1, 2, "2024-01-23 14:00:00")


def test_a_row_of_a_later_reading_in_the_same_second_stays(database: Path) -> None:
    commit(database, together(reading({}, NOON), reading({"1": NOON}, NOON, sound=False)))
    assert comments(database) == ["1"]


def test_further_pages_complete_a_reading(database: Path) -> None:
    first = reading({"1": EARLY}, NOON, parts=("item",))
    begun = first.pages[0]
    more = make_page(REPO, "graphql", "graphql.2", "comments", b"more", LATE)
    stamps = (begun.stamp, more.stamp)
    first.readings += [
        Reading(REPO, 1, "comments", begun.page_id, ends=(n == 1), nodes=1, total=2 if n == 0 else None, **stamp)
        for n, stamp in enumerate(stamps)
    ]
    first.pages.append(more)
    first.comments.append(Comment(REPO, 1, "2", **more.stamp))
    commit(database, reading({"0": EARLY}, EARLY), first)
    assert comments(database) == ["1", "2"]
    assert waiting(database) == []


def test_an_item_waits_until_a_reading_of_all_its_parts_is_whole(database: Path) -> None:
    broken = {"sound": False, "reason": "comments: the server gave none"}
    commit(database, reading({}, EARLY, **broken), reading({}, NOON, **broken))
    [(place, number, tries, since, reason)] = waiting(database)
    assert (place, number, tries, since) == ("#1", 1, 2, "2024-01-23 10:00:00")
    assert "the server gave none" in reason
    commit(database, reading({}, LATE, parts=("comments",)))
    assert len(waiting(database)) == 1, "a source that reads comments alone does not complete an item"
    commit(database, reading({}, LATE))
    assert waiting(database) == []
    again = reading({}, LATEST, **broken)
    commit(database, again, again)
    assert len(waiting(database)) == 1, "a page that is committed twice waits once"


def test_an_item_without_a_number_waits_by_its_place(database: Path) -> None:
    page = make_page(REPO, "graphql", "graphql.2", "issues", b"{}", NOON)
    lost = Reading(REPO, None, "item", page.page_id, sound=False, place='{"after": "x"}', **page.stamp)
    commit(database, Batch(pages=[page], readings=[lost]))
    assert [w[:2] for w in waiting(database)] == [('{"after": "x"}', None)]


def test_links_of_a_deleted_comment_go_with_it(database: Path) -> None:
    store = Store(database)
    commit(database, reading({"5": EARLY, "6": EARLY}, EARLY))
    link_changed(store)
    assert rows(database, "SELECT count(*) FROM links WHERE found_in = 'comment'") == [(2,)]
    commit(database, reading({"6": EARLY}, NOON))
    link_changed(store)
    assert rows(database, "SELECT DISTINCT found_id FROM links WHERE found_in = 'comment'") == [("6",)]
    assert rows(database, "SELECT count(*) FROM link_scans WHERE origin = 'comment'") == [(1,)]


def test_events_of_kinds_that_no_reading_asks_for_stay(database: Path) -> None:
    page = make_page(REPO, "rest", "rest.events", "events", b"[]", EARLY)
    kinds = ("labeled", "closed", "referenced", "transferred")
    commit(database, Batch(events=[Event(REPO, 1, kind, kind, **page.stamp) for kind in kinds]))
    commit(database, reading({}, NOON))
    assert {t for (t,) in rows(database, "SELECT type FROM events")} == {"referenced", "transferred"}


def test_none_now_is_a_value_and_takes_the_place_of_an_older_one(database: Path) -> None:
    def item(at: str, **values: Any) -> Batch:
        return Batch(items=[Item(REPO, 1, updated_at=at, **values)])

    for order in ((0, 1), (1, 0)):
        both = [item(EARLY, milestone="2.0", author="alice"), item(NOON, milestone="", author="")]
        path = shutil.copy(database, database.with_suffix(f".{order[0]}"))
        commit(path, *(both[place] for place in order))
        assert rows(path, "SELECT milestone, author FROM items") == [("", "")]


def tombstone(at: str) -> Batch:
    page = make_page(REPO, "graphql", "github.tombstone", "item 1", b"{}", at)
    return Batch(items=[Item(REPO, 1, deleted_at=at, transferred_to="a/b#2", **page.stamp)])


def sighting(at: str, updated: str, source: str = "graphql") -> Batch:
    page = make_page(REPO, source, "graphql.2", "issues", at.encode(), at)
    return Batch(items=[Item(REPO, 1, title="t", state="open", updated_at=updated, **page.stamp)])


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    ("batches", "gone"),
    [
        ([sighting(EARLY, EARLY), tombstone(NOON)], True),
        ([sighting(EARLY, EARLY), tombstone(NOON), sighting(LATE, NOON)], False),
        ([sighting(EARLY, EARLY), tombstone(NOON), sighting(LATE, LATE), sighting(LATEST, LATEST)], False),
        ([sighting(EARLY, EARLY), tombstone(NOON), sighting(LATE, LATE), tombstone(LATEST)], True),
        ([sighting(EARLY, EARLY), tombstone(NOON), sighting(LATE, LATE, "archive")], True),
        ([sighting(EARLY, EARLY), tombstone(NOON), sighting(NOON, NOON)], True),
    ],
)
def test_an_item_that_github_shows_again_is_not_gone(
    database: Path, batches: list[Batch], gone: bool, at_once: bool
) -> None:
    commit(database, *([together(*batches)] if at_once else batches))
    found = rows(database, "SELECT deleted_at IS NOT NULL, transferred_to IS NOT NULL FROM items")
    assert found == [(gone, gone)]
