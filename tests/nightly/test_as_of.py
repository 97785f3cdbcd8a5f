"""What the tracker said on a day: rewound from the events where they are known, and honest where they are not."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.rows import Event, Item, Row, put
from support import example_count
from torch_embers.store.store import Store
from unit.test_store import store  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
START = datetime(2024, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


def text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def answers(store: Store, moment: datetime) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for row in store.as_of(moment).to_dict("records"):
        row["labels"] = None if row["labels"] is None else tuple(row["labels"])
        found[int(row["number"])] = {str(name): value for name, value in row.items()}
    return found


AFTER = timedelta(microseconds=500_000)


@dataclass
class History:
    """The life of one item, told forward; ``states`` is what the tracker showed after each step."""

    number: int
    history: bool = True
    state: str = "open"
    title: str = "first"
    labels: set[str] = field(default_factory=set)
    closed_at: datetime | None = None
    now: datetime = START
    events: list[Row] = field(default_factory=list)
    states: list[tuple[datetime, str, str, tuple[str, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.created = self.now
        self._note()

    def _note(self) -> None:
        self.states.append((self.now, self.state, self.title, tuple(sorted(self.labels))))

    def step(self, kind: str, moment: datetime, label: str = "") -> None:
        """One event, if it makes sense now."""
        possible = {
            "closed": self.state == "open",
            "reopened": self.state == "closed",
            "labeled": label not in self.labels,
            "unlabeled": label in self.labels,
            "renamed": True,
        }
        if not possible[kind]:
            return
        self.now = moment
        values: dict[str, Any] = {}
        if kind in ("closed", "reopened"):
            self.state = "closed" if kind == "closed" else "open"
            self.closed_at = moment if kind == "closed" else None
        elif kind == "renamed":
            values = {"title_from": self.title, "title_to": f"title {len(self.events)}"}
            self.title = values["title_to"]
        else:
            values = {"label": label}
            self.labels ^= {label}
        identity = f"{self.number * 10_000 + len(self.events)}"
        self.events.append(Event(REPO, self.number, identity, kind, created_at=text(moment), **values))
        self._note()

    def item(self) -> Row:
        return Item(
            REPO,
            self.number,
            kind="issue",
            title=self.title,
            state=self.state,
            labels=tuple(sorted(self.labels)),
            created_at=text(self.created),
            closed_at=text(self.closed_at) if self.closed_at else None,
            updated_at=text(self.now),
            history=True if self.history else None,
        )

    def batch(self) -> dict[str, list[Row]]:
        return {"items": [self.item()], "events": list(self.events) if self.history else []}

    def at(self, moment: datetime) -> tuple[str, str, tuple[str, ...]] | None:
        """State, title and labels at a moment; ``None`` before the item existed."""
        passed = [s for s in self.states if s[0] <= moment]
        return passed[-1][1:] if passed else None


def load(store: Store, *histories: History) -> None:
    batches = [history.batch() for history in histories]
    with store.writer("test", create=True) as writer:
        with writer.transaction() as connection:
            connection.execute("DELETE FROM items; DELETE FROM events")
        put(writer, **{name: [row for batch in batches for row in batch[name]] for name in ("items", "events")})


def lived() -> History:
    history = History(1)
    history.step("labeled", day(1), "bug")
    history.step("closed", day(2))
    history.step("renamed", day(3))
    history.step("reopened", day(4))
    history.step("unlabeled", day(5), "bug")
    history.step("labeled", day(5.5), "mps")
    history.step("closed", day(6))
    return history


def test_a_merged_pull_request_is_closed(store: Store) -> None:
    pull = Item(REPO, 1, kind="pull", state="closed", created_at=text(day(0)), history=True, labels=())
    merged = Event(REPO, 1, "1", "merged", created_at=text(day(1)))
    with store.writer("test", create=True) as writer:
        put(writer, items=[pull], events=[merged])
    assert answers(store, day(-1)) == {}, "it does not exist before it was created"
    assert answers(store, day(0.5))[1]["state"] == "open"
    assert answers(store, day(1.5))[1]["state"] == "closed"


def test_an_item_that_went_is_there_until_it_was_found_gone(store: Store) -> None:
    load(store, lived())
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        connection.execute(
            "UPDATE items SET deleted_at = ?, transferred_to = 'pytorch/vision#1'", [day(8).replace(tzinfo=None)]
        )
    assert set(answers(store, day(7))) == {1}
    assert set(answers(store, day(9))) == set()


def test_a_moment_in_another_time_zone_is_the_same_moment(store: Store) -> None:
    load(store, lived())
    east = day(2).astimezone(timezone(timedelta(hours=9)))
    assert answers(store, east)[1]["state"] == "closed"
    assert answers(store, east - timedelta(seconds=1))[1]["state"] == "open"


def test_a_label_event_whose_label_is_unknown_invents_no_label(store: Store) -> None:
    history = lived()
    history.events.append(Event(REPO, 1, "99999", "unlabeled", created_at=text(day(6.5))))
    load(store, history)
    assert answers(store, day(2))[1]["labels"] == ("bug",)


kinds = st.sampled_from(["closed", "reopened", "labeled", "unlabeled", "renamed"])
steps = st.lists(st.tuples(kinds, st.sampled_from("ab"), st.integers(0, 2)), max_size=10)


@st.composite
def lives(draw: st.DrawFn) -> list[History]:
    found = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        history = History(number, history=draw(st.booleans()), now=day(draw(st.integers(0, 2))))
        moment = history.now
        for kind, label, passed in draw(steps):
            moment += timedelta(seconds=passed)
            history.step(kind, moment, label)
        found.append(history)
    return found


@pytest.fixture(scope="module")
def shared(new_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("lives") / "e.duckdb"
    shutil.copy(new_database, path)
    return Store(path)


@settings(max_examples=example_count(12), suppress_health_check=[HealthCheck.too_slow])
@given(lives())
def test_replaying_the_events_forward_gives_the_same_at_every_event(shared: Store, histories: list[History]) -> None:
    load(shared, *histories)
    moments = {s[0] for h in histories for s in h.states}
    for moment in sorted(moments | {m + AFTER for m in list(moments)[:2]} | {START - AFTER})[:6]:
        found = answers(shared, moment)
        assert set(found) == {h.number for h in histories if h.at(moment)}
        for history in histories:
            expected = history.at(moment)
            if expected is None:
                continue
            row = found[history.number]
            if history.history:
                assert row["state_known"]
                assert row["labels_known"]
                assert (row["state"], row["title"], row["labels"]) == expected
            else:
                assert not row["labels_known"]
                assert row["state"] == expected[0] or not row["state_known"], "claims to know a state that was not so"


def test_without_history_a_state_after_the_last_closing_is_known(store: Store) -> None:
    history = History(1, history=False)
    history.step("closed", day(2))
    load(store, history)
    later = answers(store, day(3))[1]
    assert later["state"] == "closed"
    assert later["state_known"]
    assert not later["labels_known"]


def test_without_history_the_time_before_a_closing_or_of_an_open_item_is_a_guess(store: Store) -> None:
    """It may have been closed and reopened before, of which its dates tell nothing."""
    for kinds in (("closed", "reopened", "closed"), ("closed", "reopened")):
        history = History(1, history=False)
        for number, kind in enumerate(kinds, start=1):
            history.step(kind, day(number))
        load(store, history)
        row = answers(store, day(1.5))[1]
        assert row["state"] == "open"
        assert not row["state_known"]
