"""Who is counted in the study and on which day, what can be said of it, and the command that does it all.

Numbers are those of mini_study.py, counted by hand there and here.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import mini_study
from mini_study import CRASH, REPO
from support import ROOT, assert_clean_error, example_count, run_embers
from torch_embers.store.store import Store
from torch_embers.study import samples
from torch_embers.study.figures import definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import duckdb

    from support import Ended


def test_a_commit_that_closed_an_issue_is_a_patch_on_its_own_day_or_that_of_the_closing() -> None:
    connection = mini_study.database()
    columns = "repo number relation target_repo target_sha evidence found_in stated_at"
    closings = [(50, "abc", "2024-05-05"), (110, "unknown", "2025-03-03"), (115, "later", "2026-12-01")]
    rows = [(mini_study.REPO, n, "closed_by", mini_study.REPO, sha, "event", "event", day) for n, sha, day in closings]
    mini_study.insert(connection, "links", columns, rows)
    samples.at(connection, samples.Time(date(2017, 1, 1), date(2026, 6, 30)))
    found = connection.execute(
        "SELECT number, sha, patched_at FROM study_patches WHERE sha IS NOT NULL ORDER BY number"
    ).fetchall()
    assert [(number, sha, f"{day:%Y-%m-%d}") for number, sha, day in found] == [
        (50, "abc", "2023-01-31"),
        (60, "abc", "2023-01-31"),
        (110, "unknown", "2025-03-03"),
    ]


def test_releases_after_the_day_have_no_verdicts_yet() -> None:
    connection = mini_study.database()
    sampled(connection, date(2025, 12, 31))
    found = connection.execute("SELECT DISTINCT version FROM study_verdicts ORDER BY ALL").fetchall()
    assert found == [("1.13.1",), ("2.1.2",), ("2.9.1",)]  # 2.10.0 came out in January 2026


@pytest.mark.parametrize(
    ("disposition", "kind", "closing"),
    [
        ("fixed", "closing_pr", "closed as fixed"),
        ("fixed", "commit", "closed as fixed"),
        ("declined", "state_reason", "closed otherwise"),
        ("fixed", "comment", None),
        ("superseded", "commit", None),
        ("unknown", None, None),
    ],
)
def test_only_evidence_that_closes_an_issue_dates_its_closing(
    catalog_database: Path, disposition: str, kind: str | None, closing: str | None
) -> None:
    store = Store(catalog_database)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute(
            "UPDATE dispositions SET disposition = ?, evidence_kind = ?, evidence_date = DATE '2023-09-05' WHERE number = 83149",
            [disposition, kind],
        )
    asked = "SELECT closing FROM study_closings WHERE number = 83149"
    with store.read() as reader:
        samples.prepare(reader, samples.load(date(2024, 7, 31)))
        assert reader.execute(asked).fetchall() == [(closing,)]
        samples.prepare(reader, samples.load(date(2023, 7, 31)))
        assert reader.execute(asked).fetchall() == [("open" if closing else None,)]


def test_the_day_of_a_closing_that_was_mined_goes_before_that_of_the_evidence(catalog_database: Path) -> None:
    store = Store(catalog_database)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute(
            "INSERT INTO events (repo, number, event_id, type, created_at) "
            "VALUES ('pytorch/pytorch', 83149, '1', 'closed', TIMESTAMP '2024-09-01')"
        )
    with store.read() as reader:
        samples.prepare(reader, samples.load(date(2024, 7, 31)))
        found = reader.execute("SELECT closing FROM study_closings WHERE number = 83149").fetchall()
    assert found == [("open",)], "the evidence is of 2023, the issue was closed in September 2024"


# ---- as of a day -------------------------------------------------------------------------------------------------------

HISTORIES: list[tuple[Any, ...]] = [
    # number, kind, state, created, closed, labels, title: as they are now
    (1, "issue", "open", "2018-01-01", None, [CRASH], "x"),  # closed in 2019, opened again in 2020
    (2, "pull", "closed", "2018-06-01", "2019-01-01", [], "x"),
    (3, "issue", "closed", "2018-07-01", "2019-01-01", [CRASH], "x"),  # labelled in 2021
    (4, "pull", "closed", "2018-07-02", "2019-01-01", [], "x"),
    (5, "issue", "open", "2018-08-01", None, [], "wrong result"),  # renamed in 2021
    (6, "issue", "closed", "2018-09-01", "2022-01-01", [CRASH], "x"),  # its history was not fetched
    (7, "pull", "closed", "2018-09-02", "2019-01-01", [], "x"),
    (8, "issue", "closed", None, "2019-06-01", [CRASH], "x"),  # no date: by its number of September 2018
    (9, "issue", "closed", "2018-10-02", "2022-02-01", [CRASH], "x"),  # closed in 2019, opened in 2021, closed again
]
EVENTS: list[tuple[Any, ...]] = [
    # number, type, day, label, title before, title after
    (1, "closed", "2019-01-01", None, None, None),
    (1, "reopened", "2020-06-01", None, None, None),
    (3, "closed", "2019-01-01", None, None, None),
    (3, "labeled", "2021-06-01", CRASH, None, None),
    (5, "renamed", "2021-06-01", None, "x", "wrong result"),
    (9, "closed", "2019-02-01", None, None, None),
    (9, "reopened", "2021-02-01", None, None, None),
    (9, "closed", "2022-02-01", None, None, None),
]
WITH_HISTORY = (1, 3, 5, 9)


def with_histories() -> duckdb.DuckDBPyConnection:
    """Items of which some changed later, each with its history or without."""
    connection = mini_study.empty()
    mini_study.add_items(connection, HISTORIES)
    connection.execute("UPDATE items SET history = true WHERE list_contains(?, number)", [list(WITH_HISTORY)])
    mini_study.add_components(connection, [(item[0], "data_path", "sparse", True, "label") for item in HISTORIES])
    mini_study.add_links(
        connection, [(2, None, "fixes", 1), (4, None, "fixes", 3), (7, None, "fixes", 6), (4, None, "fixes", 8)]
    )
    events = [(REPO, number, str(place), *event) for place, (number, *event) in enumerate(EVENTS)]
    mini_study.insert(connection, "events", "repo number event_id type created_at label title_from title_to", events)
    return connection


SAMPLES = ("paper", "today", "candidates", "closed", "bugs")


def sampled(connection: duckdb.DuckDBPyConnection, day: date) -> dict[str, list[int]]:
    """The samples as of a day, and the stages before them."""
    with mini_study.small_facts():
        samples.prepare(connection, samples.load(day))
    rows = connection.execute(
        "SELECT sample, number FROM study_sample UNION ALL SELECT 'closed', number FROM study_closed "
        "UNION ALL SELECT 'bugs', number FROM study_bugs ORDER BY ALL"
    ).fetchall()
    return {name: [n for sample, n in rows if sample == name] for name in SAMPLES}


@pytest.mark.parametrize(
    ("day", "closed", "bugs", "patched", "candidates"),
    [
        # 3 is closed but not called a bug; 6 is open; 9 was closed for the first time
        ("2019-12-31", [1, 3, 8, 9], [1, 8, 9], [1, 8], [1, 6, 8, 9]),
        ("2020-12-31", [3, 8, 9], [8, 9], [8], [1, 6, 8, 9]),  # 1 is open again
        ("2021-12-31", [3, 8], [3, 8], [3, 8], [1, 3, 5, 6, 8, 9]),  # 3 is labelled, 5 renamed, 9 open again
        ("2022-01-31", [3, 6, 8], [3, 6, 8], [3, 6, 8], [1, 3, 5, 6, 8, 9]),
        ("2023-12-31", [3, 6, 8, 9], [3, 6, 8, 9], [3, 6, 8], [1, 3, 5, 6, 8, 9]),  # nothing is later
    ],
)
def test_the_tracker_is_rewound(
    day: str, closed: list[int], bugs: list[int], patched: list[int], candidates: list[int]
) -> None:
    found = sampled(with_histories(), date.fromisoformat(day))
    assert found == {"paper": patched, "today": [], "candidates": candidates, "closed": closed, "bugs": bugs}


def test_one_connection_can_go_to_days_in_any_order() -> None:
    connection, early, late = with_histories(), date(2019, 12, 31), date(2023, 12, 31)
    first, whole, again = (sampled(connection, day) for day in (early, late, early))
    assert first == again == sampled(with_histories(), early)
    assert whole == sampled(with_histories(), late)


def test_the_study_s_own_time_is_rewound_and_today_is_not() -> None:
    connection = with_histories()
    mini_study.add_items(connection, [(10, "issue", "closed", "2024-01-01", "2025-01-01", [CRASH], "x")])
    connection.execute("UPDATE items SET history = true WHERE number = 10")
    mini_study.add_components(connection, [(10, "data_path", "sparse", True, "label")])
    mini_study.add_links(connection, [(2, None, "fixes", 10)])
    event = [(REPO, 10, "100", "closed", "2025-01-01")]
    mini_study.insert(connection, "events", "repo number event_id type created_at", event)
    found = sampled(connection, date(2025, 12, 31))
    assert (found["paper"], found["today"]) == ([3, 6, 8], [3, 6, 8, 10])


def test_an_issue_closed_after_the_day_was_unpatched_until_the_day() -> None:
    connection = mini_study.database()
    sampled(connection, date(2022, 8, 11))
    rows = connection.execute(
        (ROOT / "analysis" / "tables" / "known_patches.sql").read_text(encoding="utf-8")
    ).fetchall()
    assert rows[-1] == ("open", 1, 1, 2)  # 30, which has a patch, and 50, which was closed in September


# ---- as of a day, on any database ----------------------------------------------------------------------------------------

DAYS = st.dates(date(2018, 1, 1), date(2023, 12, 31))


@st.composite
def trackers(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Issues and patches in the order of their days; what closes stays closed, and nothing is labelled anew."""
    made = []
    for number, day in enumerate(sorted(draw(st.lists(DAYS, min_size=1, max_size=6))), start=1):
        kind = draw(st.sampled_from(["issue", "issue", "pull"]))
        closed = draw(st.none() | DAYS.filter(lambda d, day=day: d >= day))
        labels = draw(st.sampled_from([[CRASH], ["triaged"], []]))
        # a patch fixes issues that are older than it
        older = [item["number"] for item in made if item["kind"] == "issue"]
        fixes = draw(st.sampled_from(older)) if kind == "pull" and older else None
        made.append({"number": number, "kind": kind, "day": day, "closed": closed, "labels": labels, "fixes": fixes})
    return made


def stored(items: Sequence[dict[str, Any]], *, history: bool) -> duckdb.DuckDBPyConnection:
    """A database of these items, with the events of their history or without."""
    connection = mini_study.empty()
    if not items:
        return connection
    rows = [
        (i["number"], i["kind"], "closed" if i["closed"] else "open", i["day"], i["closed"], i["labels"], "x")
        for i in items
    ]
    mini_study.add_items(connection, rows)
    mini_study.add_components(connection, [(i["number"], "data_path", "sparse", True, "label") for i in items])
    if links := [(i["number"], None, "fixes", i["fixes"]) for i in items if i["fixes"]]:
        mini_study.add_links(connection, links)
    events = [(REPO, i["number"], str(i["number"]), "closed", i["closed"]) for i in items if i["closed"]]
    if history:
        connection.execute("UPDATE items SET history = true")
        if events:
            mini_study.insert(connection, "events", "repo number event_id type created_at", events)
    return connection


@settings(max_examples=example_count(25), suppress_health_check=[HealthCheck.too_slow])
@given(trackers(), DAYS, DAYS, st.booleans())
def test_an_earlier_day_has_a_part_of_the_items(
    items: list[dict[str, Any]], one: date, other: date, history: bool
) -> None:
    connection = stored(items, history=history)
    early, late = (sampled(connection, day) for day in sorted((one, other)))
    for name in SAMPLES:
        assert set(early[name]) <= set(late[name]), name


@settings(max_examples=example_count(25), suppress_health_check=[HealthCheck.too_slow])
@given(trackers(), DAYS)
@example([{"number": 1, "kind": "issue", "day": date(2018, 1, 1), "closed": date(2020, 1, 1), "labels": [CRASH], "fixes": None}], date(2019, 1, 1))  # fmt: skip
def test_a_day_of_a_database_with_histories_is_the_database_of_that_day(items: list[dict[str, Any]], day: date) -> None:
    there = [
        item | {"closed": item["closed"] if item["closed"] and item["closed"] <= day else None}
        for item in items
        if item["day"] <= day
    ]
    assert sampled(stored(items, history=True), day) == sampled(stored(there, history=True), day)


# ---- the command ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Callable[..., Ended]]:
    """The command on the database counted by hand; writes to the folder ``out``."""
    path = tmp_path / "mini.duckdb"
    mini_study.database(path=path).close()

    def call(*parts: str, out: str = "out") -> Ended:
        day = () if parts == ("claims",) else ("--as-of", "2026-06-30")
        return run_embers("study", *parts, "--database", path, "--out", tmp_path / out, *day)

    with mini_study.small_facts():
        yield call


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_tables_are_written_and_printed(study: Callable[..., Ended], tmp_path: Path) -> None:
    done = study("tables")
    assert done.returncode == 0
    made = contents(tmp_path / "out")
    assert {f"{e.id}.csv" for e in definitions.load() if e.kind == "table"} | {"study.json"} <= set(made)
    assert made["table_1.csv"].splitlines()[1] == b"candidates,memory,MEMORY,x,7,10,70.0,39.68,89.22"
    record = json.loads(made["study.json"])
    assert (record["as_of"], record["items"], record["frame"]["census"]) == ("2026-06-30", 24, False)
    assert all(outcome["numbers"] or outcome["insufficient_data"] for outcome in record["findings"])
    assert "the study as of 2026-06-30: selected sample: 22 of 120 numbers" in done.stdout
    assert "Table I: Bug types of the data path" in done.stdout


def test_the_same_study_gives_the_same_files_and_pictures(study: Callable[..., Ended], tmp_path: Path) -> None:
    for folder in ("a", "b"):
        assert study("tables", "claims", "figures", out=folder).returncode == 0
    made = contents(tmp_path / "a")
    assert made == contents(tmp_path / "b")
    for definition in definitions.load():
        kinds = [f"{definition.id}.{kind}" in made for kind in ("svg", "png")]
        assert kinds == [definition.kind == "figure"] * 2, definition.id


def test_a_folder_that_cannot_be_written_to_is_one_clean_line(study: Callable[..., Ended], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for part in ("tables", "claims", "figures"):
        assert_clean_error(study(part, out="file"), 3, "choose another folder with --out")


def test_without_matplotlib_tables_and_claims_are_there_and_pictures_are_asked_for(
    study: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.colors"):
        monkeypatch.setitem(sys.modules, name, None)
    assert_clean_error(study("tables", "claims", "figures"), 3, "matplotlib: pip install 'torch-embers[study]'")
    made = set(contents(tmp_path / "out"))
    assert {"table_1.csv", "figure_3.csv", "claims.csv", "study.json"} <= made
    assert not [name for name in made if name.endswith((".svg", ".png", ".part"))]
