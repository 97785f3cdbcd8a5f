"""What a user may rely on when embers mines: nothing is lost, nothing comes twice, everything says where it is from."""

from __future__ import annotations

import json
import shutil
from threading import Timer
from typing import TYPE_CHECKING, Any

import pytest

from promises.driver import (
    ITEMS,
    NOWHERE,
    PROJECT,
    Tracker,
    as_json,
    as_of,
    content,
    embers,
    issue,
    json_lines,
    refusal,
    rows,
    start,
    with_provenance,
)
from support import CATALOG, made_once

if TYPE_CHECKING:
    from pathlib import Path


PARTIAL: tuple[dict[str, Any], ...] = (
    {"path": [f"n{ITEMS}"]},
    {"path": [f"n{ITEMS}", "comments"]},
    {"path": []},
    {"path": [f"n{ITEMS - 1}", "timelineItems"], "silent": True},
)
"""What lacks in an answer: an item, a part of it, the whole page, and a part without any error."""


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of an undisturbed mine of the tracker; read it or copy it."""

    def make(path: Path) -> None:
        with Tracker() as tracker:
            tracker.mine(path)

    return made_once(tmp_path_factory, "promised-whole.duckdb", make)


def mined(database: Path) -> dict[str, list[str]]:
    """What a mine brought, and what was found in its texts."""
    return content(database, [*with_provenance(database), "links", "components"])


def test_make_mine_classify_from_nothing(made: Path, catalog: Path) -> None:
    """`make mine classify` fills and labels a database on a machine without token, network, server or GPU."""
    items = rows(catalog, "SELECT count(*), count(DISTINCT (repo, number)) FROM items")
    assert items == [(CATALOG, CATALOG)]
    assert f"{CATALOG} items labelled" in (made / "printed").read_text(encoding="utf-8")
    [(labelled, types)] = rows(
        catalog, "SELECT count(*), count(DISTINCT value) FROM predictions WHERE scheme = 'bug_type'"
    )
    assert labelled == CATALOG
    assert types >= 5
    assert rows(catalog, "SELECT count(*) > 4000 FROM verdicts WHERE provenance = 'shipped'") == [(True,)]


def test_a_mine_that_is_killed(whole: Path, tmp_path: Path) -> None:
    """A mine that is killed at any moment is finished by the same command, with nothing lost and nothing twice."""
    with Tracker() as tracker:
        tracker.mine(tmp_path / "counted.duckdb")
        last = len(tracker.asked)
    expected = mined(whole)
    for place, later in ((last // 3, 0.0), (last - 3, 0.0), (last - 3, 0.1)):  # before an answer, or so much later
        database = tmp_path / f"{place}-{later}.duckdb"
        with Tracker() as tracker, start(*tracker.command(database), **tracker.settings) as process:
            killer = Timer(later, process.kill)
            tracker.meanwhile = lambda now, at=place, killer=killer: now == at and killer.start()
            process.communicate()
            assert len(tracker.asked) >= place - 1
            tracker.meanwhile = lambda _: None
            tracker.mine(database)
        assert mined(database) == expected, place


def test_a_replay(whole: Path, database: Path) -> None:
    """`embers mine --replay` makes the same tables from what is stored alone, also after one that was killed."""
    shutil.copy(whole, database)
    expected = mined(database)
    with start("mine", "--replay", "--repo", PROJECT, "--database", database, **NOWHERE) as process:
        Timer(1.0, process.kill).start()
        process.communicate()
    embers("mine", "--replay", "--repo", PROJECT, "--database", database, **NOWHERE)
    assert mined(database) == expected


def test_a_second_mine_asks_for_what_changed(whole: Path, tracker: Tracker, database: Path) -> None:
    """The same command again asks GitHub only for what changed, and keeps what did not."""
    shutil.copy(whole, database)
    tracker.update(PROJECT, 5, title="renamed", updatedAt="2027-01-01T00:00:00Z")
    tracker.mine(database)
    asked = [query["name"] for query in tracker.queries]
    assert sorted(asked) == ["items", "list_issues", "list_pulls", "repository"]
    [text] = [one.text for one in tracker.asked if "query items(" in one.text]
    assert text.count("issueOrPullRequest(") == 1
    known, now = rows(whole, "SELECT number, title FROM items"), rows(database, "SELECT number, title FROM items")
    assert set(now) - set(known) == {(5, "renamed")}
    assert len(now) == ITEMS


def test_a_partial_answer_loses_nothing(whole: Path, tmp_path: Path) -> None:
    """A GraphQL answer that holds errors and lacks items, or parts of them, loses nothing."""
    for place, part in enumerate(PARTIAL):
        database = tmp_path / f"{place}.duckdb"
        with Tracker() as tracker:
            tracker.fault({**part, "path": ["repository", *part["path"]]}, contains="query items(", at=1)
            tracker.mine(database)
            assert tracker.met, part
        assert mined(database) == mined(whole), part


def test_rows_have_their_source(whole: Path, catalog: Path) -> None:
    """Every row of the tracker says from which source it came and when, and which stored object says so."""
    for database in (whole, catalog):
        filled = 0
        for table in (
            "items",
            "comments",
            "events",
            "pull_files",
            "stated_links",
            "catalog",
            "gold_labels",
            "dispositions",
        ):
            said = "SELECT count(*) FILTER (WHERE source IS NULL OR fetched_at IS NULL OR page_id NOT IN (SELECT hash FROM raw))"
            [(bare, count)] = rows(database, f"{said}, count(*) FROM {table}")
            assert bare == 0, table
            filled += count > 0
        assert filled >= 3
        assert rows(database, "SELECT count(*) FROM raw WHERE json IS NULL OR hash <> md5(json::VARCHAR)") == [(0,)]


def test_a_bad_record_is_kept_apart(database: Path, tmp_path: Path) -> None:
    """A record that cannot be read is kept with the reason, and costs no other record."""
    path = json_lines(tmp_path / "some.jsonl", issue(1), {"number": "none"}, issue(2))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"number": 3, "title": "cut o\n' + json.dumps(issue(4)) + "\n")
    embers("mine", "--source", "jsonl", path, "--repo", PROJECT, "--database", database)
    assert rows(database, "SELECT number FROM items ORDER BY ALL") == [(1,), (2,), (4,)]
    reasons = rows(database, "SELECT reason FROM rejects")
    assert len(reasons) == 2
    assert all(reason for (reason,) in reasons)


def test_tokens_stay_secret(tracker: Tracker, database: Path) -> None:
    """A token goes to the GitHub API and nowhere else: not into the database, not into what is printed."""
    with start("--verbose", *tracker.command(database), **tracker.settings) as process:
        printed = "".join(process.communicate())
    assert process.returncode == 0
    assert {asked.token for asked in tracker.asked} == {"token-one"}
    assert "token-one" not in printed
    assert b"token-one" not in database.read_bytes()


def test_reading_beside_a_mine(whole: Path, tracker: Tracker, database: Path) -> None:
    """While one process mines, others can read the database, and a second mine ends with one line and exit code 5."""
    shutil.copy(whole, database)
    tracker.update(PROJECT, 1, updatedAt="2027-01-01T00:00:00Z")
    seen: list[Any] = []

    def beside(place: int) -> None:
        if place == 2:
            seen.append(len(as_json("list", "--repo", PROJECT, "--database", database)))
            seen.append(
                refusal(*tracker.command(database), code=5, **tracker.settings | {"EMBERS_TOKENS": "token-two"})
            )

    tracker.meanwhile = beside
    tracker.mine(database, EMBERS_TIMEOUT="120")
    assert seen[0] == ITEMS
    assert "another" in seen[1] or "being written" in seen[1]


def test_an_earlier_day(tracker: Tracker, database: Path) -> None:
    """The database can be asked for an earlier day: state, title and labels are those that the tracker showed then."""
    happened = [
        ("LabeledEvent", "2024-02-01", {"label": "bug"}),
        ("ClosedEvent", "2024-03-01", {"stateReason": "COMPLETED", "closer": None}),
        ("ReopenedEvent", "2024-04-01", {}),
        ("RenamedTitleEvent", "2024-05-01", {"previousTitle": "first", "currentTitle": "last"}),
        ("ClosedEvent", "2024-06-01", {"stateReason": "COMPLETED", "closer": None}),
    ]
    events = [
        {"type": kind, "createdAt": f"{day}T00:00:00Z", "actor": "octocat", **more} for kind, day, more in happened
    ]
    now = {"title": "last", "labels": ["bug"], "state": "CLOSED", "stateReason": "COMPLETED", "comments": []}
    times = {
        "createdAt": "2024-01-10T00:00:00Z",
        "updatedAt": "2024-06-01T00:00:00Z",
        "closedAt": "2024-06-01T00:00:00Z",
    }
    tracker.update(PROJECT, 3, events=events, **now, **times)
    tracker.mine(database)
    assert 3 not in as_of(database, "2024-01-09")
    for day, told in {
        "2024-01-20": ("open", "first", ()),
        "2024-02-10": ("open", "first", ("bug",)),
        "2024-03-10": ("closed", "first", ("bug",)),
        "2024-04-10": ("open", "first", ("bug",)),
        "2024-05-10": ("open", "last", ("bug",)),
        "2024-06-10": ("closed", "last", ("bug",)),
    }.items():
        assert as_of(database, day)[3] == told, day
