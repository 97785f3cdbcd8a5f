"""One event of an item is one row, whichever sources tell of it, in whichever order."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support import rows
from torch_embers.mine import runner
from torch_embers.mine.pages import make_page
from torch_embers.mine.readers import read
from torch_embers.mine.records import rest_records
from torch_embers.store.records import Batch, Event
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch_embers.store.writer import Writer

REPO = "alice/bugs"
AT = "2024-01-02T00:00:00Z"
PAGE = make_page(REPO, "rest", "rest.events", "r", b"[]", AT)
BY_NODE = Event(REPO, 1, "CE_lADO1", "closed", AT, "ann", source="graphql")
BY_NUMBER = replace(BY_NODE, event_id="41", source="rest")


_counter = itertools.count()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    """A writer for all tests here; each writes to a repository of its own."""
    store = Store(tmp_path_factory.mktemp("events") / "e.duckdb")
    with store.writer("test", create=True) as writer:
        yield writer


def stored(writer: Writer, *batches: Sequence[Event], columns: str = "event_id") -> list[tuple[object, ...]]:
    """What is stored of these events, after a transaction each."""
    repo = f"o/events{next(_counter)}"
    for events in batches:
        writer.commit(Batch(events=[replace(event, repo=repo) for event in events]))
    return rows(writer.path, f"SELECT {columns} FROM events WHERE repo = '{repo}' ORDER BY event_id")


BY_ARCHIVE = replace(BY_NODE, event_id="archive:777", source="archive")
WITHOUT_ID = replace(BY_NODE, event_id=f"closed:1:{AT}:None#None", source="rest")
RANKS = {BY_NODE: 2, BY_NUMBER: 1, WITHOUT_ID: 1, BY_ARCHIVE: 0}


@pytest.mark.parametrize("together", [False, True])
def test_of_two_keys_of_one_event_the_better_one_stays(shared: Writer, together: bool) -> None:
    for first, second in itertools.permutations(RANKS, 2):
        if RANKS[first] != RANKS[second]:
            batches = [[first, second]] if together else [[first], [second]]
            assert stored(shared, *batches) == [(max(first, second, key=RANKS.__getitem__).event_id,)]


@pytest.mark.parametrize("turned", [False, True])
def test_a_source_that_says_less_of_an_event_blanks_nothing(shared: Writer, turned: bool) -> None:
    full = replace(BY_NODE, type="marked_as_duplicate", other_repo=REPO, other_number=7, will_close=True)
    thin = replace(BY_NODE, type="marked_as_duplicate", source="rest")
    order = [full, thin] if turned else [thin, full]
    found = stored(shared, *([one] for one in order), columns="other_repo, other_number, will_close, source")
    assert found == [(REPO, 7, True, order[-1].source)]


def test_a_rest_event_has_the_key_that_graphql_gives_it() -> None:
    event = {"id": 41, "node_id": "CE_lADO1", "event": "closed", "created_at": AT, "actor": {"login": "ann"}}
    found = rest_records.event(event, 1, PAGE)
    assert found is not None
    assert found.event_id == "CE_lADO1"
    for odd in ({"node_id": None}, {"node_id": ""}, {"node_id": 5}, {"node_id": ["CE_1"]}):
        older = rest_records.event(event | odd, 1, PAGE)
        assert older is not None
        assert older.event_id == "41"


def test_events_of_one_second_keep_their_order_though_the_listing_has_the_newest_first() -> None:
    issue = {"number": 1}
    listed = [
        {"id": n, "node_id": f"LE_{n}", "event": name, "created_at": AT, "label": {"name": "x"}, "issue": issue}
        for n, name in ((12, "labeled"), (11, "unlabeled"), (2, "labeled"))
    ]
    events = read(replace(PAGE, body=json.dumps(listed).encode())).events
    assert [event.event_id for event in events] == ["LE_2", "LE_11", "LE_12"]


@pytest.mark.parametrize(
    "other",
    [
        replace(BY_NUMBER, number=2),
        replace(BY_NUMBER, type="reopened"),
        replace(BY_NUMBER, created_at="2024-01-02T00:00:01Z"),
        replace(BY_NUMBER, actor="bob"),
        replace(BY_NUMBER, actor=None),
        replace(BY_NUMBER, label="bug"),
        replace(BY_NUMBER, commit_sha="bbb"),
        replace(BY_NUMBER, other_number=8),
        replace(BY_NODE, event_id="CE_lADO2"),
    ],
    ids=lambda other: f"{other.number}-{other.type}-{other.actor}-{other.event_id}-{other.created_at}",
)
def test_events_that_differ_stay_apart(shared: Writer, other: Event) -> None:
    known = replace(BY_NODE, commit_sha="aaa", other_number=9)
    assert len(stored(shared, [known], [other])) == 2
    assert len(stored(shared, [other], [known])) == 2


@pytest.mark.parametrize("turned", [False, True])
def test_a_replay_gives_the_same_events(database: Path, turned: bool) -> None:
    old = {"id": 41, "event": "closed", "created_at": AT, "actor": {"login": "ann"}, "issue": {"number": 1}}
    pages = [
        replace(PAGE, page_id=name, body=json.dumps([event]).encode())
        for name, event in (("old", old), ("new", old | {"node_id": "CE_lADO1"}))
    ]
    if turned:
        pages.reverse()
    store = Store(database)
    with store.writer("test", create=True) as writer:
        for page in pages:
            writer.commit(Batch(pages=[page], events=read(page).events))
    before = rows(database, "SELECT * FROM events")
    runner.replay(store)
    assert rows(database, "SELECT event_id FROM events") == [("CE_lADO1",)]
    assert rows(database, "SELECT * FROM events") == before


def test_events_without_a_time_stay_apart(shared: Writer) -> None:
    timeless = [replace(one, created_at=None) for one in (BY_NODE, BY_NUMBER)]
    assert len(stored(shared, timeless)) == 2
