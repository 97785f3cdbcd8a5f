"""Listings whose records stand in the wrong place, come from the future, or come in part; read without a store."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import pytest
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.mine.github.rest import timeline

from servers.github import Answered, GitHub, filled
from servers.tracker import START, moment
from support import rest
from torch_embers.errors import ShortListingError, SourceError, UnknownRepositoryError
from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from collections.abc import Callable

    from servers.tracker import Repository

REPO = "alice/bugs"
FUTURE = "2099-01-01T00:00:00Z"


class Mined:
    """What several runs read, each from the cursors of the one before it; of each key what came last."""

    def __init__(self, tracker: GitHub, *tokens: str) -> None:
        self.tracker, self.tokens = tracker, tokens
        self.state: dict[str, str] = {}
        self.tables: dict[str, dict[Any, Any]] = defaultdict(dict)

    def run(self, **scope: Any) -> None:
        for batch in rest(self.tracker.url, REPO, *self.tokens, page_size=10, **scope).batches(self.state):
            self.tables["items"].update((item.number, item) for item in batch.items if item.title)
            self.tables["pulls"].update((item.number, item) for item in batch.items if item.head_sha)
            self.tables["comments"].update((comment.comment_id, comment) for comment in batch.comments)
            self.tables["events"].update((event.event_id, event) for event in batch.events)
            self.state.update((cursor.stream, cursor.cursor) for cursor in batch.cursors)

    def changed(self, table: str = "items") -> int:
        return sum(item.title == "Changed" for item in self.tables[table].values())

    def count(self, table: str) -> int:
        return len(self.tables[table])


def dated_by(repository: Repository) -> Callable[[Answered], Answered]:
    """Answers say that it is as late as the clock of a repository."""

    def dated(answered: Answered) -> Answered:
        now = START + timedelta(minutes=repository.clock)
        return Answered(answered.body, answered.status, answered.headers | {"Date": format_datetime(now, usegmt=True)})

    return dated


# ---- records in the wrong place


@pytest.mark.parametrize("moved", [1, 25])
@pytest.mark.parametrize("behind", [3, 9, 27])
def test_old_events_of_a_transferred_item_end_no_list(tracker: GitHub, behind: int, moved: int) -> None:
    repository = filled(tracker, 12)
    mined = Mined(tracker, "t")
    mined.run()
    for _ in range(30):
        repository.event(2)
    for place in range(moved):  # they keep their times and get new ids
        repository.event(2, "renamed")["created_at"] = moment(place / 60)
    for _ in range(behind):
        repository.event(2)
    mined.run()
    assert mined.count("events") == len(repository.events)


def test_a_bound_is_not_met_by_a_single_old_event(tracker: GitHub) -> None:
    repository = filled(tracker, 12)
    bound = repository.clock
    for _ in range(20):
        repository.event(2)
    repository.events[14]["created_at"] = moment(0)
    mined = Mined(tracker, "t")
    mined.run(since=moment(bound))
    assert mined.count("events") >= 20


def test_a_quiet_list_of_events_is_asked_for_once(tracker: GitHub) -> None:
    repository = filled(tracker, 60)
    mined = Mined(tracker, "t")
    mined.run()
    for gone in ((), (60, 54, 48)):  # those that were the newest
        for number in gone:
            repository.delete(number)
        tracker.asked.clear()
        mined.run()
        assert len(tracker.requests("/issues/events")) == 1


@pytest.mark.parametrize("page", ["2", "3"])
def test_no_reference_of_a_bot_is_lost_when_others_leave_the_timeline(tracker: GitHub, page: str) -> None:
    """References to an item have no id, and a bot makes many within one second."""
    repository = tracker.repository(REPO)
    repository.add(1)
    for place in range(330):
        repository.event(1)["created_at"] = moment(499 if place < 80 else 501)
        if 80 <= place < 280:
            source = {"type": "issue", "issue": {"number": 1_000 + place}}
            reference = {"event": "cross-referenced", "created_at": moment(500), "number": 1, "source": source}
            repository.events[-1] = reference

    def leave() -> None:
        repository.events = repository.events[3:]

    tracker.before(leave, "/timeline", page=page)
    pages = timeline(rest(tracker.url, REPO, "t"), 1)
    found = [event for page in pages for event in json.loads(page.body)]
    assert {e["source"]["issue"]["number"] for e in found if "source" in e} == {1_000 + n for n in range(80, 280)}
    assert {e["id"] for e in repository.events if "id" in e} <= {e.get("id") for e in found}


# ---- records of the future


@pytest.mark.parametrize("tokens", [("t",), ()])
def test_a_record_of_the_future_hides_nothing_that_changes_later(tracker: GitHub, tokens: tuple[str, ...]) -> None:
    repository = filled(tracker, 40, pulls=20)
    repository.touch(5)["updated_at"] = FUTURE
    repository.touch(44)["updated_at"] = FUTURE
    repository.comment(7)["updated_at"] = FUTURE
    repository.event(8)["created_at"] = FUTURE
    mined = Mined(tracker, *tokens)
    mined.run()
    for number in (*range(10, 30), *range(50, 58)):
        repository.comment(number)
        repository.touch(number, title="Changed")
        repository.event(number)
    mined.run()
    assert mined.changed() == 28
    assert {n for n, item in mined.tables["items"].items() if item.updated_at == FUTURE} == {5, 44}
    if tokens:
        assert mined.count("comments") == len(repository.comments)
        assert mined.count("events") == len(repository.events)
        assert mined.changed("pulls") == 8


def test_a_change_that_comes_to_light_behind_a_later_one_is_read(tracker: GitHub) -> None:
    repository = filled(tracker, 8)

    for path in ("/issues", "/issues/comments"):
        tracker.fault(dated_by(repository), path, times=99)
    mined = Mined(tracker, "t")
    mined.run()
    late, before = repository.comment(3), repository.items.pop(3)
    repository.items[4].update(updated_at=moment(repository.clock + 0.05))
    later = late | {"id": 99, "number": 4, "created_at": moment(repository.clock + 0.05)}
    later["updated_at"] = later["created_at"]
    repository.comments[-1] = later
    repository.clock += 0.1
    mined.run()
    assert 99 in {int(key) for key in mined.tables["comments"]}
    repository.items[3] = before | {"title": "Changed"}
    repository.comments.append(late)
    mined.run()
    assert mined.changed() == 1
    assert mined.count("comments") == len(repository.comments)


@pytest.mark.parametrize(("path", "tokens"), [("/issues", ()), ("/pulls", ("t",)), ("/issues/events", ("t",))])
def test_a_list_that_is_read_newest_first_goes_back_behind_what_may_still_come_to_light(
    tracker: GitHub, path: str, tokens: tuple[str, ...]
) -> None:
    repository = tracker.repository(REPO)
    for number in range(1, 41):
        repository.add(number, kind="pull")
        repository.event(number)

    tracker.fault(dated_by(repository), path, times=99)
    mined = Mined(tracker, *tokens)
    mined.run()
    now = repository.clock + 10
    for seconds, number in ((6, 3), (3, 4), (0, 5)):
        repository.touch(number, title="Changed")["updated_at"] = moment(now - seconds / 60)
        repository.event(number)["created_at"] = moment(now - seconds / 60)
    repository.clock = now
    hidden, lost = repository.items.pop(3), repository.events.pop(-3)
    mined.run()
    repository.items[3] = hidden
    repository.events.insert(-2, lost)
    for number in range(11, 19):  # with 5 and 4 they fill a page
        repository.touch(number)
        repository.event(number)
    mined.run()
    if path == "/issues/events":
        assert mined.count("events") == len(repository.events)
    else:
        assert mined.changed("pulls" if path == "/pulls" else "items") == 3


def test_pages_full_of_records_of_the_future_end(tracker: GitHub) -> None:
    repository = filled(tracker, 60)
    for number in range(10, 50):
        repository.touch(number)["updated_at"] = f"2099-01-01T00:00:{number:02d}Z"
    mined = Mined(tracker, "t")
    mined.run()
    repository.touch(3, title="Changed")["updated_at"] = now_utc()
    mined.run()
    assert (mined.count("items"), mined.changed()) == (60, 1)
    assert len(tracker.requests("/issues")) < 60


def test_the_servers_date_says_what_the_future_is(tracker: GitHub) -> None:
    repository = filled(tracker, 8)
    repository.touch(5)["updated_at"] = moment(9_000)
    date = "Mon, 01 Jan 2024 10:00:00 GMT"
    tracker.fault(lambda a: Answered(a.body, a.status, a.headers | {"Date": date}), "/issues", times=100)
    mined = Mined(tracker, "t")
    mined.run()
    times = sorted(item["updated_at"] for item in repository.items.values())
    assert json.loads(mined.state["items"]) == {"at": times[-2]}


# ---- pages that come in part


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(("listing", "tokens"), [("/issues", ()), ("/issues/events", ("t",)), ("/pulls", ("t",))])
def test_a_cut_first_page_ends_no_list(tracker: GitHub, listing: str, tokens: tuple[str, ...], first: bool) -> None:
    repository = filled(tracker, 30, pulls=30)
    mined = Mined(tracker, *tokens)
    if not first:
        mined.run()
    for number in range(20, 55):
        repository.touch(number, title="Changed")
        repository.event(number)
    tracker.fault("cut_page", listing, page=None)
    mined.run()
    assert tracker.met.total() == 1
    if listing == "/issues/events":
        assert mined.count("events") == len(repository.events)
    else:
        assert (mined.changed(), mined.changed("pulls")) == ((35, 0) if listing == "/issues" else (35, 24))


def test_a_first_page_that_stays_cut_is_an_error_and_the_next_run_completes(tracker: GitHub) -> None:
    repository = filled(tracker, 30)
    mined = Mined(tracker, "t")
    mined.run()
    for _ in range(35):
        repository.event(1)
    tracker.fault("cut_page", "/issues/events", times=1_000, page=None)
    tracker.fault("cut_page", "/issues/events", times=1_000, page="1")
    with pytest.raises(SourceError, match="cursor is kept"):
        mined.run()
    tracker.heal()
    mined.run()
    assert mined.count("events") == len(repository.events)


# ---- a repository that goes away


@pytest.mark.parametrize(
    ("path", "query", "scope"),
    [
        ("/issues", {"since": "*"}, {}),
        ("/pulls", {}, {}),
        ("/issues/comments", {}, {}),
        ("/pulls/comments", {}, {}),
        ("/issues/events", {"page": "2"}, {}),
        ("/timeline", {}, {"state": "open"}),
    ],
)
def test_a_repository_that_is_deleted_while_it_is_read_is_a_named_error(
    tracker: GitHub, path: str, query: dict[str, str], scope: dict[str, str]
) -> None:
    filled(tracker, 30, pulls=12)
    tracker.before(tracker.repositories.clear, path, **query)
    with pytest.raises(UnknownRepositoryError, match="deleted or made private"):
        Mined(tracker, "t").run(**scope)


def test_items_of_a_repository_that_is_gone_become_no_tombstones(tracker: GitHub) -> None:
    repository = filled(tracker, 5)
    repository.delete(2)
    source = NumbersSource(rest(tracker.url, REPO, "t"), [1, 2, 3, 4], frozenset(range(1, 6)))
    tracker.before(tracker.repositories.clear, "/issues/4")
    read = {}
    with pytest.raises(UnknownRepositoryError, match="nothing was marked as deleted"):
        for batch in source.batches({}):
            read.update((item.number, item.deleted_at is not None) for item in batch.items)
    assert read == {1: False, 2: True, 3: False}


def test_numbers_of_a_repository_without_issues_become_no_tombstones(tracker: GitHub) -> None:
    filled(tracker, 3)
    tracker.fault("gone_410", "/issues/1")
    with pytest.raises(SourceError, match="disabled"):
        list(NumbersSource(rest(tracker.url, REPO, "t"), [1], frozenset({1})).batches({}))


@pytest.mark.parametrize("fault", ["not_found_404", "gone_without_words_410"])
def test_an_item_without_its_timeline_is_gone_only_if_the_item_is(tracker: GitHub, fault: str) -> None:
    repository = filled(tracker, 3)
    source = NumbersSource(rest(tracker.url, REPO, "t"), [1, 2], frozenset({1, 2}))
    tracker.fault(fault, "/issues/1/timeline")
    with pytest.raises(SourceError, match="#1 is there, but its timeline is not"):
        list(source.batches({}))
    tracker.before(lambda: repository.delete(2), "/issues/2/timeline")
    read = {item.number: item.deleted_at is not None for batch in source.batches({}) for item in batch.items}
    assert read == {1: False, 2: True}


# ---- a list of comments that is empty


@pytest.mark.parametrize("again", [False, True])
def test_an_empty_list_of_comments_is_confirmed_by_the_items_even_in_a_later_run(tracker: GitHub, again: bool) -> None:
    repository = filled(tracker, 12)
    mined = Mined(tracker, "t")
    if again:
        mined.run()
        for number in range(1, 13):
            repository.comment(number)
    tracker.fault("empty_page", "/issues/comments", times=1_000)
    for _ in range(2):  # in the second run no item is listed that has comments
        with pytest.raises(ShortListingError, match="again later"):
            mined.run()
    tracker.heal()
    mined.run()
    assert mined.count("comments") == len(repository.comments)


def test_a_tracker_without_comments_is_none_to_ask_again(tracker: GitHub) -> None:
    repository = tracker.repository(REPO)
    repository.add(1)
    repository.remark(repository.add(2, kind="pull")["number"])
    for _ in range(2):
        Mined(tracker, "t").run()
    repository.comment(1)
    mined = Mined(tracker, "t")
    mined.run()
    repository.delete(1)
    mined.run()


def test_a_link_to_another_server_is_an_error_and_the_next_run_completes(tracker: GitHub) -> None:
    filled(tracker, 25)
    tracker.fault("foreign_link", "/issues")
    mined = Mined(tracker)
    with pytest.raises(SourceError, match="another server"):
        mined.run()
    mined.run()
    assert mined.count("items") == 25
