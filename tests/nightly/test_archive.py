"""GH Archive hours: which lines are ours, what an event says, and what damage costs."""

from __future__ import annotations

import itertools
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_embers.mine.files.archive import ArchiveSource, Sieve
from torch_embers.store.records import Batch

from support import rows
from torch_embers.errors import InputError
from torch_embers.store.store import Store
from unit.test_archive import LATER, NOON, REPO, event, hours, issue, mine, read, write_hour

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
LAST = "2024-01-23T12:40:00Z"


def collect(source: ArchiveSource, total: Batch, cursors: dict[str, str]) -> None:
    """Run a source into ``total`` and ``cursors``, which also hold what came before an error."""
    for batch in source.batches(cursors):
        cursors.update({cursor.stream: cursor.cursor for cursor in batch.cursors})
        total.extend(batch)


def stored(database: Path, *events: Mapping[str, Any]) -> tuple[Any, ...]:
    """What the database has of the one item that these events tell of."""
    database.unlink(missing_ok=True)
    with Store(database).writer("test", create=True) as writer:
        writer.commit(read(*events))
    [item] = rows(database, "SELECT state, title, body, author_association, base_ref, closed_at::VARCHAR FROM items")
    return item


def test_an_older_event_never_overwrites_a_newer_state(database: Path) -> None:
    newer = event("IssuesEvent", {"action": "closed", "issue": issue(state="closed", title="new", updated_at=LATER)})
    older = event("IssuesEvent", {"action": "opened", "issue": issue(title="old", author_association="MEMBER")})
    for events in ((newer, older), (older, newer)):
        assert stored(database, *events)[:4] == ("closed", "new", "B", "MEMBER")


def test_an_old_text_gets_no_new_time_from_a_late_event_whatever_the_order_of_the_lines(database: Path) -> None:
    comment, link = {"id": 9, "body": "c", "created_at": NOON}, {"merged_at": None}
    old, new = (
        event("IssueCommentEvent", {"action": "created", "comment": comment, "issue": about}, id=about["title"])
        for about in (issue(title="1", pull_request=link), issue(title="2", pull_request=link, updated_at=LATER))
    )
    pull = {"number": 5, "base": {"ref": "main"}, "head": {"ref": "h"}}
    last = event("PullRequestEvent", {"action": "labeled", "number": 5, "pull_request": pull}, created_at=LAST)
    for events in itertools.permutations((old, new, last)):
        assert stored(database, *events)[:5] == ("open", "2", "B", None, "main")
    assert [(item.title, item.updated_at) for item in read(last, old).items] == [("1", NOON), (None, LAST)]


def test_a_reopened_issue_has_no_closing_time_left(database: Path) -> None:
    closed = event("IssuesEvent", {"action": "closed", "issue": issue(state="closed", closed_at=NOON)})
    opened = event("IssuesEvent", {"action": "reopened", "issue": issue(updated_at=LATER)}, id="2")
    for events in ((closed, opened), (opened, closed)):
        assert stored(database, *events)[::5] == ("open", None)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just(NOON),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_FIELDS = st.sampled_from(sorted({*issue(), "id", "pull_request", "merged", "merged_at", "created_at", "reactions"}))
_THING = st.dictionaries(_FIELDS, _JSON, max_size=8)
_PAYLOAD = st.fixed_dictionaries(
    {},
    optional={
        "action": st.sampled_from(["closed", "edited", "deleted", "transferred", "labeled", "merged"]) | _JSON,
        "issue": _THING | _JSON,
        "comment": _THING | _JSON,
        "pull_request": _THING | _JSON,
        "changes": _JSON,
        "label": _JSON,
    },
)


@given(
    st.sampled_from(["IssuesEvent", "IssueCommentEvent", "PullRequestEvent"]),
    _PAYLOAD,
    st.dictionaries(st.sampled_from(["id", "actor", "created_at"]), _JSON),
)
def test_fields_of_any_type_give_records_or_a_reject(kind: str, payload: Any, changes: dict[str, Any]) -> None:
    good = event("IssuesEvent", {"action": "opened", "issue": issue(number=2_000_000)})
    batch = read(event(kind, payload, **changes), good)
    assert len(batch.items) + len(batch.rejects) >= 2
    for item in batch.items:
        assert item.state in (None, "open", "closed")
        assert item.labels is None or all(isinstance(label, str) for label in item.labels)
        texts = (item.title, item.body, item.author, item.updated_at, item.closed_at, item.milestone, item.merge_sha)
        assert all(text is None or isinstance(text, str) for text in texts)


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_a_truncated_file_keeps_what_came_before_and_is_named_at_the_end(tmp_path: Path, keep: float) -> None:
    paths = hours(tmp_path)
    many = (event("IssuesEvent", {"issue": issue(number=n, body=os.urandom(500).hex())}) for n in range(10, 2_010))
    write_hour(paths[1], *many)
    whole = paths[1].read_bytes()
    paths[1].write_bytes(whole[: int(len(whole) * keep)])
    total = Batch()
    state: dict[str, str] = {}
    with pytest.raises(InputError, match=r"2024-01-23-10\.json\.gz.*ends early") as raised:
        collect(ArchiveSource(REPO, [str(tmp_path)]), total, state)
    assert "\n" not in str(raised.value)
    assert len(total.items) > 1_900 * keep
    assert {1, 3} <= {item.number for item in total.items}
    paths[1].write_bytes(whole)
    again, _ = mine([str(tmp_path)], state)
    assert {item.number for item in again.items} == set(range(10, 2_010))


def test_the_time_to_sieve_grows_with_the_text_only() -> None:
    def seconds(count: int) -> float:
        hostile = b'{"a":"' + b'x/pytorch" /pytorch"' * count + b'"}\n'
        start = time.thread_time()
        assert not list(Sieve.of(REPO).lines([hostile, hostile[:-2] + b"\n"]))[2:]
        return time.thread_time() - start

    seconds(1_000)
    assert seconds(320_000) < 64 * max(seconds(20_000), 0.001)
