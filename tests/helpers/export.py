"""What the tests in test_export.py share."""

from __future__ import annotations

import pytest

from torch_embers.store.records import Batch, Comment, Event, Item, Reject
from torch_embers.store.store import Store

REPO = "pytorch/pytorch"
TEXTS = ["plain", "", None, 'a "quoted", text', "two\r\nlines\n", "NULL", "é 🔥 \\ \t", "'", "-1", "x" * 100_000]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A database with every awkward text."""
    store = Store(tmp_path_factory.mktemp("export") / "it's.duckdb")
    items = [
        Item(
            REPO,
            number,
            title=text,
            body=text,
            state="open",
            is_draft=[None, True, False][number % 3],
            created_at="2024-01-23T12:00:00.123456Z",
            labels=[None, (), ("a, b", 'c"d', "it's")][number % 3],
        )
        for number, text in enumerate(TEXTS, start=1)
    ]
    events = [Event(REPO, 1, "1", "labeled", label="a, b", created_at="2024-01-23T12:00:00Z")]
    comments = [Comment(REPO, 1, str(n), body=text or "") for n, text in enumerate(TEXTS)]
    with store.writer("test", create=True) as writer:
        writer.commit(
            Batch(
                items=items,
                events=events,
                comments=comments,
                rejects=[Reject("f:1", 1, "no JSON", "{", source="jsonl")],
            )
        )
    return store
