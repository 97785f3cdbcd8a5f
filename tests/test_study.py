"""Who is counted in the study and on which day, what can be said of it, and the command that does it all.

Numbers are those of mini_study.py, counted by hand there and here.
"""

from __future__ import annotations

import csv
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import mini_study
from mini_study import CRASH, REPO
from support import example_count
from torch_embers import cli, resources
from torch_embers.errors import InputError
from torch_embers.store.store import Store
from torch_embers.study import command, files, findings, results, samples
from torch_embers.study.claims.verdicts import Frame
from torch_embers.study.figures import definitions
from torch_embers.study.figures.make import Study
from torch_embers.study.figures.table import Table
from torch_embers.study.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import duckdb

    from torch_embers.study.figures.table import Row

ANALYSIS = Path(__file__).resolve().parent.parent / "analysis"
at = datetime.fromisoformat
"""A moment as DuckDB gives it: UTC without saying so."""
SAMPLE_QUERIES = {path.stem: path for path in sorted((ANALYSIS / "samples").glob("*.sql"))}


@pytest.fixture(scope="module")
def prepared() -> Iterator[duckdb.DuckDBPyConnection]:
    """The database counted by hand, with the tables of samples."""
    connection = mini_study.prepared()
    yield connection
    connection.close()


def numbers(connection: duckdb.DuckDBPyConnection, query: str, *parameters: Any) -> list[int]:
    """The first column of a query, sorted."""
    return sorted(row[0] for row in connection.execute(query, parameters or None).fetchall())


# ---- who is counted --------------------------------------------------------------------------------------------------

ISSUES = [10, 20, 25, 26, 30, 40, 50, 55, 60, 70, 90, 100, 110, 115, 120]
CLOSED = [10, 25, 26, 40, 50, 60, 70, 90, 100, 120]
BUGS = [10, 40, 50, 60, 70, 100, 120]
PATCHED = [10, 40, 60, 70, 100]
CANDIDATES = [10, 20, 26, 30, 40, 50, 60, 70, 80, 100, 110, 115, 120]
COUNTED: dict[str, list[tuple[str, list[tuple[Any, ...]]]]] = {
    "clock": [
        # 70 is half, 71 eleven twentieths of the way from 60 (1 January 2023) to 80 (365 days later)
        (
            "SELECT number, reported_at, dated FROM study_dates WHERE number IN (60, 70, 71, 80) ORDER BY number",
            [
                (60, at("2023-01-01"), True),
                (70, at("2023-07-02 12:00"), False),
                (71, at("2023-07-20 18:00"), False),
                (80, at("2024-01-01"), True),
            ],
        ),
        ("SELECT count(*) FROM study_dates WHERE repo = 'pytorch/vision'", [(1,)]),  # numbers of another repository
    ],
    "items": [
        # every item of the repository that still exists: all but 45
        (
            "SELECT count(*), count(*) FILTER (WHERE number = 45), count(*) FILTER (WHERE dated) FROM study_items",
            [(22, 0, 21)],
        ),
        (
            "SELECT number, value FROM study_labels WHERE scheme = 'bug_type' AND repo = 'pytorch/pytorch' ORDER BY number",
            [
                (10, "memory"),
                (20, "data_type"),  # one to one: the first by name
                (30, "memory"),
                (40, "memory"),  # a person against two
                (50, "memory"),
                (60, "logical"),  # the paper against two
                (70, "memory"),  # two to one
                (80, "memory"),
                (90, "not_a_bug"),
                (100, "memory"),
                (110, "logical"),
                (130, "memory"),
            ],
        ),
        (
            "FROM study_backends SELECT number, backend ORDER BY ALL",
            [
                (10, "cpu"),
                (10, "cuda"),
                (100, "cuda"),
                (110, "cuda"),
                (110, "inductor"),
                (115, "inductor"),
                (120, "mps"),
            ],
        ),
    ],
    "issues": [
        ("SELECT number FROM study_issues ORDER BY ALL", [(n,) for n in ISSUES]),
        ("SELECT number FROM study_closed ORDER BY ALL", [(n,) for n in CLOSED]),
        ("SELECT number FROM study_bugs ORDER BY ALL", [(n,) for n in BUGS]),
        ("SELECT number FROM study_patched ORDER BY ALL", [(n,) for n in PATCHED]),
        ("SELECT number FROM study_last_number", [(120,)]),
        (
            "SELECT number, patch, sha, patched_at FROM study_patches ORDER BY number",
            [
                (10, 11, None, at("2019-03-11")),
                (30, 11, None, at("2019-03-11")),
                (40, 41, None, at("2021-05-21")),
                (60, None, "abc", at("2023-01-31")),
                (70, 71, None, at("2023-07-20 18:00")),
                (90, 91, None, at("2024-07-05")),
                (100, 101, None, at("2024-08-10")),
            ],
        ),
    ],
    "sample": [
        ("SELECT number FROM study_sample WHERE sample = 'paper' ORDER BY ALL", [(10,), (40,), (60,), (70,)]),
        ("SELECT number FROM study_sample WHERE sample = 'today' ORDER BY ALL", [(n,) for n in PATCHED]),
        (
            "SELECT sample, count(*) FROM study_sample_patches GROUP BY ALL ORDER BY ALL",
            [("candidates", 6), ("paper", 4), ("today", 5)],  # of candidates also that of 30, not that of 90
        ),
        ("SELECT items FROM study_stages ORDER BY sample, items DESC", [(8,), (5,), (4,), (10,), (7,), (5,)]),
    ],
    "candidates": [
        ("SELECT number FROM study_sample WHERE sample = 'candidates' ORDER BY ALL", [(n,) for n in CANDIDATES]),
    ],
    "verdicts": [
        (
            "SELECT number, version, occurs, cases, own FROM study_verdicts WHERE number IN (10, 40, 50) ORDER BY number, place",
            [
                (10, "1.13.1", True, 1, True),  # the newer verdict, not the older, not the matrix
                (10, "2.1.2", False, 1, True),
                (10, "2.10.0", False, 1, True),  # not that of an older version of the case; nothing of 2.9.1
                (40, "1.13.1", True, 1, False),
                (40, "2.1.2", True, 1, False),
                (40, "2.9.1", False, 1, False),
                (40, "2.10.0", True, 2, False),  # one of two cases
                (50, "1.13.1", False, 1, True),
                (50, "2.1.2", False, 1, False),  # the matrix, where this database has none
                (50, "2.10.0", True, 1, True),
            ],
        ),
        ("SELECT count(*) FROM study_verdicts WHERE version = '2.3.0'", [(0,)]),
        ("SELECT count(*), count(*) FILTER (WHERE own) FROM study_verdicts", [(26, 8)]),
    ],
}


@pytest.mark.parametrize(("name", "query", "rows"), [(n, q, r) for n, pairs in COUNTED.items() for q, r in pairs])
def test_the_samples_are_the_one_counted_by_hand(
    prepared: duckdb.DuckDBPyConnection, name: str, query: str, rows: list[tuple[Any, ...]]
) -> None:
    assert prepared.execute(query).fetchall() == rows


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
    assert found == [(50, "abc", at("2023-01-31")), (60, "abc", at("2023-01-31")), (110, "unknown", at("2025-03-03"))]


@pytest.mark.slow
def test_releases_after_the_day_have_no_verdicts_yet() -> None:
    connection = mini_study.database()
    with mini_study.small_facts():
        samples.prepare(connection, samples.load(date(2025, 12, 31)))
    found = connection.execute("SELECT DISTINCT version FROM study_verdicts ORDER BY ALL").fetchall()
    assert found == [("1.13.1",), ("2.1.2",), ("2.9.1",)]  # 2.10.0 came out in January 2026


def test_for_an_earlier_day_only_a_dated_closing_counts(catalog_template: Path) -> None:
    day = date(2024, 7, 31)
    with Store(catalog_template).read() as connection:
        samples.prepare(connection, samples.load(day))
        then = connection.execute(
            "SELECT k.closing, coalesce(i.closed_at::DATE, CASE WHEN d.disposition = 'fixed' AND d.evidence_kind <> 'comment' "
            "THEN d.evidence_date END), count(*) FROM study_closings k "
            "JOIN main.items i USING (repo, number) LEFT JOIN item_dispositions d USING (repo, number) "
            "WHERE i.state = 'closed' GROUP BY ALL"
        ).fetchall()
    assert {closing for closing, closed_on, _ in then if closed_on is None} == {None}
    assert {closing for closing, closed_on, _ in then if closed_on and closed_on > day} == {"open"}
    assert {closing for closing, closed_on, _ in then if closed_on and closed_on <= day} <= {
        "closed as fixed",
        "closed otherwise",
    }


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_every_file_of_the_samples_was_counted_by_hand_and_says_what_it_does() -> None:
    assert set(SAMPLE_QUERIES) == set(COUNTED) | {"rewound"}  # rewound: the next section
    for name, path in SAMPLE_QUERIES.items():
        first = path.read_text(encoding="utf-8").split("\n")[0]
        assert first.startswith("-- "), name
        assert len(first.split()) > 8, name


@pytest.mark.slow
def test_nothing_is_written_to_the_database() -> None:
    connection = mini_study.database()
    before = connection.execute("SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY ALL").fetchall()
    with mini_study.small_facts():
        samples.prepare(connection, samples.load(mini_study.AS_OF))
    kept = "SELECT table_name, estimated_size FROM duckdb_tables() WHERE NOT temporary ORDER BY ALL"
    assert connection.execute(kept).fetchall() == before


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


def sampled(connection: duckdb.DuckDBPyConnection, day: date) -> dict[str, list[int]]:
    """The samples as of a day, and the stages before them."""
    with mini_study.small_facts():
        samples.prepare(connection, samples.load(day))
    names = ("paper", "today", "candidates")
    found = {name: numbers(connection, "SELECT number FROM study_sample WHERE sample = ?", name) for name in names}
    return found | {name: numbers(connection, f"SELECT number FROM study_{name}") for name in ("closed", "bugs")}


@pytest.mark.slow
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
def test_the_tracker_is_rewound_to_the_day(
    day: str, closed: list[int], bugs: list[int], patched: list[int], candidates: list[int]
) -> None:
    found = sampled(with_histories(), date.fromisoformat(day))
    assert found == {"paper": patched, "today": patched, "candidates": candidates, "closed": closed, "bugs": bugs}


def test_the_day_of_closing_is_that_of_the_history() -> None:
    connection = with_histories()
    samples.at(connection, samples.load(date(2019, 12, 31)).today)
    query = "SELECT number, closed_at FROM study_closed ORDER BY number"
    assert connection.execute(query).fetchall() == [
        (1, at("2019-01-01")),
        (3, at("2019-01-01")),
        (8, at("2019-06-01")),
        (9, at("2019-02-01")),
    ]


@pytest.mark.slow
def test_one_connection_can_go_to_days_in_any_order() -> None:
    connection, early, late = with_histories(), date(2019, 12, 31), date(2023, 12, 31)
    first, whole, again = (sampled(connection, day) for day in (early, late, early))
    assert first == again == sampled(with_histories(), early)
    assert whole == sampled(with_histories(), late)


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_issue_closed_after_the_day_was_unpatched_until_the_day() -> None:
    connection = mini_study.database()
    with mini_study.small_facts():
        samples.prepare(connection, samples.load(date(2022, 8, 11)))
    rows = connection.execute((ANALYSIS / "tables" / "known_patches.sql").read_text(encoding="utf-8")).fetchall()
    assert rows[-1] == ("open", 1, 1, 2)  # 30, which has a patch, and 50, which was closed in September


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yesterday", "--as-of 'yesterday' is no day: write it as 2024-07-31"),
        ("2024-13-01", "is no day"),
        ("2024-02-30", "is no day"),
        ("2016-12-31", "--as-of 2016-12-31: not between 2017-01-01 and today, "),
        ("9999-12-31", "not between 2017-01-01 and today, "),
    ],
)
def test_a_day_that_is_none_or_outside_of_the_study_is_one_clean_line(
    mini: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    assert run("study", "tables", "--as-of", text, "--database", str(mini), "--out", str(tmp_path / "out")) == 3
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_tomorrow_has_not_been_yet() -> None:
    present = datetime.now(UTC).date()
    assert samples.load(present).today.last == present
    with pytest.raises(InputError, match="not between"):
        samples.load(present + timedelta(days=2))


def test_a_day_before_the_end_of_the_paper_ends_its_sample_too() -> None:
    early, late = samples.load(date(2020, 1, 1)), samples.load(date(2026, 1, 1))
    assert (early.paper.last, early.today.last) == (date(2020, 1, 1), date(2020, 1, 1))
    assert (late.paper.last, late.today.last) == (date(2024, 7, 31), date(2026, 1, 1))
    with pytest.raises(InputError, match="no sample is called 'x'"):
        late.sample("x")


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


SAMPLES = ("paper", "today", "candidates")


@pytest.mark.slow
@settings(max_examples=example_count(25), suppress_health_check=[HealthCheck.too_slow])
@given(trackers(), DAYS, DAYS, st.booleans())
def test_an_earlier_day_has_a_part_of_the_items_of_a_later_one(
    items: list[dict[str, Any]], one: date, other: date, history: bool
) -> None:
    connection = stored(items, history=history)
    early, late = (sampled(connection, day) for day in sorted((one, other)))
    for name in (*SAMPLES, "closed", "bugs"):
        assert set(early[name]) <= set(late[name]), name


@pytest.mark.slow
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


# ---- what can be said --------------------------------------------------------------------------------------------------

SOME, WHOLE = Frame(3, 100, census=False), Frame(100, 100, census=True)
TABLE_1 = next(e for e in definitions.load() if e.id == "table_1")


def decided(
    test: str, rows: Sequence[Row], *, frame: Frame = WHOLE, scope: str = "tracker", least: float = 0.0, **table: Any
) -> findings.Outcome:
    """A finding about a table of these rows."""
    definition = TABLE_1.model_copy(update={"group": "class", "event": "fixed"})
    plan = samples.load(mini_study.AS_OF)
    study = Study(plan, {}, frame, 0, (Table(definition, tuple(rows), **table),), (0, 0))
    finding = Finding(id="s", says="says", scope=scope, figure="table_1", test=test, reason="because", least=least)
    [outcome] = findings.decide(study, [finding])
    return outcome


def counts(**classes: int) -> list[Row]:
    return [{"class": name, "k": k, "n": sum(classes.values())} for name, k in classes.items()]


@pytest.mark.parametrize(
    ("test", "rows", "table", "numbers", "insufficient"),
    [
        ("first", counts(a=30, b=10), {}, "a: 30 of 40 (75.0 %), before b: 10", ""),
        # 0.55 - 0.45 = 0.1, 1.96 sqrt((1 - 0.01) / 40) = 0.31
        ("first", counts(a=22, b=18), {}, "a: 22 of 40 (55.0 %), before b: 18", "not clearly before b"),
        ("first", counts(b=10, a=10), {}, "a: 10 of 20 (50.0 %), before b: 10", "not clearly before b"),
        ("first", counts(a=18, b=1), {}, "a: 18 of 19 (94.7 %), before b: 1", "19 items, 20 are needed"),
        ("first", counts(a=20), {}, "a: 20 of 20 (100.0 %)", ""),
        (
            "first",  # a type with two parts counts as one
            [
                {"class": c, "k": k, "type_k": whole, "n": 21}
                for c, k, whole in (("a", 1, 20), ("a", 19, 20), ("b", 1, 1))
            ],
            {},
            "a: 20 of 21 (95.2 %), before b: 1",
            "",
        ),
        ("first", [], {"notes": ("3 items", "nothing to show; missing: bugs")}, "", "nothing to show; missing: bugs"),
    ],
)
def test_findings_about_classes_and_groups(
    test: str, rows: list[Row], table: dict[str, Any], numbers: str, insufficient: str
) -> None:
    outcome = decided(test, rows, **table)
    assert (outcome.numbers, outcome.insufficient) == (numbers, insufficient)
    assert outcome.supported == (not insufficient)


MORE: Row = {
    "k": 10,
    "n": 40,
    "later_k": 30,
    "later_n": 60,
    "difference": 25.0,
    "difference_low": 5.5,
    "difference_high": 41.0,
}
SHARE: Row = {"k": 5, "n": 20, "share": 25.0, "low": 11.2, "high": 46.9, "release": "2.10.0"}
MEDIAN: Row = {"class": "all", "n": 30, "fixed": 20, "median_from": 90.4, "median_to": 100.4, "low": 80.2, "high": 200}
AGREE: Row = {"kappa": 0.8, "low": 0.61, "high": 0.9, "n": 50, "same": 44}


@pytest.mark.parametrize(
    ("test", "row", "numbers", "insufficient"),
    [
        ("more", MORE, "10 of 40 before, 30 of 60 after: +25.0 points [+5.5, +41.0]", ""),
        (
            "more",
            {**MORE, "difference": 20.3499},  # as in the file: 20.35, which its table shows as 20.4
            "10 of 40 before, 30 of 60 after: +20.4 points [+5.5, +41.0]",
            "",
        ),
        (
            "more",
            {**MORE, "difference_low": 0.0},
            None,
            "no difference shown: its interval, adjusted for all of the table, holds 0 or less",
        ),
        (
            "more",
            {**MORE, "later_n": 19, "difference": None},
            "10 of 40 before, 30 of 19 after",
            "19 items, 20 are needed",
        ),
        ("share", SHARE, "5 of 20 (25.0 %), on 2.10.0", ""),
        ("share", {**SHARE, "n": 19}, None, "19 items, 20 are needed"),
        ("share", {**SHARE, "n": 4, "share": None}, "5 of 4, on 2.10.0", "4 items, 20 are needed"),
        ("median", MEDIAN, "between 90 and 100 days [80, 200], 30 issues", ""),
        ("median", {**MEDIAN, "high": None}, "between 90 and 100 days [80, open], 30 issues", "its interval is open"),
        ("median", {**MEDIAN, "n": 19}, None, "19 items, 20 are needed"),
        ("median", {**MEDIAN, "median_to": None}, "20 of 30 fixed", "half of them are not through"),
        ("median", {**MEDIAN, "median_to": None, "n": 5, "fixed": 5}, "5 of 5 fixed", "5 items, 20 are needed"),
        ("agree", AGREE, "44 of 50, kappa 0.80 [0.61, 0.90]", ""),
        ("agree", {**AGREE, "low": 0.59}, None, "the lower limit is below 0.6"),
        ("agree", {**AGREE, "n": 19}, None, "19 items, 20 are needed"),
    ],
)
def test_findings_about_one_number(test: str, row: Row, numbers: str | None, insufficient: str) -> None:
    outcome = decided(test, [row], least=0.6)
    assert outcome.insufficient == insufficient
    assert numbers is None or outcome.numbers == numbers


def test_the_worst_pair_of_annotators_decides() -> None:
    assert decided("agree", [AGREE, {**AGREE, "low": 0.2}], least=0.6).insufficient


def test_a_selected_sample_says_nothing_about_the_tracker_and_something_about_itself() -> None:
    insufficient = decided("share", [SHARE], frame=SOME)
    assert insufficient.insufficient.startswith("selected sample: 3 of 100 numbers of the tracker")
    assert insufficient.numbers == "5 of 20 (25.0 %), on 2.10.0"
    assert decided("share", [SHARE], frame=SOME, scope="cases").supported


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"test": "luck"}, "\"annotators_agree\": test: 'luck' is none of first, more"),
        ({"scope": "world"}, '"annotators_agree": scope: '),
        ({"colour": "red"}, '"annotators_agree": colour: '),
    ],
)
def test_a_malformed_finding_is_named(monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], said: str) -> None:
    entry = next(e for e in resources.load_toml("findings.toml")["finding"] if e["id"] == "annotators_agree")
    monkeypatch.setattr(resources, "load_toml", lambda _: {"finding": [entry | changes]})
    with pytest.raises(InputError) as error:
        findings.load()
    assert said in str(error.value)


def test_every_finding_is_about_a_figure_and_columns_that_it_has() -> None:
    figures = {definition.id for definition in definitions.load()}
    names = [finding.id for finding in findings.load()]
    assert len(set(names)) == len(names)
    assert {finding.figure for finding in findings.load()} <= figures
    assert {finding.test for finding in findings.load()} == set(findings.TESTS)


def test_a_withdrawn_finding_keeps_its_number_and_says_why() -> None:
    names = {finding.id for finding in findings.load()}
    for entry in findings.withdrawn():
        assert entry.id not in names
        assert any(letter.isdigit() for letter in entry.was), entry.id
        assert len(entry.reason) > 100, entry.id
    assert {entry.id for entry in findings.withdrawn()} == {
        "patch_time_differs",
        "fix_time_differs",
        "half_fixed_after",
        "closed_still_occur",
    }


# ---- the command ---------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database counted by hand as a file."""
    path = tmp_path_factory.mktemp("study") / "mini.duckdb"
    mini_study.database(path=path).close()
    return path


@pytest.fixture
def study(mini: Path, tmp_path: Path) -> Iterator[Callable[..., int]]:
    """The command on that file; writes to the folder ``out``."""

    def call(*arguments: str, out: str = "out") -> int:
        day = () if arguments == ("claims",) else ("--as-of", "2026-06-30")
        return run("study", *arguments, "--database", str(mini), "--out", str(tmp_path / out), *day)

    with mini_study.small_facts():
        yield call


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_tables_are_written_and_printed(
    study: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study("tables") == 0
    made = contents(tmp_path / "out")
    expected = {f"{e.id}.csv" for e in definitions.load() if e.kind == "table"} | {"study.json"}
    assert expected <= set(made)
    with (tmp_path / "out" / "table_1.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {
        "sample": "candidates",
        "class": "memory",
        "paper_name": "MEMORY",
        "definition": "x",
        "k": "7",
        "n": "10",
    } | {
        "share": "70.0",
        "low": "39.68",
        "high": "89.22",
    }
    record = json.loads(made["study.json"])
    assert (record["as_of"], record["items"], record["frame"]["census"]) == ("2026-06-30", 24, False)
    assert all(outcome["numbers"] or outcome["insufficient_data"] for outcome in record["findings"])
    printed = capsys.readouterr().out
    assert "the study as of 2026-06-30: selected sample: 22 of 120 numbers" in printed
    assert "Table I: Bug types of the data path" in printed


@pytest.mark.slow
def test_the_same_study_gives_the_same_files(study: Callable[..., int], tmp_path: Path) -> None:
    assert study("tables", "claims", out="a") == study("tables", "claims", out="b") == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.slow
def test_the_same_study_gives_the_same_pictures(study: Callable[..., int], tmp_path: Path) -> None:
    assert study("figures", out="a") == study("figures", out="b") == 0
    made = contents(tmp_path / "a")
    assert made == contents(tmp_path / "b")
    for definition in definitions.load():
        assert [f"{definition.id}.{kind}" in made for kind in ("csv", "svg", "png")] == [
            definition.kind == "figure"
        ] * 3


def test_an_unknown_part_is_insufficient_before_anything_is_made(
    study: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study("tables", "poems") == 3
    error = capsys.readouterr().err
    assert "poems" in error
    assert "tables, claims, census, figures, experiments" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("part", ["tables", "claims", "figures"])
def test_a_folder_that_cannot_be_written_to_is_one_clean_line(
    study: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert study(part, out="file") == 3
    error = capsys.readouterr().err
    assert "choose another folder with --out" in error
    assert error.count("\n") == 1


def test_a_day_goes_with_tables_and_figures_only(
    mini: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Claims are about the paper's own time, experiments about one machine."""
    where = ("--database", str(mini), "--out", str(tmp_path))
    assert run("study", "claims", "--as-of", "2024-01-01", *where) == 3
    assert "--as-of goes with tables and figures" in capsys.readouterr().err


def test_before_the_end_of_the_paper_s_time_both_samples_end_on_the_day() -> None:
    plan = samples.load(date(2023, 3, 31))
    assert plan.paper.last == plan.today.last == date(2023, 3, 31)
    assert {sample.label for sample in plan.samples} == {"patched bugs to March 2023", "all candidates"}


@pytest.mark.parametrize("part", ["tables", "claims", "figures"])
def test_without_a_database_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str) -> None:
    assert run("study", part, "--database", str(tmp_path / "none.duckdb"), "--out", str(tmp_path)) == 5
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_without_matplotlib_tables_and_claims_are_there_and_pictures_are_asked_for(
    study: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.colors"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    assert study("tables", "claims", "figures") == 3
    error = capsys.readouterr().err
    assert "matplotlib: pip install 'torch-embers[study]'" in error
    assert error.count("\n") == 1
    made = set(contents(tmp_path / "out"))
    assert {"table_1.csv", "figure_3.csv", "claims.csv", "study.json"} <= made
    assert not [name for name in made if name.endswith((".svg", ".png", ".part"))]


def test_values_of_files_are_short_and_the_same_everywhere() -> None:
    assert results.cell(12.345678) == 12.35
    assert results.cell(1234567.8) == 1234568
    assert results.cell(date(2024, 7, 31)) == "2024-07-31"
    assert results.cell(7) == 7
    assert files.as_csv([]) == ""
    assert files.as_csv([{"a": None, "b": 'x,"y"'}]) == 'a,b\n,"x,""y"""\n'


# ---- on the embedded catalog ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def catalog(catalog_template: Path) -> Study:
    """The study on the embedded catalog alone."""
    return command.counted(Store(catalog_template))


@pytest.mark.slow
def test_on_the_catalog_every_figure_has_rows_or_says_what_is_missing(catalog: Study) -> None:
    for table in catalog.tables:
        assert table.rows or any("missing: " in note or "insufficient data: " in note for note in table.notes), (
            table.definition.id
        )
        if table.definition.kind == "figure" and table.definition.counts != "nobody":
            said = " ".join(table.notes)
            assert any(letter.isdigit() for letter in said), table.definition.id
            assert "selected sample: " in said or table.definition.counts == "cases", table.definition.id
    assert len(catalog.tables) - sum(not table.rows for table in catalog.tables) >= 15


@pytest.mark.slow
def test_on_the_catalog_every_finding_is_decided_and_none_is_made_about_the_tracker(catalog: Study) -> None:
    outcomes = findings.decide(catalog)
    assert [outcome.finding for outcome in outcomes] == list(findings.load())
    for outcome in outcomes:
        assert outcome.numbers or outcome.insufficient
        if outcome.finding.scope == "tracker":
            assert outcome.insufficient
    assert any(outcome.supported for outcome in outcomes)


def test_ctrl_c_says_where_the_finished_parts_are(
    study: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not that the same command goes on: times of two runs are never put together."""

    def struck(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", struck)
    assert study("tables") == 130
    error = capsys.readouterr().err
    assert "the same command begins anew" in error
    assert "goes on from there" not in error
