"""Mining GitHub by number: whole items, nothing lost by faults, kills or limits, at a known cost."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import graphql
import pytest

from mines import QUICK, REPO, mined, stored, transactions
from servers.dataset import generated_dataset
from servers.github import Answered, GitHub, filled
from servers.graph import schema
from support import rows
from torch_embers.errors import EmbersError, IncompleteItemsError, RateLimitError, UnknownRepositoryError
from torch_embers.mine import live, tracker
from torch_embers.mine.github_api import GitHubApi, Patience
from torch_embers.mine.tracker import Bounds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ITEMS = 48
ALWAYS = 10_000
POINTS = 132
"""Points that 1,000 items may cost."""


@pytest.fixture(scope="module")
def started() -> Iterator[GitHub]:
    with GitHub(generated_dataset(ITEMS)) as server:
        yield server


@pytest.fixture
def server(started: GitHub) -> Iterator[GitHub]:
    started.restore()
    yield started
    assert started.refused == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, started: GitHub) -> Path:
    """A database of a mine that nothing disturbed."""
    started.restore()
    path = tmp_path_factory.mktemp("whole") / "e.duckdb"
    mined(path, started.url)
    return path


@pytest.fixture
def database(tmp_path: Path, whole: Path) -> Path:
    """A copy of it."""
    return shutil.copy(whole, tmp_path / "e.duckdb")


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """Path of a database that does not exist yet."""
    return tmp_path / "empty.duckdb"


def names(server: GitHub) -> list[str]:
    return [query["name"] for query in server.queries]


def gone(path: Path) -> list[tuple[Any, ...]]:
    return rows(path, "SELECT number, transferred_to FROM items WHERE deleted_at IS NOT NULL ORDER BY number")


# ---- what is asked


def test_every_query_fits_the_schema() -> None:
    texts = [tracker._with_fragments(text) for text in tracker._queries().values() if text.startswith("query")]
    batch = [(1, "issue"), (2, "pull"), (3, "")]
    texts.append(tracker._by_alias("items", batch, {"issue": "issueFields", "pull": "pullFields"}, ()))
    texts.append(tracker._by_alias("numbers", batch, {"issue": "issueSeen", "pull": "pullSeen"}, ()))
    assert [graphql.validate(schema(), graphql.parse(text)) for text in texts] == [[]] * len(texts)


def test_a_mine_gives_every_item_whole(whole: Path) -> None:
    items = {item["number"]: item for item in generated_dataset(ITEMS)["repos"][0]["items"]}
    bodies = {number: item["body"].replace("\x00", "\ufffd") for number, item in items.items()}
    assert dict(rows(whole, "SELECT number, body FROM items")) == bodies
    comments = dict(rows(whole, "SELECT number, count(*) FROM comments GROUP BY number"))
    assert comments == {number: len(item["comments"]) for number, item in items.items() if item["comments"]}
    files = dict(rows(whole, "SELECT number, count(*) FROM pull_files GROUP BY number"))
    assert files == {number: len(item["files"]) for number, item in items.items() if item["files"]}
    assert max(comments.values()) > 200, "the data must make further pages necessary"
    assert max(files.values()) > 200
    assert rows(whole, "FROM todo") == []


def test_a_thousand_items_cost_less_than_the_limit(tmp_path: Path) -> None:
    with GitHub(generated_dataset(200)) as server:
        mined(tmp_path / "e.duckdb", server.url)
        first = server.cost
        server.forget()
        mined(tmp_path / "e.duckdb", server.url)
    assert first <= POINTS * 200 / 1_000
    assert server.cost == 3, "a mine with nothing new asks for the repository and for the top of two listings"


def test_a_server_without_types_of_issues_is_asked_without_them(server: GitHub, empty: Path) -> None:
    server.graph.older = True
    assert any("issueType" in note for note in mined(empty, server.url).notes)
    assert rows(empty, "SELECT DISTINCT issue_type FROM items") == [(None,)], "nothing is known of it"
    assert len(server.refused) == 1
    server.forget()


# ---- what changed


def test_only_what_changed_is_read_again_and_what_it_lost_goes(server: GitHub, database: Path, empty: Path) -> None:
    items = server.graph.repositories[REPO].items
    talk = max(items.values(), key=lambda item: len(item["comments"]))
    pull = next(item for item in items.values() if item["closes"] and len(item["files"]) > 1)
    at = "2026-11-01T00:00:00Z"
    server.update(REPO, talk["number"], comments=talk["comments"][1:], milestone=None, author=None, updatedAt=at)
    server.update(REPO, pull["number"], closes=[], files=pull["files"][1:], updatedAt=at)
    for issue in pull["closes"]:
        server.update(REPO, issue, closedBy=[], updatedAt=at)
    server.forget()
    report = mined(database, server.url)
    assert report.items == 2 + len(pull["closes"])
    mined(empty, server.url)
    assert stored(database) == stored(empty)


def test_deleted_transferred_and_hidden_items_are_found_because_a_number_is_missing(
    server: GitHub, database: Path
) -> None:
    before = stored(database)
    server.delete(REPO, 3)
    server.transfer(REPO, 40, "pytorch/vision", 99_001, "2026-01-01T00:00:00Z")
    server.forget()
    mined(database, server.url, compare=True)
    assert gone(database) == [(3, None), (40, "pytorch/vision#99001")]
    assert names(server).count("numbers") == 1
    server.restore()  # both are there again, unchanged
    mined(database, server.url, compare=True)
    assert stored(database) == before


def test_numbers_without_an_item_are_asked_for_once_and_are_no_items(server: GitHub, empty: Path) -> None:
    for number in (5, 6, 7):
        server.delete(REPO, number)
    for _ in range(2):
        server.forget()
        mined(empty, server.url)
    assert "numbers" not in names(server)
    assert gone(empty) == []
    assert rows(empty, "SELECT number FROM listed WHERE is_absent ORDER BY number") == [(5,), (6,), (7,)]


def test_an_error_is_no_proof_that_an_item_is_gone(server: GitHub, database: Path) -> None:
    server.fault({"path": ["repository", "n3"]}, times=ALWAYS, contains="query numbers(")
    with pytest.raises(IncompleteItemsError, match="#3"):
        mined(database, server.url, compare=True)
    assert gone(database) == []


def test_an_item_that_rest_shows_is_not_gone(server: GitHub, database: Path) -> None:
    server.fault({"path": ["repository", "n3"], "type": "NOT_FOUND"}, times=ALWAYS, contains="query numbers(")
    with pytest.raises(IncompleteItemsError, match="REST shows it"):
        mined(database, server.url, compare=True)
    assert gone(database) == []


def test_a_late_comment_that_moves_no_time_of_change_is_found_by_the_count(server: GitHub, database: Path) -> None:
    item = server.graph.repositories[REPO].items[7]
    server.update(REPO, 7, comments=[*item["comments"], {**_comment(), "databaseId": 5}])
    mined(database, server.url, compare=True)
    assert rows(database, "SELECT count(*) FROM comments WHERE comment_id = '5'") == [(1,)]


def _comment() -> dict[str, Any]:
    items = generated_dataset(ITEMS)["repos"][0]["items"]
    return next(item["comments"][0] for item in items if item["comments"])


def test_items_are_mined_by_number_alone(server: GitHub, database: Path) -> None:
    for number in (3, 4, 5):
        server.update(REPO, number, title="changed")  # without another time of change
    assert mined(database, server.url, 3, 4).items == 2
    assert rows(database, "SELECT number FROM items WHERE title = 'changed' ORDER BY number") == [(3,), (4,)]


def test_bounds_narrow_a_mine_and_leave_the_next_whole_one_alone(server: GitHub, whole: Path, empty: Path) -> None:
    server.graph.most_listed = 8
    mined(empty, server.url, bounds=Bounds(labels=("triaged",), state="open"))
    found = rows(empty, "SELECT number FROM items ORDER BY number")
    assert found == rows(whole, "SELECT number FROM items WHERE state = 'open' AND 'triaged' IN labels ORDER BY number")
    mined(empty, server.url)
    assert stored(empty) == stored(whole)


# ---- faults


def test_batches_shrink_where_the_server_fails_at_large_ones(server: GitHub, whole: Path, empty: Path) -> None:
    sizes: list[int] = []

    def heavy(answered: Answered) -> Answered:
        sizes.append(len(re.findall(r"\bn\d+: ", server.asked[-1].text)))
        return Answered(b"{}", 504) if sizes[-1] > 5 else answered

    server.fault(heavy, times=ALWAYS, contains="query items(")
    mined(empty, server.url)
    assert min(sizes) <= 5 < max(sizes)
    assert stored(empty) == stored(whole)


def test_an_item_counts_as_read_when_its_last_part_is_stored(server: GitHub, whole: Path, empty: Path) -> None:
    server.fault("html_502", times=ALWAYS, contains="query more_comments(")
    with pytest.raises(IncompleteItemsError):
        mined(empty, server.url)
    lacking = {number for (number,) in rows(empty, "SELECT number FROM todo")}
    assert lacking == {n for (n,) in rows(whole, "SELECT number FROM comments GROUP BY number HAVING count(*) > 50")}
    assert rows(empty, "SELECT number FROM items WHERE number IN (SELECT number FROM todo)") == []
    assert rows(empty, "SELECT count(*) FROM items") == [(ITEMS - len(lacking),)]
    server.heal()
    assert mined(empty, server.url).items == len(lacking)
    assert stored(empty) == stored(whole)


def test_what_a_token_may_not_see_is_not_waited_for(server: GitHub, empty: Path) -> None:
    path = ["repository", "n5", "closedByPullRequestsReferences"]
    server.fault({"path": path, "type": "FORBIDDEN", "message": "SAML"}, times=ALWAYS, contains="query items(")
    report = mined(empty, server.url)
    assert report.failed == {}
    assert any("SAML" in note for note in report.notes)
    assert rows(empty, "SELECT count(*) FROM items") == [(ITEMS,)]


def test_a_listing_that_ends_too_early_is_read_again(server: GitHub, database: Path, empty: Path) -> None:
    server.graph.most_listed = 8
    for place, number in enumerate(range(1, 41, 2)):
        server.update(REPO, number, updatedAt=f"2026-11-01T00:00:{place:02d}Z", title="changed")
    end = {"path": ["repository", "issues", "pageInfo"], "value": {"hasNextPage": False}, "silent": True}
    server.fault(end, contains="query list_issues(")
    assert mined(database, server.url).items == 20
    mined(empty, server.url)
    assert stored(database) == stored(empty)


def test_an_unknown_repository_is_named(server: GitHub, empty: Path) -> None:
    with pytest.raises(UnknownRepositoryError, match="nobody/nothing"):
        mined(empty, server.url, repo="nobody/nothing")


def test_a_token_that_a_server_repeats_is_neither_stored_nor_shown(server: GitHub, empty: Path) -> None:
    server.update(REPO, 3, title="it is token-one")
    mined(empty, server.url)
    assert rows(empty, "SELECT title FROM items WHERE number = 3") == [("it is (hidden)",)]
    server.fault({"status": 401, "body": '{"message": "Bad credentials token-one"}'}, "/graphql", times=ALWAYS)
    with pytest.raises(EmbersError) as caught:
        mined(empty, server.url)
    assert "token-one" not in str(caught.value)


# ---- limits and ends


def api(server: GitHub, **given: Any) -> GitHubApi:
    return GitHubApi(server.url, ["token-one"], given.pop("patience", QUICK), **given)


def test_points_that_are_spent_are_waited_for_and_said(server: GitHub, whole: Path, empty: Path) -> None:
    said: list[str] = []
    slept: list[float] = []
    server.limit(5, reset_in=3_000)

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        server.limit()

    with api(server, announce=said.append, sleep=sleep, patience=Patience(pause=0)) as one:
        live.mine(transactions(empty), one, REPO)
    assert 2_900 < slept[0] <= 3_002
    assert re.match(r"waiting [23],\d\d\d s", said[0])
    assert stored(empty) == stored(whole)


def test_a_wait_beyond_what_the_user_allows_is_an_error(server: GitHub, whole: Path, empty: Path) -> None:
    server.limit(5, reset_in=3_000)
    with api(server) as one, pytest.raises(RateLimitError, match="--max-wait"):
        live.mine(transactions(empty), one, REPO)
    server.limit()
    mined(empty, server.url)
    assert stored(empty) == stored(whole)


def test_a_wait_of_an_hour_is_announced_and_ctrl_c_ends_it(server: GitHub, whole: Path, empty: Path) -> None:
    said: list[str] = []
    server.limit(6, reset_in=3_000)

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    one = api(server, announce=said.append, sleep=interrupt, patience=Patience(pause=0))
    with one, pytest.raises(KeyboardInterrupt):
        live.mine(transactions(empty), one, REPO)
    assert re.search(r"waiting [23],\d\d\d s", said[-1])
    assert rows(empty, "SELECT count(*) > 0 FROM items") == [(True,)], "what was read is kept"
    server.limit()
    mined(empty, server.url)
    assert stored(empty) == stored(whole)


def test_another_token_takes_over(server: GitHub, whole: Path, empty: Path) -> None:
    server.limit(6)
    with GitHubApi(server.url, ["token-one", "token-two", "token-three"], QUICK) as one:
        live.mine(transactions(empty), one, REPO)
    assert stored(empty) == stored(whole)
    assert {asked.token for asked in server.asked} >= {"token-one", "token-two"}


def test_a_budget_ends_a_mine_that_the_next_one_goes_on_with(server: GitHub, whole: Path, empty: Path) -> None:
    stops = [mined(empty, server.url, budget=6).stopped for _ in range(4)]
    assert stops[0]
    assert not stops[-1]
    assert stored(empty) == stored(whole)


# ---- without a token


def test_without_a_token_the_newest_items_come_and_the_next_hour_goes_on(empty: Path, tmp_path: Path) -> None:
    with GitHub() as server:
        repository = filled(server, 350, 50)
        server.limit(3)
        first = mined(empty, server.url, token="", repo="alice/bugs")
        assert (first.items, bool(first.stopped)) == (200, True)
        assert any("GITHUB_TOKEN" in note for note in first.notes)
        for _ in range(3):
            repository.touch(7, title="changed")
            server.limit(3)
            mined(empty, server.url, token="", repo="alice/bugs")
        server.limit()
        mined(tmp_path / "at_once.duckdb", server.url, token="", repo="alice/bugs")
        assert stored(empty) == stored(tmp_path / "at_once.duckdb")
        assert rows(empty, "SELECT count(*) FROM items") == [(400,)]


def test_without_a_token_an_item_comes_with_comments_and_events(empty: Path) -> None:
    with GitHub() as server:
        filled(server, 12)
        mined(empty, server.url, 6, token="", repo="alice/bugs")
    assert rows(empty, "SELECT number FROM items") == [(6,)]
    assert rows(empty, "SELECT (SELECT count(*) FROM comments), (SELECT count(*) FROM events)") == [(1, 1)]
