"""A repository that changes its name stays one repository; one that takes over the old name is another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from torch_embers.mine.github.numbers import NumbersSource

from servers.github import GitHub, filled
from support import COMPARED, graphql, rest, rows, snapshot
from torch_embers.errors import SourceError
from torch_embers.mine import runner
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.mine.runner import Report

OLD, NEW = "alice/bugs", "alice/insects"


def mined(tracker: GitHub, database: Path, repo: str = OLD) -> Report:
    return runner.mine(Store(database), rest(tracker.url, repo, "t"))


def names(database: Path) -> dict[str, set[str]]:
    """Names of repositories in every table that has any, the raw pages aside."""
    columns = rows(
        database,
        "SELECT table_name, column_name FROM duckdb_columns() SEMI JOIN duckdb_tables() USING (table_oid) "
        "WHERE column_name IN ('repo', 'target_repo', 'other_repo') AND table_name <> 'raw_pages'",
    )
    found: dict[str, set[str]] = {}
    for table, column in columns:
        values = rows(database, f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
        if values:
            found.setdefault(table, set()).update(value for (value,) in values)
    return found


@pytest.mark.parametrize("asked", [OLD, NEW])
def test_a_renamed_repository_is_not_stored_twice(tracker: GitHub, database: Path, asked: str) -> None:
    repository = filled(tracker, 30, 10)
    repository.touch(5, body=f"fixes {OLD}#4")
    other = {"number": 8, "repository_url": f"x/repos/{OLD}"}
    repository.event(7, "cross-referenced", source={"issue": other})
    mined(tracker, database)
    assert names(database)["links"] == {OLD}
    tracker.rename(1, NEW)
    other["repository_url"] = f"x/repos/{NEW}"
    repository.touch(3, title="After the rename")
    repository.touch(6, body=f"fixes {OLD}#4")
    tracker.asked.clear()
    mined(tracker, database, asked)
    assert rows(database, "SELECT repo, count(*) FROM items GROUP BY repo") == [(NEW, 40)]
    assert rows(database, "SELECT title FROM items WHERE number = 3") == [("After the rename",)]
    assert {table: found - {"*"} for table, found in names(database).items() if found - {"*"} != {NEW}} == {}
    # the cursors came along: only what is new was read
    assert len(tracker.asked) <= 17, "short first pages of two lists are asked about, too"


def test_a_replay_renames_at_the_same_place(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 30, 10)
    repository.touch(5, body=f"fixes {OLD}#4")
    mined(tracker, database)
    tracker.rename(1, NEW)
    repository.touch(3, title="After the rename")
    mined(tracker, database)
    before = snapshot(database, [*COMPARED, "repositories"])
    assert runner.replay(Store(database)).items
    assert snapshot(database, [*COMPARED, "repositories"]) == before


def test_rows_that_an_older_release_stored_under_both_names_come_together(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 20)
    mined(tracker, database)
    whole = snapshot(database, ["items", "comments", "events"])
    store = Store(database)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("DELETE FROM repositories")
        connection.execute(f"INSERT INTO items SELECT * REPLACE ('{NEW}' AS repo) FROM items WHERE number > 5")
        connection.execute(f"INSERT INTO comments SELECT * REPLACE ('{NEW}' AS repo) FROM comments WHERE number > 5")
        connection.execute(
            f"UPDATE items SET title = 'Older', updated_at = TIMESTAMP '2020-01-01' WHERE repo = '{OLD}' AND number = 9"
        )
    tracker.rename(1, NEW)
    assert repository.name == NEW
    mined(tracker, database)
    assert snapshot(database, ["items", "comments", "events"]) == {
        table: [(NEW, *row[1:]) for row in found] for table, found in whole.items()
    }


def test_a_repository_that_takes_over_the_old_name_is_not_merged(tracker: GitHub, database: Path) -> None:
    filled(tracker, 12)
    mined(tracker, database)
    tracker.rename(1, NEW)
    other = filled(tracker, 4, name=OLD, repo_id=2)
    other.touch(2, title="Of the other")
    mined(tracker, database)
    assert rows(database, "SELECT repo, count(*) FROM items GROUP BY repo ORDER BY repo") == [(OLD, 4), (NEW, 12)]
    before = snapshot(database)
    runner.replay(Store(database))
    assert snapshot(database) == before


def test_a_taken_name_whose_former_repository_is_gone_is_an_error(tracker: GitHub, database: Path) -> None:
    filled(tracker, 3)
    mined(tracker, database)
    del tracker.repositories[1]
    filled(tracker, 4, repo_id=2)
    with pytest.raises(SourceError, match="another repository now"):
        mined(tracker, database)
    assert rows(database, "SELECT count(*) FROM items") == [(3,)]


def test_a_repository_renamed_while_single_items_are_read_is_followed(tracker: GitHub, database: Path) -> None:
    filled(tracker, 6)
    mined(tracker, database)
    tracker.before(lambda: tracker.rename(1, NEW), "/issues/3")
    source = rest(tracker.url, OLD, "t")
    runner.mine(Store(database), NumbersSource(source, [2, 3, 4], frozenset(range(1, 7))))
    assert rows(database, "SELECT count(*) FROM items WHERE deleted_at IS NOT NULL") == [(0,)]


def test_a_repository_renamed_between_two_mines_by_graphql_stays_one(server: GitHub, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, "pytorch/pytorch"))
    pages = [query["name"] for query in server.queries].count("issues")
    whole = snapshot(database, ["items", "comments", "pull_files"])
    server.rename_repo("pytorch/pytorch", "pytorch/torch")
    server.forget()
    runner.mine(Store(database), graphql(server.url, "pytorch/pytorch"))
    assert snapshot(database, whole) == {
        table: sorted((("pytorch/torch", *row[1:]) for row in found), key=repr) for table, found in whole.items()
    }
    again = [query["name"] for query in server.queries].count("issues")
    assert again == 1 < pages, "only what may have changed is read again"
