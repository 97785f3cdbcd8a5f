"""The study's claims: what comes out on the catalog, each query on a database counted by hand, and the rules of verdicts."""

from __future__ import annotations

import copy
import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.claims import ENTRY, catalog, items, mini, of, report, run, study  # noqa: F401 - fixtures
from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.study.claims import checks, claims_table, definitions, formulas, verdicts
from torch_embers.study.claims.verdicts import Frame, Ours

if TYPE_CHECKING:
    import duckdb

    from torch_embers.study.claims.verdicts import Report
QUERIES = sorted((Path(__file__).resolve().parents[2] / "analysis" / "claims").glob("*.sql"))
ALL = Frame(100, 100, census=True)
SOME = Frame(3, 100, census=False)


# ---- on the catalog --------------------------------------------------------------------------------------------------


def test_there_are_at_least_45_claims_and_none_is_empty(report: Report) -> None:
    assert len(report.results) >= 45
    assert all(cell.strip() for row in claims_table.rows(report) for cell in row)
    assert {r.verdict for r in report.results} <= set(verdicts.VERDICTS)


def test_every_number_that_cannot_be_compared_names_what_is_missing(report: Report) -> None:
    refused = [r for r in report.results if r.verdict == "cannot_be_compared"]
    assert all(r.why.startswith("missing: ") and len(r.why) > len("missing: ") for r in refused)


def test_no_share_of_the_selected_catalog_is_compared_with_a_printed_one(report: Report) -> None:
    shares = [r for r in report.results if r.ours and r.ours.basis == "database" and r.ours.n is not None]
    assert shares
    for result in shares:
        assert result.verdict == "cannot_be_compared" or result.why.startswith("impossible")
        assert "selected" in claims_table.ours(result, selected=True)
        assert result.ours
        assert (result.ours.low or 0) <= result.ours.value <= (result.ours.high or 0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bug_types_introduction", "12 here, 11 there"),
        ("memory_share", "no count of 73 gives 48.4 %"),
        ("memory_share", "45, 21, 10 of 93, not 73"),
        ("memory_share", "45 memory bugs by these shares, 43/86"),
        ("other_share", "4 of 43 gives 9.3 %"),
        ("runtime_error_share", "2 + 5 + 5 + 1 = 13 do not fit into the 9"),
        ("non_contiguous_studied", "29 do not fit into the 13"),
        ("fixed_by_conversion", "#111484 is cited both"),
        ("first_year", "2017 here, 2019 there"),
        ("faster_up_to", "73.9 here, 42.5 there"),
        ("memory_of_machine", "64 is less than the 84.08 GB"),
        ("two_dimensions", "0.00005 is less than the 0.7299 seconds"),
        ("memory_of_gpu", "24 is less than the 42.04 GB"),
    ],
)
def test_the_inconsistencies_of_the_paper_come_out_of_computation(report: Report, name: str, words: str) -> None:
    assert [f.text for f in checks.failed(of(report, name).checks) if words in f.text]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("always_non_contiguous", "differs"),
        ("bug_types_abstract", "agrees"),
        ("bug_types_figure_2", "cannot_be_compared"),
        ("bug_types_introduction", "cannot_be_compared"),
        ("closed_issues", "cannot_be_compared"),
        ("data_path_growth", "agrees"),
        ("faster_up_to", "agrees"),
        ("figure_7_silent", "cannot_be_compared"),
        ("first_year", "cannot_be_compared"),
        ("issues_labelled_by_patch", "cannot_be_compared"),
        ("fixed_by_conversion", "differs"),
        ("memory_bugs_2022_h1", "cannot_be_compared"),
        ("non_contiguous_patched", "cannot_be_compared"),
        ("non_contiguous_silent", "cannot_be_compared"),
        ("saved_on_average", "agrees"),
        ("segment_fault_subtypes", "cannot_be_compared"),
        ("sparse_last", "agrees"),
        ("two_dimensions", "cannot_be_compared"),
    ],
)
def test_verdicts_on_the_catalog(report: Report, name: str, verdict: str) -> None:
    assert of(report, name).verdict == verdict


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("figure_7_crash", "4 of 9 gives 44 %"),
        ("figure_7_crash", "it fits 4, 2, 1 of 9"),
        ("figure_7_rest", "1 of 9 gives 11 %"),
        ("non_contiguous_share_abstract", "13 of 43 is 30.2 %"),
    ],
)
def test_numbers_that_have_a_reading_which_fits_are_read_that_way(report: Report, name: str, words: str) -> None:
    assert [check.text for check in of(report, name).checks if check.holds and words in check.text]


def test_agreement_by_arithmetic_is_told_from_a_replicated_finding(report: Report) -> None:
    agreed = Counter(r.ours.basis for r in report.results if r.verdict == "agrees" and r.ours)
    line = claims_table.replicated(report)
    assert f"{sum(agreed.values()) - agreed['database']} of {sum(agreed.values())}" in line


def test_the_nine_references_stand_for_at_most_seven_bugs(report: Report) -> None:
    found = of(report, "fixed_by_conversion").ours
    assert found
    assert found.value <= 7


def test_every_reference_to_a_thread_is_an_entry_of_the_catalog() -> None:
    lines = resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()
    numbers = {json.loads(line)["number"] for line in lines if line.strip()}
    assert {r.number for r in definitions.load().references} <= numbers


@pytest.mark.parametrize(
    ("query", "parameters", "row"),
    [
        ("frame", {}, (18, 18, date(2024, 7, 31))),  # 18 is the last number from before August 2024
        ("closed_issues", {}, (6,)),  # 1 3 5 7 8 13
        ("bugs", {}, (5,)),  # 1 3 5 7 13
        ("patched_bugs", {}, (4,)),  # 1 3 5 13
        ("class_share", {"scheme": "bug_type", "class": "memory", "within": ""}, (3, 4, 4)),
        ("class_share", {"scheme": "memory_type", "class": "non_contiguous", "within": ""}, (2, 3, 4)),
        ("class_share", {"scheme": "memory_type", "class": "non_contiguous", "within": "bug_type=memory"}, (2, 3, 3)),
        ("class_share", {"scheme": "consequence", "class": "crash", "within": "bug_type=memory"}, (2, 3, 3)),
        ("pair_count", {"memory_type": "non_contiguous", "consequence": "silent_correctness"}, (1,)),
        ("pair_count", {"memory_type": "segment_fault", "consequence": "runtime_error"}, (0,)),
        ("non_contiguous", {"backend": ""}, (2,)),
        ("non_contiguous", {"backend": "cuda"}, (1,)),
        ("memory_bugs_of_half_year", {"first": "2022-01-01", "last": "2022-06-30"}, (1,)),
        ("memory_bugs_of_half_year", {"first": "2023-01-01", "last": "2023-06-30"}, (0,)),
        ("half_years_with_memory_bugs", {}, (2,)),  # 2021 H1, 2022 H2; 2022 H1 is left out
        ("components_compared", {}, (7, 8, 8)),  # 1 3 5 7 10 13 18; and 11
        ("frequent_subtypes", {}, (1, 1, 3)),
        ("references_as_bugs", {"first": 1, "last": 3}, (2,)),  # 2 fixes 1
        ("references_as_bugs", {"first": 2, "last": 13}, (3,)),
        ("cited_year", {"which": "first", "from": 1, "to": 13}, (2021,)),
        ("cited_year", {"which": "last", "from": 1, "to": 3}, (2022,)),
        ("code_size", {"part": "computation", "which": "first"}, (101,)),
        ("code_size", {"part": "computation", "which": "last"}, (701,)),
        ("code_size", {"part": "a", "which": "last"}, (700,)),
        ("code_size", {"part": "data_path_strict", "which": "last"}, (None,)),
    ],
)
def test_queries_count_what_was_counted_by_hand(
    mini: duckdb.DuckDBPyConnection, query: str, parameters: dict[str, Any], row: tuple[Any, ...]
) -> None:
    text = next(path for path in QUERIES if path.stem == query).read_text(encoding="utf-8")
    assert mini.execute(text, parameters or None).fetchall() == [row]


def test_every_query_says_which_question_it_answers_and_is_asked_by_a_claim() -> None:
    asked = {c.query for c in definitions.load().claims if c.query}
    assert {path.stem for path in QUERIES} == asked | {"frame"}
    for path in QUERIES:
        comment = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("--")]
        assert "?" in "".join(comment), path.name


@pytest.mark.parametrize(
    ("rule", "value", "frame", "verdict"),
    [
        ("equal", 10.4, SOME, "agrees"),
        ("equal", 10.6, SOME, "differs"),
        ("lower_bound", 11, SOME, "differs"),
        ("lower_bound", 10, SOME, "cannot_be_compared"),
        ("lower_bound", 9, ALL, "differs"),
        ("lower_bound", 10, ALL, "agrees"),
        ("upper_bound", 9, SOME, "differs"),
        ("upper_bound", 10, SOME, "cannot_be_compared"),
        ("shown", 10, SOME, "agrees"),
        ("shown", 9, SOME, "cannot_be_compared"),
        ("shown", 9, ALL, "differs"),
        ("none", 10, ALL, "cannot_be_compared"),
    ],
)
def test_rules_for_counts(rule: str, value: float, frame: Frame, verdict: str) -> None:
    found = verdicts.decide(study(rule=rule).claims[0], Ours(value, "database"), (), frame, 0.95)
    assert found.verdict == verdict
    assert found.why


def test_more_than_printed_decides_nothing_where_the_definitions_differ() -> None:
    claim = study(rule="lower_bound", definition="a shared list of modules").claims[0]
    found = verdicts.decide(claim, Ours(11, "database"), (), SOME, 0.95)
    assert found.verdict == "cannot_be_compared"
    assert found.why == "missing: a shared list of modules; even this selected sample holds 11"


@pytest.mark.parametrize("rule", ["equal", "upper_bound"])
def test_two_printed_numbers_that_do_not_go_together_decide_nothing(rule: str) -> None:
    claim = study(rule=rule).claims[0]
    assert verdicts.decide(claim, Ours(8, "geometry"), (), SOME, 0.95).verdict == "differs"
    found = verdicts.decide(claim, Ours(8, "paper"), (), SOME, 0.95)
    assert found.verdict == "cannot_be_compared"
    assert found.why.startswith("missing: which of the printed numbers is meant; ")
    assert verdicts.decide(claim, Ours(claim.value, "paper"), (), SOME, 0.95).verdict != "differs"


@pytest.mark.parametrize(
    ("rule", "low", "high", "unlabelled", "frame", "verdict"),
    [
        ("share", 5, 15, 0, ALL, "agrees"),
        ("share", 11, 15, 0, ALL, "differs"),
        ("share", 5, 15, 0.1, ALL, "cannot_be_compared"),
        ("share", 5, 15, 0, SOME, "cannot_be_compared"),
        ("majority", 11, 15, 0, ALL, "agrees"),
        ("majority", 5, 9, 0, ALL, "differs"),
        ("majority", 5, 15, 0, ALL, "cannot_be_compared"),
        ("majority", 11, 15, 0, SOME, "cannot_be_compared"),
    ],
)
def test_rules_for_shares(rule: str, low: float, high: float, unlabelled: float, frame: Frame, verdict: str) -> None:
    ours = Ours(10, "database", 10, 100, low, high, unlabelled)
    assert verdicts.decide(study(rule=rule).claims[0], ours, (), frame, 0.95).verdict == verdict


def test_a_check_that_decides_makes_the_number_impossible_whatever_our_figure_says() -> None:
    made = study(printed=48.4, unit="%", checks=[{"check": "grim", "n": 73, "decides": True}])
    claim = made.claims[0]
    found = verdicts.decide(claim, Ours(48.4, "database"), checks.run(made, claim), ALL, 0.95)
    assert found.verdict == "differs"
    assert found.why.startswith("impossible: no count of 73")


def test_a_check_that_does_not_decide_leaves_the_verdict_alone() -> None:
    made = study(checks=[{"check": "fits_into", "parts": ["x"], "whole": 9}])
    claim = made.claims[0]
    found = verdicts.decide(claim, Ours(10, "database"), checks.run(made, claim), ALL, 0.95)
    assert (found.verdict, found.checks[0].text) == ("agrees", "10 do not fit into the 9 there are")


def test_arithmetic_gives_both_conventions_of_one_pair_of_times() -> None:
    made = definitions.load()
    assert formulas.compute(made, ["faster", 23, 40]) == pytest.approx(73.913, abs=1e-3)
    assert formulas.compute(made, ["saved", 23, 40]) == pytest.approx(42.5)
    assert formulas.compute(made, ["growth", 15000, 140000]) == pytest.approx(833.33, abs=0.01)


# ---- bad entries -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"printed": "ten"}, "printed"),
        ({"rule": "about"}, "rule: "),
        ({"kind": "mood"}, "kind: "),
        ({"section": None}, "section: "),
        ({"missing": None}, "`missing` must say"),
        ({"known": 3}, "more than one of"),
        ({"query": None, "known": 3}, "`known` needs a `source`"),
    ],
)
def test_a_malformed_claim_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match='claim "x"') as error:
        study(**changes)
    assert said in str(error.value)


def test_two_claims_with_one_name_are_refused() -> None:
    data = copy.deepcopy(resources.load_toml("claims.toml"))
    data["claim"] = [ENTRY, ENTRY]
    with pytest.raises(InputError, match="more than one entry is called x"):
        definitions.parse(data)


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ({"check": "luck"}, "no check is called 'luck'"),
        ({"check": "grim"}, "check 'grim' cannot be made"),
        ({"check": "fits_into", "parts": ["y"], "whole": 1}, "'y' is no claim"),
        ({"check": "share_of", "part": 1, "whole": 0}, "check 'share_of' cannot be made"),
        ({"check": "at_least", "formula": ["luck"]}, "no formula is called 'luck'"),
    ],
)
def test_a_malformed_check_is_named(check: dict[str, Any], said: str) -> None:
    made = study(checks=[check])
    with pytest.raises(InputError) as error:
        checks.run(made, made.claims[0])
    assert said in str(error.value)


def test_a_query_that_does_not_exist_or_fails_is_named(mini: duckdb.DuckDBPyConnection) -> None:
    made = study(query="nothing")
    with pytest.raises(InputError, match=r"analysis/claims/nothing\.sql is missing"):
        verdicts.figure(mini, made, made.claims[0])
    made = study(query="class_share")
    with pytest.raises(InputError, match=r"class_share\.sql \(claim 'x'\)"):
        verdicts.figure(mini, made, made.claims[0])


def test_without_a_database_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("study", "claims", "--database", str(tmp_path / "none.duckdb")) == 5
    assert capsys.readouterr().err.count("\n") == 1
