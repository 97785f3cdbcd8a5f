"""Items that were deleted or transferred, and numbers that were never seen: no listing shows them, the numbers do."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from torch_embers.mine.github import presence
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.mine.github.presence import PresenceSource, held_items
from torch_embers.mine.refresh import forget as forget_cursors
from torch_embers.mine.scope import Scope

from servers.github import Answered, GitHub, filled
from support import graphql, rest, rows, run_embers, snapshot
from torch_embers.errors import SourceError
from torch_embers.mine import runner
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


REPO = "pytorch/pytorch"
OTHER = "alice/bugs"


def compared(database: Path, source: Any) -> list[str]:
    source.resolve()
    names = (source.scope.repo, source.repo)
    return runner.mine(Store(database), PresenceSource(source, held_items(Store(database), *names))).notes


def gone(database: Path) -> list[tuple[Any, ...]]:
    return rows(database, "SELECT number, transferred_to FROM items WHERE deleted_at IS NOT NULL ORDER BY number")


def altered(database: Path, statement: str) -> None:
    store = Store(database)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute(statement)


def forget(database: Path, number: int) -> None:
    altered(database, f"DELETE FROM items WHERE number = {number}")


# ---- by GraphQL


def test_deleted_transferred_and_unseen_items_are_found_at_a_point_per_hundred_numbers(
    server: GitHub, database: Path
) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    numbers = [n for (n,) in rows(database, "SELECT number FROM items ORDER BY number")]
    removed, moved, unseen = numbers[3], numbers[40], numbers[60]
    server.delete(REPO, removed)
    server.transfer(REPO, moved, "pytorch/vision", 99_001, "2026-01-01T00:00:00Z")
    forget(database, unseen)
    server.forget()
    [note] = compared(database, graphql(server.url, REPO))
    assert gone(database) == [(removed, None), (moved, "pytorch/vision#99001")]
    assert rows(database, f"SELECT count(*) FROM items WHERE number = {unseen} AND title <> ''") == [(1,)]
    assert "3 differed" in note
    asked = [q["cost"] for q in server.queries if q["name"] == "presence"]
    assert asked == [1] * -(-max(numbers) // 100)
    before = snapshot(database)
    runner.replay(Store(database))
    assert snapshot(database) == before
    server.restore()  # both are there again, unchanged: no listing names them
    [note] = compared(database, graphql(server.url, REPO))
    assert (gone(database), "2 differed" in note) == ([], True)


def test_a_wrong_number_of_a_commit_message_is_asked_for_alone(server: GitHub, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    [(top,)] = rows(database, "SELECT max(number) FROM items")
    altered(database, f"INSERT INTO items (repo, number, source) VALUES ('{REPO}', 1999999999, 'git')")
    server.forget()
    source = graphql(server.url, REPO)
    source.client.budget = 100  # where all numbers below it are asked for, the run stops without it
    compared(database, source)
    assert sum(q["name"] == "presence" for q in server.queries) == -(-(top + 1) // 100)
    assert gone(database) == [(1999999999, None)]


def test_an_interrupted_comparison_goes_on_behind_the_last_numbers(server: GitHub, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    top = max(n for (n,) in rows(database, "SELECT number FROM items"))
    server.delete(REPO, top)
    source = graphql(server.url, REPO)
    source.resolve()
    source.client.budget = source.client.usage.requests + 1
    held = held_items(Store(database), REPO)
    assert runner.mine(Store(database), PresenceSource(source, held)).stopped
    server.forget()
    compared(database, graphql(server.url, REPO))
    assert sum(q["name"] == "presence" for q in server.queries) == -(-top // 100) - 1
    assert gone(database) == [(top, None)]


# ---- by REST


def test_by_rest_only_ranges_whose_counts_differ_are_looked_at(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 700, 300)
    filled(tracker, 3, name="alice/other", repo_id=77)
    runner.mine(Store(database), rest(tracker.url, OTHER, "t"))
    tracker.asked.clear()
    compared(database, rest(tracker.url, OTHER, "t"))
    assert len(tracker.asked) == 3  # the repository, and a count of each kind
    repository.delete(17)
    repository.delete(612, "/repositories/77/issues/2")
    forget(database, 900)
    tracker.asked.clear()
    compared(database, rest(tracker.url, OTHER, "t"))
    assert gone(database) == [(17, None), (612, "alice/other#2")]
    assert rows(database, "SELECT count(*) FROM items") == [(1_000,)]
    assert len(tracker.asked) < 30
    # the number that was read alone came without the list of pull requests, whose page is kept all the same
    listed = ("base_ref", "head_ref", "head_sha")
    before = snapshot(database, without=listed)
    runner.replay(Store(database))
    assert snapshot(database, without=listed) == before


def test_an_item_that_is_shown_again_unchanged_loses_its_tombstone(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 6)
    runner.mine(Store(database), rest(tracker.url, OTHER, "t"))
    shown = dict(repository.items[3])
    repository.delete(3)
    compared(database, rest(tracker.url, OTHER, "t"))
    assert gone(database) == [(3, None)]
    del repository.gone[3]
    repository.items[3] = shown
    [note] = compared(database, rest(tracker.url, OTHER, "t"))
    assert (gone(database), "1 differed" in note) == ([], True)


def test_an_item_that_the_search_forgot_is_no_deleted_item(tracker: GitHub, database: Path) -> None:
    filled(tracker, 30)
    runner.mine(Store(database), rest(tracker.url, OTHER, "t"))

    def forgetful(answered: Answered) -> Answered:
        items = [item for item in answered.body["items"] if item["number"] != 5]
        return Answered(answered.body | {"items": items, "total_count": answered.body["total_count"] - 1})

    tracker.fault(forgetful, "/search/issues", times=9)
    compared(database, rest(tracker.url, OTHER, "t"))
    assert gone(database) == []


def test_a_search_that_does_not_answer_is_an_error(tracker: GitHub, database: Path) -> None:
    filled(tracker, 3)
    runner.mine(Store(database), rest(tracker.url, OTHER, "t"))
    tracker.fault("search_refused_422", "/search/issues", times=9)
    with pytest.raises(SourceError, match="again later"):
        compared(database, rest(tracker.url, OTHER, "t"))


# ---- when, and by which options


def test_a_full_mine_compares_the_numbers_when_it_is_time(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 12)
    order = ("mine", "--repo", OTHER, "--source", "rest", "--api-url", tracker.url, "--database", database)
    quick = {"GITHUB_TOKEN": "t", "EMBERS_PAUSE": "0", "EMBERS_ALLOW_HTTP": "1"}
    assert run_embers(*order, **quick).returncode == 0
    assert not presence.due(Store(database), OTHER, "rest", "2000-01-01T00:00:00Z")
    repository.delete(5)
    store = Store(database)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE raw_pages SET fetched_at = fetched_at - INTERVAL 31 DAY")
    done = run_embers(*order, **quick)
    assert done.returncode == 0, done.stderr
    assert "rest, numbers" in done.stdout
    assert gone(database) == [(5, None)]
    repository.delete(6)
    assert "numbers" not in run_embers(*order, **quick).stdout
    assert run_embers(*order, "--check-numbers", **quick).returncode == 0
    assert gone(database) == [(5, None), (6, None)]


def test_refresh_reads_all_or_some_items_again(tracker: GitHub, database: Path, tmp_path: Path) -> None:
    repository = filled(tracker, 12)
    order = ("mine", "--repo", OTHER, "--source", "rest", "--api-url", tracker.url, "--database", database)
    quick = {"GITHUB_TOKEN": "t", "EMBERS_PAUSE": "0", "EMBERS_ALLOW_HTTP": "1"}
    assert run_embers(*order, **quick).returncode == 0
    for number in (2, 3, 4):  # changed without a new time, so that no listing shows it
        repository.items[number]["title"] = "Changed"
    changed = "SELECT number FROM items WHERE title = 'Changed' ORDER BY number"
    run_embers(*order, **quick)
    assert rows(database, changed) == []
    for chosen in ("2", "#2, 3"):
        assert run_embers(*order, "--refresh", chosen, **quick).returncode == 0
    assert rows(database, changed) == [(2,), (3,)]
    assert run_embers(*order, "--refresh", "all", **quick).returncode == 0
    assert rows(database, changed) == [(2,), (3,), (4,)]


@pytest.mark.parametrize(("labels", "left"), [((), ["#5"]), (("bug",), ["#5", "{}"])])
def test_refresh_all_forgets_places_in_listings_that_it_reads_whole(
    tracker: GitHub, database: Path, labels: tuple[str, ...], left: list[str]
) -> None:
    """A cursor in a place can be refused for ever; the item there is met again in its listing."""
    filled(tracker, 3)
    runner.mine(Store(database), rest(tracker.url, OTHER, "t"), link=False)
    for place, number in (("#5", "5"), ("{}", "NULL")):
        row = f"'{OTHER}' AS repo, '{place}' AS place, {number} AS number, 'why' AS reason, 1 AS tries"
        more = "now() AS since, 'graphql' AS source, now() AS fetched_at, '' AS page_id"
        altered(database, f"INSERT INTO incomplete_items BY NAME SELECT {row}, {more}")
    forget_cursors(Store(database), Scope(OTHER, labels=labels), OTHER, "graphql")
    assert [place for (place,) in rows(database, "SELECT place FROM incomplete_items ORDER BY 1")] == left


def interrupted(tracker: GitHub, database: Path, began: datetime) -> None:
    """A pass over three items that has read two of them; the first one changes behind it."""
    repository = filled(tracker, 3)
    source = NumbersSource(rest(tracker.url, OTHER, "t"), [1, 2, 3])
    store = Store(database)
    with store.writer("test", create=True) as writer:
        for batch in itertools.islice(source.batches({}), 2):
            writer.commit(batch)
        with writer.transaction() as connection:
            cursor = json.dumps({"done": 2, "began": began.isoformat()})
            connection.execute("UPDATE sync_state SET cursor = ? WHERE stream LIKE 'numbers:%'", [cursor])
    repository.touch(1, title="Changed")


def titles(database: Path) -> list[str]:
    return [title for (title,) in rows(database, "SELECT title FROM items ORDER BY number")]


@pytest.mark.parametrize(
    ("option", "days", "again"), [("numbers", 0, False), ("numbers", 2, True), ("refresh", 0, True)]
)
def test_an_interrupted_pass_goes_on_unless_it_is_old_or_a_refresh(
    tracker: GitHub, database: Path, tmp_path: Path, option: str, days: int, again: bool
) -> None:
    interrupted(tracker, database, datetime.now(UTC) - timedelta(days=days, minutes=1))
    listed = tmp_path / "numbers.txt"
    listed.write_text("1\n2\n3\n")
    wanted = ("--refresh", "1,2,3") if option == "refresh" else ("--numbers", str(listed))
    address = ("--repo", OTHER, "--api-url", tracker.url, "--source", "rest", "--database", str(database))
    done = run_embers("mine", *wanted, *address, EMBERS_PAUSE="0", GITHUB_TOKEN="t")
    assert done.returncode == 0, done.stderr
    assert len(titles(database)) == 3
    assert (titles(database)[0] == "Changed") is again
