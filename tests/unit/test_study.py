"""Who is counted in the study and on which day, what can be said of it, and the command that does it all.

Numbers are those of mini_study.py, counted by hand there and here.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import mini_study
from helpers.study import ANALYSIS, at, mini, numbers, run, study  # noqa: F401 - fixtures
from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.study import command, files, findings, results, samples
from torch_embers.study.claims.verdicts import Frame
from torch_embers.study.figures import definitions
from torch_embers.study.figures.make import Study
from torch_embers.study.figures.table import Table
from torch_embers.study.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import duckdb

    from torch_embers.study.figures.table import Row
SAMPLE_QUERIES = {path.stem: path for path in sorted((ANALYSIS / "samples").glob("*.sql"))}


@pytest.fixture(scope="module")
def prepared() -> Iterator[duckdb.DuckDBPyConnection]:
    """The database counted by hand, with the tables of samples."""
    connection = mini_study.prepared()
    yield connection
    connection.close()


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


def test_every_file_of_the_samples_was_counted_by_hand_and_says_what_it_does() -> None:
    assert set(SAMPLE_QUERIES) == set(COUNTED) | {"rewound"}  # rewound: the next section
    for name, path in SAMPLE_QUERIES.items():
        first = path.read_text(encoding="utf-8").split("\n")[0]
        assert first.startswith("-- "), name
        assert len(first.split()) > 8, name


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


def test_an_unknown_part_is_insufficient_before_anything_is_made(
    study: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study("tables", "poems") == 3
    error = capsys.readouterr().err
    assert "poems" in error
    assert "tables, claims, census, figures, experiments" in error
    assert not (tmp_path / "out").exists()


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


def test_values_of_files_are_short_and_the_same_everywhere() -> None:
    assert results.cell(12.345678) == 12.35
    assert results.cell(1234567.8) == 1234568
    assert results.cell(date(2024, 7, 31)) == "2024-07-31"
    assert results.cell(7) == 7
    assert files.as_csv([]) == ""
    assert files.as_csv([{"a": None, "b": 'x,"y"'}]) == 'a,b\n,"x,""y"""\n'


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
