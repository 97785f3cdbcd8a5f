"""What GitHub's REST listings do wrong, listing by listing: a lost Link, an empty page, a limit of pages, a filter."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from torch_embers.mine.github.cursor import LinkLoopError
from torch_embers.mine.github.listing import Listing
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.mine.github.rest import timeline

from servers.github import Answered, GitHub, filled
from support import client, rest, rows
from torch_embers.errors import ShortListingError, SourceError
from torch_embers.mine import runner
from torch_embers.normalize import now_utc
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_embers.mine.runner import Report

    from servers.tracker import Repository

REPO = "alice/bugs"
SIZE = 10
LISTINGS = ("/issues", "/issues/comments", "/issues/events")


def mined(tracker: GitHub, database: Path, *tokens: str, **scope: Any) -> Report:
    source = rest(tracker.url, REPO, *tokens, **{"page_size": SIZE} | scope)
    return runner.mine(Store(database), source, link=False, sleep=lambda _: None)


def counts(database: Path) -> tuple[int, int, int]:
    [found] = rows(
        database,
        "SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM comments), (SELECT count(*) FROM events)",
    )
    return found[0], found[1], found[2]


def everything(repository: Repository) -> tuple[int, int, int]:
    return len(repository.items), len(repository.comments), len(repository.events)


def test_comments_on_lines_come_from_one_listing(tracker: GitHub, database: Path) -> None:
    repository = tracker.repository(REPO)
    pull = repository.add(7, kind="pull")["number"]
    for place in range(3 * SIZE):
        repository.remark(pull, f"remark {place}")
    mined(tracker, database, "t")
    found = rows(database, "SELECT number, body, path, line FROM review_comments ORDER BY comment_id::INTEGER")
    assert found == [(pull, f"remark {place}", "a.py", 3) for place in range(3 * SIZE)]
    repository.remark(pull, "the newest")
    mined(tracker, database, "t")
    assert rows(database, "SELECT count(*), max_by(body, created_at) FROM review_comments") == [
        (3 * SIZE + 1, "the newest")
    ]


# ---- a lost Link, an empty page


@pytest.mark.parametrize("listing", LISTINGS)
@pytest.mark.parametrize("page", [None, "2", "3"])
def test_a_full_page_without_its_link_is_no_end(
    tracker: GitHub, database: Path, listing: str, page: str | None
) -> None:
    repository = filled(tracker, 52, 43)
    tracker.fault("without_link", listing, page=page)
    mined(tracker, database, "t")
    assert counts(database) == everything(repository)


@pytest.mark.parametrize("listing", LISTINGS)
@pytest.mark.parametrize("page", ["2", None])
@pytest.mark.parametrize("times", [1, 2])
def test_an_empty_page_is_asked_for_again(
    tracker: GitHub, database: Path, listing: str, page: str | None, times: int
) -> None:
    repository = filled(tracker, 52, 43)
    tracker.fault("empty_page", listing, times=times, page=page)
    mined(tracker, database, "t")
    assert counts(database) == everything(repository)


@pytest.mark.parametrize("listing", ["/issues/comments", "/pulls/comments", "/issues/events", "/pulls"])
def test_a_list_that_is_empty_from_the_first_run_on_is_an_error_where_items_belong_in_it(
    tracker: GitHub, database: Path, listing: str
) -> None:
    repository = filled(tracker, 2, 10)
    tracker.fault("empty_page", listing, times=100)
    with pytest.raises(ShortListingError, match="again later"):
        mined(tracker, database, "t")
    tracker.heal()
    mined(tracker, database, "t")
    assert counts(database) == everything(repository)
    [(remarks, heads)] = rows(
        database, "SELECT (SELECT count(*) FROM review_comments), (SELECT count(head_sha) FROM items)"
    )
    assert (remarks, heads) == (len(repository.remarks), 10)


def test_lists_that_are_empty_for_a_reason_are_no_error_and_cost_few_requests(tracker: GitHub, database: Path) -> None:
    repository = tracker.repository(REPO)
    for number in range(1, 9):
        repository.add(number, kind="pull" if number > 4 else "issue")
    for _ in range(2):
        tracker.asked.clear()
        mined(tracker, database, "t")
        assert counts(database) == (8, 0, 0)
        assert len(tracker.asked) <= 30


@pytest.mark.parametrize("comments", [0, 1])
def test_an_item_whose_timeline_comes_empty_is_asked_for_its_events(
    tracker: GitHub, database: Path, comments: int
) -> None:
    repository = filled(tracker, 3)
    repository.label(1, "hot")
    repository.event(1)
    for _ in range(comments):
        repository.comment(1)
    tracker.fault("empty_page", "/issues/1/timeline", times=100)
    with pytest.raises(ShortListingError, match="again later"):
        mined(tracker, database, "t", labels=("hot",))
    tracker.heal()
    mined(tracker, database, "t", labels=("hot",))
    assert counts(database) == (1, comments, 1)


@pytest.mark.parametrize("listing", LISTINGS)
def test_a_later_page_that_stays_empty_is_an_error_and_the_next_run_completes(
    tracker: GitHub, database: Path, listing: str
) -> None:
    repository = filled(tracker, 0)
    for number in range(1, 41):  # all in one second, so that links are followed in every listing
        repository.add(number, minute=1)
    for number in range(1, 41):
        repository.comment(number)
        repository.event(number)
    for entry in (*repository.items.values(), *repository.comments):
        entry["updated_at"] = "2024-02-01T00:00:00Z"
    tracker.fault("empty_page", listing, times=100, page="2")
    with pytest.raises(ShortListingError, match="again later"):
        mined(tracker, database, "t")
    tracker.heal()
    mined(tracker, database, "t")
    assert counts(database) == everything(repository)


@pytest.mark.parametrize("page", ["4", None, "2", "9"])
@pytest.mark.parametrize("change", ["without_link", "empty_page"])
def test_without_a_token_neither_a_lost_link_nor_an_empty_page_loses_items(
    tracker: GitHub, database: Path, page: str | None, change: str
) -> None:
    repository = filled(tracker, 30, 65)
    tracker.fault(change, "/issues", page=page)
    mined(tracker, database)
    assert counts(database)[0] == len(repository.items)
    # and no later run is held up by it
    mined(tracker, database)


@pytest.mark.parametrize("tokens", [(), ("t",)])
def test_a_listing_that_ends_with_a_full_page_is_confirmed_by_the_page_behind_it(
    tracker: GitHub, database: Path, tokens: tuple[str, ...]
) -> None:
    repository = filled(tracker, 40)
    mined(tracker, database, *tokens)
    assert counts(database)[0] == len(repository.items)


def test_a_linked_page_that_was_emptied_by_deletions_is_an_end(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 11)
    tracker.before(lambda: repository.delete(1), "/issues", page="2")
    mined(tracker, database)
    assert counts(database)[0] >= 10


def test_missing_pull_requests_are_noticed_without_a_token(tracker: GitHub, database: Path) -> None:
    filled(tracker, 20, 60)
    # a server that has lost everything behind page 3, consistently
    for page in ("4", "5", "6", "7", "8"):
        tracker.fault("empty_page", "/issues", times=100, page=page)
    tracker.fault("without_link", "/issues", times=100, page="3")
    with pytest.raises(ShortListingError, match="pull requests missing"):
        mined(tracker, database)


# ---- a limit of pages


def test_a_limit_of_pages_ends_the_events_and_is_told(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 200)
    tracker.deepest_page["/issues/events"] = 4
    report = mined(tracker, database, "t")
    assert counts(database)[2] == 4 * SIZE
    oldest = min(str(e["created_at"]) for e in repository.events[-4 * SIZE :])
    [note] = [note for note in report.notes if "events" in note]
    assert oldest in note
    assert "--numbers" in note
    assert len(tracker.requests("/issues/events")) <= 12
    # later only new events are read
    tracker.asked.clear()
    repository.event(7)
    report = mined(tracker, database, "t")
    assert counts(database)[2] == 4 * SIZE + 1
    assert len(tracker.requests("/issues/events")) <= 2
    assert any("--numbers" in note for note in report.notes)


def test_a_gap_that_a_limit_of_pages_leaves_is_told(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 20)
    mined(tracker, database, "t")
    tracker.deepest_page["/issues/events"] = 2
    for number in range(1, 40):
        repository.event(1 + number % 20)
    report = mined(tracker, database, "t")
    assert any("events" in note and "--numbers" in note for note in report.notes)
    mined(tracker, database, "t")
    assert counts(database)[2] == 10 + 2 * SIZE


def test_items_whose_pages_are_limited_end_in_a_clear_error_and_not_in_a_loop(tracker: GitHub, database: Path) -> None:
    filled(tracker, 95)
    tracker.fault("page_limit_422", "/issues", times=10_000, page="3")
    with pytest.raises(SourceError, match="GITHUB_TOKEN"):
        mined(tracker, database)
    assert len(tracker.requests("/issues")) < 20


# ---- filters


def test_a_filter_that_the_newest_item_left_is_no_error(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 25)
    for number in (3, 9, 21):
        repository.label(number, "hot")
    mined(tracker, database, "t", labels=("hot",))
    repository.label(21)
    for _ in range(2):
        mined(tracker, database, "t", labels=("hot",))
    repository.label(4, "hot")
    mined(tracker, database, "t", labels=("hot",))
    assert {n for (n,) in rows(database, "SELECT number FROM items")} == {3, 4, 9, 21}


def test_a_filtered_listing_that_hides_items_is_still_an_error(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 25)
    for number in (3, 9, 21):
        repository.label(number, "hot")
    mined(tracker, database, "t", labels=("hot",))
    tracker.fault("empty_page", "/issues", times=100, since="*")
    with pytest.raises(ShortListingError, match="again later"):
        mined(tracker, database, "t", labels=("hot",))


def test_a_newest_item_that_was_deleted_is_no_error(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 5)
    repository.comment(2)
    mined(tracker, database, "t")
    repository.delete(2)
    mined(tracker, database, "t")


def test_a_label_reads_comments_and_events_of_its_items_only(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 200)
    for number in (3, 6, 7):
        repository.label(number, "hot")
    for _ in range(30):
        repository.comment(6)
    mined(tracker, database, "t", labels=("hot",))
    assert not tracker.requests("/issues/comments")
    assert not tracker.requests("/issues/events")
    stored = rows(database, "SELECT number, count(*) FROM comments GROUP BY number ORDER BY number")
    assert stored == [(3, 1), (6, 31)]
    assert rows(database, "SELECT number, count(*) FROM events GROUP BY number") == [(6, 1)]
    tracker.asked.clear()
    repository.comment(3)
    mined(tracker, database, "t", labels=("hot",))
    assert rows(database, "SELECT count(*) FROM comments WHERE number = 3") == [(2,)]
    assert len(tracker.asked) < 10


def test_since_ends_the_events_where_it_begins(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 200)
    bound = str(repository.events[-5]["created_at"])
    mined(tracker, database, "t", since=bound)
    assert len(tracker.requests("/issues/events")) <= 3, "a whole page below the bound, and the top once more"
    assert {e for (e,) in rows(database, "SELECT event_id FROM events")} >= {
        str(e["id"]) for e in repository.events[-5:]
    }
    # the bounded mine keeps a cursor of its own: a full one reads the rest
    mined(tracker, database, "t")
    assert counts(database) == everything(repository)


# ---- items that move while they are listed


@pytest.mark.parametrize("page", ["5", "2", "8", "12"])
def test_an_item_that_moves_to_the_top_while_it_is_listed_is_read_in_this_run(
    tracker: GitHub, database: Path, page: str
) -> None:
    repository = filled(tracker, 95)
    oldest = min(repository.items.values(), key=lambda item: str(item["updated_at"]))["number"]
    tracker.before(lambda: repository.touch(oldest, title="Moved"), "/issues", page=page)
    mined(tracker, database)
    assert rows(database, f"SELECT title FROM items WHERE number = {oldest}") == [("Moved",)]
    assert counts(database)[0] == 95


def test_a_comment_whose_author_was_deleted_ends_no_mine(tracker: GitHub, database: Path) -> None:
    """Perceval 1.6 ends with exit code 0 behind the item of such a comment (bench/RESULTS.md)."""
    repository = filled(tracker, 12)
    repository.comments[1]["user"] = None
    mined(tracker, database, "t")
    assert counts(database) == everything(repository)
    assert rows(database, "SELECT count(*) FROM comments WHERE author IS NULL") == [(1,)]


def test_comments_that_come_with_old_times_are_read_by_their_item_once(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 6)
    shown_later = repository.comment(2)
    repository.comments.remove(shown_later)
    mined(tracker, database, "t")
    repository.touch(2)
    repository.add(50)
    brought_along = repository.comment(50)
    repository.comments += [shown_later | {"id": 77}]
    brought_along |= {"created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z"}
    repository.items[50]["comments"] = 2  # GitHub counts one that it shows nobody
    for number in (1, 2, 50):
        repository.touch(number, updated_at=now_utc())
    mined(tracker, database, "t")
    assert counts(database)[1] == len(repository.comments)
    before = len(tracker.requests("/timeline"))
    mined(tracker, database, "t")
    assert len(tracker.requests("/timeline")) == before


@pytest.mark.parametrize("counted", [True, False])
def test_comments_that_are_gone_go_when_their_item_is_read_by_number(
    tracker: GitHub, database: Path, monkeypatch: pytest.MonkeyPatch, counted: bool
) -> None:
    """Where its timeline has as many as the item counts: another one may hide some."""
    monkeypatch.setattr("torch_embers.mine.github.rest.REST_PAGE", 6)  # a timeline of several pages that overlap
    repository = filled(tracker, 3)
    liked = {"total_count": 1, "+1": 1}
    for place in range(9):
        repository.comment(2, f"comment {place}")["reactions"] = dict(liked)
        repository.event(2)
    mined(tracker, database, "t")
    del repository.comments[4]
    repository.comments[4]["reactions"] = {"total_count": 0, "+1": 0}
    repository.items[2]["comments"] -= 1 if counted else 0
    numbers = NumbersSource(rest(tracker.url, REPO, "t"), [2], frozenset({2}), timedelta(0))
    runner.mine(Store(database), numbers, link=False)
    assert len(tracker.requests("/timeline")) > 1
    found = rows(database, "SELECT count(*), count(*) FILTER (comment_id = '5') FROM comments WHERE number = 2")
    assert found == [(8, 0) if counted else (9, 1)]
    assert rows(database, "SELECT count(*) FROM reactions WHERE subject = 'comment'") == [(7 if counted else 9,)]


# ---- what is there and empty


# ---- the list of pull requests, which alone has requested reviewers and head commits


def reviewers(database: Path) -> list[tuple[Any, ...]]:
    return rows(database, "SELECT number, login FROM item_people WHERE role = 'reviewer' ORDER BY ALL")


def test_reviewers_and_head_commits_come_from_one_listing_and_not_from_a_request_an_item(
    tracker: GitHub, database: Path
) -> None:
    repository = filled(tracker, 10, pulls=3 * SIZE)
    asked_to = {"requested_reviewers": [{"login": "ann"}], "requested_teams": [{"slug": "core"}]}
    repository.items[15] |= asked_to
    mined(tracker, database, "t")
    heads = rows(database, "SELECT number, head_sha, base_ref FROM items WHERE kind = 'pull' ORDER BY number")
    assert heads == [(number, f"{number:040x}", "main") for number in range(11, 41)]
    assert reviewers(database) == [(15, "alice/core"), (15, "ann")]
    assert len(tracker.requests("/pulls")) <= 3 + 1 + 3, "its pages, one more for what they overlap, and the top again"
    assert not [asked for asked in tracker.asked if "/pulls/" in asked.path and not asked.path.endswith("/comments")]
    repository.touch(15, requested_reviewers=[])
    before = len(tracker.requests("/pulls"))
    mined(tracker, database, "t")
    assert reviewers(database) == [(15, "alice/core")], "a request that was withdrawn or answered is gone"
    assert len(tracker.requests("/pulls")) == before + 1


def test_no_pull_request_lacks_its_head_commit_when_others_leave_the_list(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 0, pulls=4 * SIZE)

    def close() -> None:
        for number in range(35, 41):
            repository.touch(number, state="closed")
            repository.items[number]["updated_at"] = repository.items[1]["created_at"]

    tracker.before(close, "/pulls", page="2")
    mined(tracker, database, "t", state="open")
    lacking = rows(database, "SELECT number FROM items WHERE head_sha IS NULL ORDER BY number")
    assert [number for (number,) in lacking if repository.items[number]["state"] == "open"] == []


def test_a_label_costs_no_list_of_pull_requests(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 2, pulls=4)
    repository.label(5, "hot")
    report = mined(tracker, database, "t", labels=("hot",))
    assert not tracker.requests("/pulls")
    assert any("requested reviewers" in note for note in report.notes)


# ---- a count confirms the end of a narrowed mine, too


@pytest.mark.parametrize("tokens", [("t",), ()])
def test_a_narrowed_mine_that_lacks_items_is_noticed_by_the_count(
    tracker: GitHub, database: Path, tokens: tuple[str, ...]
) -> None:
    repository = filled(tracker, 40)
    for number in range(1, 31):
        repository.label(number, "hot")

    tracker.fault("cut_page", "/issues", times=10_000, labels="hot")
    with pytest.raises(SourceError, match=r"issues missing of 30|cursor is kept"):
        mined(tracker, database, *tokens, labels=("hot",))


def test_a_narrowed_mine_counts_only_what_its_bounds_hold(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 12, pulls=4)
    repository.touch(3, state="closed")
    repository.label(5, "Hot")
    report = mined(tracker, database, "t", state="open", labels=("hot",))
    assert report.items == 1
    report = mined(tracker, database, "t", state="open")
    assert report.items == 15
    report = mined(tracker, database, "t", since="2024-01-01T00:10:00Z")
    assert not [note for note in report.notes if "counts" in note]


def test_a_mine_with_an_upper_bound_is_not_counted(tracker: GitHub, database: Path) -> None:
    filled(tracker, 11, 1)
    mined(tracker, database, "t", until="2024-01-01T00:05:00Z")
    assert not tracker.requests("/search/issues")


def test_items_that_two_pages_share_are_counted_once(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 5 * SIZE, pulls=SIZE)
    for tokens in ((), ("t",)):
        report = mined(tracker, database.with_name(f"{len(tokens)}.duckdb"), *tokens)
        assert report.items == len(repository.items)
        assert (report.comments, report.events) == ((20, 30) if tokens else (0, 0))


# ---- other forms in which GitHub fails


@pytest.mark.parametrize("listing", ["/issues/comments", "/issues/events", "/pulls"])
def test_a_list_that_vanishes_while_it_is_read_is_an_error_and_the_next_run_completes(
    tracker: GitHub, database: Path, listing: str
) -> None:
    repository = filled(tracker, 60, pulls=30)
    wanted = everything(repository)
    pages = {"page": "3"} if listing != "/issues/comments" else {"since": "*"}
    tracker.fault("not_found_404", listing, times=10_000, **pages)
    with pytest.raises(SourceError, match="cursor is kept"):
        mined(tracker, database, "t")
    tracker.heal()
    mined(tracker, database, "t")
    assert counts(database) == wanted
    assert rows(database, "SELECT count(head_sha) FROM items") == [(30,)]


def test_a_search_that_ran_out_of_time_confirms_no_end(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 40)
    mined(tracker, database)
    repository.add(41)
    mined(tracker, database, "t")
    for number in range(42, 60):
        repository.add(number)

    tracker.fault("search_unfinished", "/search/issues", times=10_000)
    tracker.fault("empty_page", "/issues", times=10_000)
    with pytest.raises(ShortListingError):
        mined(tracker, database, "t")


@pytest.mark.parametrize("listing", ["/issues/events", "/pulls"])
def test_a_short_page_without_its_link_is_no_end_of_a_list_of_many_pages(
    tracker: GitHub, database: Path, listing: str
) -> None:
    repository = filled(tracker, 20, pulls=40)
    wanted = everything(repository)

    tracker.fault("cut_page", listing, page="2")
    mined(tracker, database, "t")
    assert counts(database) == wanted
    assert rows(database, "SELECT count(head_sha) FROM items") == [(40,)]


# ---- records that leave a list while it is read, and links that lead in a circle


def newest(repository: Repository, count: int, first: int = 12) -> list[int]:
    """Numbers of records above the place where the third page ends."""
    order = sorted(repository.items, key=lambda n: (repository.items[n]["updated_at"], n), reverse=True)
    return order[first : first + count]


def close(repository: Repository, count: int) -> None:
    for number in newest(repository, count):
        repository.touch(number, state="closed")


def delete(repository: Repository, count: int) -> None:
    for number in newest(repository, count):
        repository.delete(number)


@pytest.mark.parametrize("count", [1, 3, 13])
@pytest.mark.parametrize(("leave", "state"), [(close, "open"), (delete, "all")])
def test_without_a_token_no_item_is_lost_when_others_leave_the_list(
    tracker: GitHub, database: Path, leave: Callable[[Repository, int], None], state: str, count: int
) -> None:
    repository = filled(tracker, 60)
    tracker.before(lambda: leave(repository, count), "/issues", page="4")
    mined(tracker, database, state=state)
    wanted = {n for n, item in repository.items.items() if state in ("all", item["state"])}
    assert wanted <= {n for (n,) in rows(database, "SELECT number FROM items")}


@pytest.mark.parametrize("count", [1, 4, 15])
def test_no_event_is_lost_when_others_leave_the_list(tracker: GitHub, database: Path, count: int) -> None:
    repository = filled(tracker, 160)

    def leave() -> None:
        for event in list(reversed(repository.events))[12 : 12 + count]:
            if event["number"] in repository.items:
                repository.delete(event["number"])

    tracker.before(leave, "/issues/events", page="4")
    mined(tracker, database, "t")
    assert {str(e["id"]) for e in repository.events} <= {n for (n,) in rows(database, "SELECT event_id FROM events")}


def test_items_that_leave_between_two_runs_hide_no_others(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 60)
    tracker.fault("not_found_404", "/issues", page="4")
    with pytest.raises(Exception, match="per_page"):
        mined(tracker, database)
    delete(repository, 12)
    mined(tracker, database)
    assert set(repository.items) <= {n for (n,) in rows(database, "SELECT number FROM items")}


def test_a_quiet_list_costs_at_most_one_request_in_eight_more(tracker: GitHub) -> None:
    repository = tracker.repository(REPO)
    for number in range(1, 2_151):
        repository.add(number)
    listing = Listing(client(tracker.url), f"/repos/{REPO}/issues", {"direction": "desc", "per_page": 100})
    read: set[object] = set()
    listed = None
    while listed is None or listed.next is not None:
        listed = replace(listing, overlapping=True).page(listed and listed.next)
        assert not read or listed.keys[0] in read
        read |= set(listed.keys)
    assert len(read) == len(repository.items)
    assert len(tracker.asked) <= 27  # 22 pages by their links, and two requests that confirm the end


def test_without_overlap_pages_are_compared(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 9)
    tracker.before(lambda: repository.delete(newest(repository, 1, 1)[0]), "/issues", page="3")
    mined(tracker, database, page_size=2)
    assert set(repository.items) <= {n for (n,) in rows(database, "SELECT number FROM items")}


def test_a_single_item_less_than_github_counts_is_noted(tracker: GitHub, database: Path) -> None:
    filled(tracker, 9)
    tracker.fault(lambda a: Answered([i for i in a.body if i["number"] != 5], 200, a.headers), "/issues")
    assert any("counts 1 issue" in note for note in mined(tracker, database).notes)
    assert mined(tracker, database, "t").notes == []


def circle(tracker: GitHub, place: str) -> Callable[[Answered], Answered]:
    address = f"{tracker.url}/repos/{REPO}{place}"
    return lambda answered: Answered(answered.body, 200, {"Link": f'<{address}>; rel="next"'})


@pytest.mark.parametrize("link", ["?per_page=10&page=1", "?per_page=10&after=a"])
@pytest.mark.parametrize(("listing", "tokens"), [("/issues", ()), ("/issues", ("t",)), ("/issues/events", ("t",))])
def test_a_link_that_leads_in_a_circle_is_a_named_error(
    tracker: GitHub, database: Path, listing: str, tokens: tuple[str, ...], link: str
) -> None:
    repository = tracker.repository(REPO)
    for number in range(1, 4):
        repository.add(number, minute=1)
        repository.event(number)
    tracker.fault(circle(tracker, listing + link), listing, times=30)
    with pytest.raises(LinkLoopError, match="cursor is kept"):
        mined(tracker, database, *tokens)
    tracker.heal()
    mined(tracker, database, *tokens)
    assert rows(database, "SELECT count(*) FROM items") == [(3,)]


@pytest.mark.parametrize("link", ["", "?page=1", "?after=a"])
def test_a_timeline_that_leads_in_a_circle_is_a_named_error(tracker: GitHub, link: str) -> None:
    repository = tracker.repository(REPO)
    repository.add(1)
    repository.event(1)
    tracker.fault(circle(tracker, f"/issues/1/timeline{link}"), "/timeline", times=30)
    with pytest.raises(LinkLoopError, match="cursor is kept"):
        timeline(rest(tracker.url, REPO, "t"), 1)
