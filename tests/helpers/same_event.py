"""What the tests in test_same_event.py share."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from support import rows
from torch_embers.mine.pages import make_page
from torch_embers.store.records import Batch, Event
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
