"""One event of an item is one row, whichever sources tell of it, in whichever order."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from helpers.same_event import (
    AT,
    BY_NODE,
    BY_NUMBER,
    PAGE,
    REPO,
    shared,  # noqa: F401 - fixtures
    stored,
)
from torch_embers.mine.readers import read
from torch_embers.mine.records import rest_records

if TYPE_CHECKING:
    from torch_embers.store.records import Event
    from torch_embers.store.writer import Writer
BY_ARCHIVE = replace(BY_NODE, event_id="archive:777", source="archive")
WITHOUT_ID = replace(BY_NODE, event_id=f"closed:1:{AT}:None#None", source="rest")
RANKS = {BY_NODE: 2, BY_NUMBER: 1, WITHOUT_ID: 1, BY_ARCHIVE: 0}


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    ("first", "second"), [(a, b) for a, b in itertools.permutations(RANKS, 2) if RANKS[a] != RANKS[b]]
)
def test_of_two_keys_of_one_event_the_better_one_stays(
    shared: Writer, first: Event, second: Event, together: bool
) -> None:
    batches = [[first, second]] if together else [[first], [second]]
    assert stored(shared, *batches) == [(max(first, second, key=RANKS.__getitem__).event_id,)]


def test_events_without_a_time_stay_apart(shared: Writer) -> None:
    timeless = [replace(one, created_at=None) for one in (BY_NODE, BY_NUMBER)]
    assert len(stored(shared, timeless)) == 2


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
