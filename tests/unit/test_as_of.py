"""What the tracker said on a day: rewound from the events where they are known, and honest where they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.as_of import REPO, answers, day, store, template, text  # noqa: F401 - fixtures
from torch_embers.store.records import Batch, Event, Item

if TYPE_CHECKING:
    from torch_embers.store.store import Store


def test_a_merged_pull_request_is_closed(store: Store) -> None:
    pull = Item(REPO, 1, kind="pull", state="closed", created_at=text(day(0)), history=True, labels=())
    merged = Event(REPO, 1, "1", "merged", created_at=text(day(1)))
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(items=[pull], events=[merged]))
    assert answers(store, day(0.5))[1]["state"] == "open"
    assert answers(store, day(1.5))[1]["state"] == "closed"
