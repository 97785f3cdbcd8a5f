"""One event of an item is one row, whichever sources tell of it, in whichever order."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from helpers.same_event import (
    AT,
    BY_NODE,
    BY_NUMBER,
    PAGE,
    shared,  # noqa: F401 - fixtures
    stored,
)
from support import rows
from torch_embers.mine import runner
from torch_embers.mine.readers import read
from torch_embers.store.records import Batch, Event
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.store.writer import Writer


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
