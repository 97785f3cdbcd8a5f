"""Who is counted in the study and on which day, what can be said of it, and the command that does it all.

Numbers are those of mini_study.py, counted by hand there and here.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import mini_study
from support import ROOT, assert_clean_error, assert_snapshot, run_embers
from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.study import findings, parts, result_files, samples
from torch_embers.study.claims.verdicts import TrackerCoverage
from torch_embers.study.figures import definitions
from torch_embers.study.figures.make import Study
from torch_embers.study.figures.table import Table, cell
from torch_embers.study.findings import StudyFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

    from torch_embers.study.figures.table import Row
SAMPLE_QUERIES = {path.stem: path for path in sorted((ROOT / "analysis" / "samples").glob("*.sql"))}


@pytest.fixture(scope="module")
def prepared() -> Iterator[duckdb.DuckDBPyConnection]:
    """The database counted by hand, with the tables of samples."""
    connection = mini_study.prepared()
    yield connection
    connection.close()


# ---- who is counted --------------------------------------------------------------------------------------------------

COUNTED = {
    "clock": {
        "70 is half, 71 eleven twentieths of the way from 60 (1 January 2023) to 80 (365 days later)": "SELECT number, "
        "reported_at, dated FROM study_dates WHERE number IN (60, 70, 71, 80) ORDER BY number",
        "numbers of another repository": "SELECT count(*) FROM study_dates WHERE repo = 'pytorch/vision'",
    },
    "items": {
        "every item of the repository that still exists: all but 45": "SELECT count(*), count(*) FILTER (WHERE number = 45), "
        "count(*) FILTER (WHERE dated) FROM study_items",
        "20, one to one: the first by name; 40: a person against two; 60: the paper against two; 70: two to one": "SELECT number, "
        "value FROM study_labels WHERE scheme = 'bug_type' AND repo = 'pytorch/pytorch' ORDER BY number",
        "by labels, and 10 and 110 by the catalog": "SELECT number, backend FROM study_backends ORDER BY ALL",
    },
    "issues": {
        "issues of the data path": "SELECT list(number ORDER BY number) FROM study_issues",
        "closed ones": "SELECT list(number ORDER BY number) FROM study_closed",
        "bugs": "SELECT list(number ORDER BY number) FROM study_bugs",
        "patched ones": "SELECT list(number ORDER BY number) FROM study_patched",
        "45 is not the last number": "SELECT number FROM study_last_number",
        "71 was never mined": "SELECT number, patch, sha, patched_at FROM study_patches ORDER BY number",
    },
    "sample": {
        "to July 2024 and to June 2026": "SELECT sample, list(number ORDER BY number) FROM study_sample "
        "WHERE sample <> 'candidates' GROUP BY sample ORDER BY sample",
        "of candidates also that of 30, not that of 90": "SELECT sample, count(*) FROM study_sample_patches GROUP BY ALL ORDER BY 1",
        "the stages of both": "SELECT sample, list(items ORDER BY items DESC) FROM study_stages GROUP BY sample ORDER BY 1",
    },
    "candidates": {
        "not 1 (too early), 25 (no bug), 45 (gone), 55 (computation), 90 (no bug), 130 (too late)": "SELECT "
        "list(number ORDER BY number) FROM study_sample WHERE sample = 'candidates'",
    },
    "verdicts": {
        "of 10 the newer verdict, not the matrix, nor an older version of the case, nothing of 2.9.1; of 40 one of two cases; of 50 "
        "the matrix, where this database has none": "SELECT number, version, occurs, cases, own FROM study_verdicts "
        "WHERE number IN (10, 40, 50) ORDER BY number, place",
        "a release that nobody knows": "SELECT count(*) FROM study_verdicts WHERE version = '2.3.0'",
        "all, and own ones": "SELECT count(*), count(*) FILTER (WHERE own) FROM study_verdicts",
    },
}
"""What was counted by hand, by file of analysis/samples; the rows stand in tests/snapshots/samples.txt."""


def test_the_samples_are_those_counted_by_hand(prepared: duckdb.DuckDBPyConnection) -> None:
    assert set(SAMPLE_QUERIES) == set(COUNTED) | {"rewound"}  # rewound: as of a day, at night
    told = []
    for name, queries in COUNTED.items():
        for why, query in queries.items():
            rows = prepared.execute(query).fetchall()
            told += [f"{name}: {why}", *(" | ".join(map(str, row)) for row in rows), ""]
    assert_snapshot("samples.txt", "\n".join(told))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("tables --as-of yesterday", "--as-of 'yesterday' is no day: write it as 2024-07-31"),
        ("tables --as-of 2024-02-30", "is no day"),
        ("tables --as-of 2016-12-31", "--as-of 2016-12-31: not between 2017-01-01 and today, "),
        ("tables --as-of 9999-12-31", "not between 2017-01-01 and today, "),
        ("claims --as-of 2024-01-01", "--as-of goes with tables and figures"),
        ("tables poems", "poems"),
    ],
)
def test_what_cannot_be_counted_is_one_clean_line_before_anything_is_made(
    catalog_template: Path, tmp_path: Path, words: str, said: str
) -> None:
    done = run_embers("study", *words.split(), "--database", catalog_template, "--out", tmp_path / "out")
    assert_clean_error(done, 3, said)
    assert not (tmp_path / "out").exists()


def test_a_day_before_the_end_of_the_paper_ends_its_sample_too() -> None:
    early, late = samples.load(date(2020, 1, 1)), samples.load(date(2026, 1, 1))
    assert (early.paper.last, early.today.last) == (date(2020, 1, 1), date(2020, 1, 1))
    assert (late.paper.last, late.today.last) == (date(2024, 7, 31), date(2026, 1, 1))
    assert [sample.label for sample in early.samples] == ["patched bugs to January 2020", "all candidates"]
    assert len(late.samples) == 3
    present = datetime.now(UTC).date()
    assert samples.load(present).today.last == present
    with pytest.raises(InputError, match="not between"):
        samples.load(present + timedelta(days=2))


# ---- what can be said --------------------------------------------------------------------------------------------------

SOME, WHOLE = TrackerCoverage(3, 100, census=False), TrackerCoverage(100, 100, census=True)
TABLE_1 = next(e for e in definitions.load() if e.id == "table_1")


def decided(
    test: str,
    rows: Sequence[Row],
    *,
    frame: TrackerCoverage = WHOLE,
    scope: str = "tracker",
    least: float = 0.0,
    **table: Any,
) -> findings.Outcome:
    """A finding about a table of these rows."""
    definition = TABLE_1.model_copy(update={"group": "class", "event": "fixed"})
    plan = samples.load(mini_study.AS_OF)
    study = Study(plan, {}, frame, 0, (Table(definition, tuple(rows), **table),), (0, 0))
    finding = StudyFinding(id="s", says="says", scope=scope, figure="table_1", test=test, reason="because", least=least)
    [outcome] = findings.decide(study, [finding])
    return outcome


def counts(**classes: int) -> list[Row]:
    return [{"class": name, "k": k, "n": sum(classes.values())} for name, k in classes.items()]


TWO_PARTS: list[Row] = [
    {"class": name, "k": k, "type_k": whole, "n": 21} for name, k, whole in (("a", 1, 20), ("a", 19, 20), ("b", 1, 1))
]
DIFFERENCE: Row = {"difference": 25.0, "difference_low": 5.5, "difference_high": 41.0}
MORE: Row = {"k": 10, "n": 40, "later_k": 30, "later_n": 60, **DIFFERENCE}
SHARE: Row = {"k": 5, "n": 20, "share": 25.0, "low": 11.2, "high": 46.9, "release": "2.10.0"}
MEDIAN: Row = {"class": "all", "n": 30, "fixed": 20, "median_from": 90.4, "median_to": 100.4, "low": 80.2, "high": 200}
BOTH, HELD = "10 of 40 before, 30 of 60 after", "its interval, adjusted for all of the table, holds 0 or less"
FEW = "19 items, 20 are needed"
AGREE: Row = {"kappa": 0.8, "low": 0.61, "high": 0.9, "n": 50, "same": 44}


@pytest.mark.parametrize(
    ("test", "rows", "numbers", "insufficient"),
    [
        ("first", counts(a=30, b=10), "a: 30 of 40 (75.0 %), before b: 10", ""),
        # 0.55 - 0.45 = 0.1, 1.96 sqrt((1 - 0.01) / 40) = 0.31
        ("first", counts(a=22, b=18), "a: 22 of 40 (55.0 %), before b: 18", "not clearly before b"),
        ("first", counts(b=10, a=10), "a: 10 of 20 (50.0 %), before b: 10", "not clearly before b"),
        ("first", counts(a=18, b=1), "a: 18 of 19 (94.7 %), before b: 1", FEW),
        ("first", counts(a=20), "a: 20 of 20 (100.0 %)", ""),
        ("first", TWO_PARTS, "a: 20 of 21 (95.2 %), before b: 1", ""),  # a type with two parts counts as one
        ("more", MORE, f"{BOTH}: +25.0 points [+5.5, +41.0]", ""),
        # as in the file: 20.35, which its table shows as 20.4
        ("more", {**MORE, "difference": 20.3499}, f"{BOTH}: +20.4 points [+5.5, +41.0]", ""),
        ("more", {**MORE, "difference_low": 0.0}, None, f"no difference shown: {HELD}"),
        ("more", {**MORE, "later_n": 19, "difference": None}, "10 of 40 before, 30 of 19 after", FEW),
        ("share", SHARE, "5 of 20 (25.0 %), on 2.10.0", ""),
        ("share", {**SHARE, "n": 19}, None, FEW),
        ("share", {**SHARE, "n": 4, "share": None}, "5 of 4, on 2.10.0", "4 items, 20 are needed"),
        ("median", MEDIAN, "between 90 and 100 days [80, 200], 30 issues", ""),
        ("median", {**MEDIAN, "high": None}, "between 90 and 100 days [80, open], 30 issues", "its interval is open"),
        ("median", {**MEDIAN, "n": 19}, None, FEW),
        ("median", {**MEDIAN, "median_to": None}, "20 of 30 fixed", "half of them are not through"),
        ("median", {**MEDIAN, "median_to": None, "n": 5, "fixed": 5}, "5 of 5 fixed", "5 items, 20 are needed"),
        ("agree", AGREE, "44 of 50, kappa 0.80 [0.61, 0.90]", ""),
        ("agree", {**AGREE, "low": 0.59}, None, "the lower limit is below 0.6"),
        ("agree", {**AGREE, "n": 19}, None, FEW),
    ],
)
def test_what_findings_say_and_lack(test: str, rows: Row | list[Row], numbers: str | None, insufficient: str) -> None:
    outcome = decided(test, [rows] if isinstance(rows, dict) else rows, least=0.6)
    assert outcome.insufficient == insufficient
    assert outcome.supported == (not insufficient)
    assert numbers is None or outcome.numbers == numbers


def test_a_selected_sample_says_nothing_about_the_tracker_and_something_about_itself() -> None:
    insufficient = decided("share", [SHARE], frame=SOME)
    assert insufficient.insufficient.startswith("selected sample: 3 of 100 numbers of the tracker")
    assert insufficient.numbers == "5 of 20 (25.0 %), on 2.10.0"
    assert decided("share", [SHARE], frame=SOME, scope="cases").supported
    assert decided("agree", [AGREE, {**AGREE, "low": 0.2}], least=0.6).insufficient, "the worst pair decides"
    nothing = decided("first", [], notes=("3 items", "nothing to show; missing: bugs"))
    assert (nothing.numbers, nothing.insufficient) == ("", "nothing to show; missing: bugs")


def test_a_malformed_finding_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = next(e for e in resources.load_toml("findings.toml")["finding"] if e["id"] == "annotators_agree")
    monkeypatch.setattr(resources, "load_toml", lambda _: {"finding": [entry | {"test": "luck"}]})
    with pytest.raises(InputError, match="\"annotators_agree\": test: Input should be 'first', 'more'"):
        findings.load()


def test_every_finding_is_about_a_figure_and_every_test_is_made() -> None:
    assert {finding.figure for finding in findings.load()} <= {definition.id for definition in definitions.load()}
    assert {finding.test for finding in findings.load()} == set(findings.TESTS)


def test_values_of_files_are_short_and_the_same_everywhere() -> None:
    assert cell(12.345678) == 12.35
    assert cell(1234567.8) == 1234568
    assert cell(date(2024, 7, 31)) == "2024-07-31"
    assert cell(7) == 7
    assert result_files.as_csv([]) == ""
    assert result_files.as_csv([{"a": None, "b": 'x,"y"'}]) == 'a,b\n,"x,""y"""\n'


def test_ctrl_c_says_where_the_finished_parts_are(
    catalog_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that the same command goes on: times of two runs are never put together."""

    def struck(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(parts, "run", struck)
    done = run_embers("study", "tables", "--database", catalog_template, "--out", tmp_path)
    assert done.returncode == 130
    assert "the same command begins anew" in done.stderr
    assert "goes on from there" not in done.stderr
