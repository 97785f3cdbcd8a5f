"""The study's claims: what comes out on the catalog, each query on a database counted by hand, and the rules of verdicts."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import mini_study
from torch_embers import resources, toml_models
from torch_embers.errors import InputError
from torch_embers.study.claims import claims_table, definitions, verdicts
from torch_embers.study.claims.definitions import ClaimSource
from torch_embers.study.claims.verdicts import Ours, TrackerCoverage

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb


# ---- queries on a database that is counted by hand -------------------------------------------------------------------

EARLY_2022 = 46
"""A patched memory bug that the study leaves out of its half years; it stands among the items of mini_study.py."""


@pytest.fixture(scope="module")
def items() -> Iterator[duckdb.DuckDBPyConnection]:
    """The items of mini_study.py: 10 40 60 70 are patched bugs; and 46."""
    connection = mini_study.database(clone=True)
    mini_study.add_items(
        connection, [(EARLY_2022, "issue", "closed", "2022-02-01", "2022-03-01", [mini_study.CRASH], "x")]
    )
    mini_study.add_components(connection, [(EARLY_2022, "data_path", "sparse", True, "label")])
    mini_study.add_links(connection, [(41, None, "fixes", EARLY_2022)])
    labels = {"bug_type": "memory", "memory_type": "segment_fault", "memory_subtype": "invalid_memory_address"}
    labels["consequence"] = "crash"
    mini_study.add_gold(connection, [(EARLY_2022, scheme, {mini_study.ONE: value}) for scheme, value in labels.items()])
    unsaid: dict[str, Any] = {"repo": mini_study.REPO, "summary": "x", "affected_versions": [], "fixed_versions": []}
    mini_study.insert(connection, "catalog", "number backends", [(40, ["cuda"])], **unsaid)
    later = ("v2.9.0", "2025-10-15", "computation", "autograd", 9000)
    columns = "tag tagged_at component subcomponent lines"
    mini_study.insert(connection, "code_sizes", columns, [later], repo=mini_study.REPO, files=1)
    yield connection
    connection.close()


@pytest.fixture
def mini(items: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same database with the claims' own temporary tables, which no other connection sees."""
    connection = items.cursor()
    cited = tuple(ClaimSource(ref=ref, number=number) for ref, number in ((1, 10), (2, 11), (3, 40), (13, 60)))
    verdicts.prepare(connection, definitions.load().model_copy(update={"references": cited}))
    yield connection
    connection.close()


# ---- rules -----------------------------------------------------------------------------------------------------------

ENTRY: dict[str, Any] = {
    "id": "x",
    "section": "I",
    "place": "p",
    "states": "s.",
    "explains": "e.",
    "printed": 10,
    "unit": "bugs",
    "kind": "count",
    "query": "bugs",
    "rule": "equal",
    "missing": "everything",
}


def claim(**changes: Any) -> definitions.Claim:
    data = resources.load_toml("claims.toml")
    data["claim"] = [{k: v for k, v in {**ENTRY, **changes}.items() if v is not None}]
    return toml_models.validate(definitions.PaperClaims, data, definitions.DEFINITIONS).claims[0]


QUERIES = sorted((Path(__file__).resolve().parents[2] / "analysis" / "claims").glob("*.sql"))
ALL = TrackerCoverage(100, 100, census=True)
SOME = TrackerCoverage(3, 100, census=False)


def test_every_reference_to_a_thread_is_an_entry_of_the_catalog() -> None:
    lines = resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()
    numbers = {json.loads(line)["number"] for line in lines if line.strip()}
    assert {r.number for r in definitions.load().references} <= numbers


COUNTED: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    ("frame", {}, (19, 100, date(2024, 7, 31))),  # 100 is the last number from before August 2024
    ("closed_issues", {}, (9,)),  # 10 25 26 40 46 50 60 70 90
    ("bugs", {}, (6,)),  # 10 40 46 50 60 70
    ("patched_bugs", {}, (5,)),  # all but 50
    ("class_share", {"scheme": "bug_type", "class": "memory", "within": ""}, (4, 5, 5)),  # all but 60
    ("class_share", {"scheme": "memory_type", "class": "non_contiguous", "within": ""}, (3, 4, 5)),  # 10 40 70
    ("class_share", {"scheme": "memory_type", "class": "non_contiguous", "within": "bug_type=memory"}, (3, 4, 4)),
    ("class_share", {"scheme": "consequence", "class": "crash", "within": "bug_type=memory"}, (2, 4, 4)),  # 10 46
    ("pair_count", {"memory_type": "non_contiguous", "consequence": "silent_correctness"}, (2,)),  # 40 70
    ("pair_count", {"memory_type": "segment_fault", "consequence": "runtime_error"}, (0,)),
    ("non_contiguous", {"backend": ""}, (1,)),  # 40; 10 is older, 70 has no day
    ("non_contiguous", {"backend": "cuda"}, (1,)),
    ("non_contiguous", {"backend": "mps"}, (0,)),
    ("memory_bugs_of_half_year", {"first": "2022-01-01", "last": "2022-06-30"}, (1,)),
    ("memory_bugs_of_half_year", {"first": "2023-01-01", "last": "2023-06-30"}, (0,)),  # 60 is logical
    ("half_years_with_memory_bugs", {}, (1,)),  # that of 40, not that of 46
    ("components_compared", {}, (8, 9, 9)),  # 10 20 40 46 50 60 70 100; and 55
    ("frequent_subtypes", {}, (1, 2, 4)),  # 46, not 10
    ("references_as_bugs", {"first": 1, "last": 3}, (2,)),  # 11 fixes 10
    ("references_as_bugs", {"first": 2, "last": 13}, (3,)),
    ("cited_in_sample", {"first": 1, "last": 3}, (2,)),  # 11 is a pull request
    ("cited_year", {"which": "first", "from": 1, "to": 13}, (2019,)),
    ("cited_year", {"which": "last", "from": 1, "to": 3}, (2021,)),
    ("code_size", {"part": "data_path", "which": "first"}, (110,)),
    ("code_size", {"part": "computation", "which": "last"}, (3000,)),
    ("code_size", {"part": "sparse", "which": "last"}, (500,)),
    ("code_size", {"part": "storage", "which": "last"}, (None,)),
]


def test_queries_count_what_was_counted_by_hand(mini: duckdb.DuckDBPyConnection) -> None:
    for query, parameters, row in COUNTED:
        text = next(path for path in QUERIES if path.stem == query).read_text(encoding="utf-8")
        assert mini.execute(text, parameters or None).fetchall() == [row], (query, parameters)
    assert {path.stem for path in QUERIES} == {one.query for one in definitions.load().claims if one.query} | {"frame"}


@pytest.mark.parametrize(
    ("rule", "ours", "frame", "verdict"),
    [
        ("equal", Ours(10.4, "database"), SOME, "agrees"),
        ("equal", Ours(10.6, "database"), SOME, "differs"),
        ("lower_bound", Ours(11, "database"), SOME, "differs"),
        ("lower_bound", Ours(10, "database"), SOME, "cannot_be_compared"),
        ("lower_bound", Ours(9, "database"), ALL, "differs"),
        ("lower_bound", Ours(10, "database"), ALL, "agrees"),
        ("upper_bound", Ours(9, "database"), SOME, "differs"),
        ("upper_bound", Ours(10, "database"), SOME, "cannot_be_compared"),
        ("shown", Ours(10, "database"), SOME, "agrees"),
        ("shown", Ours(9, "database"), SOME, "cannot_be_compared"),
        ("shown", Ours(9, "database"), ALL, "differs"),
        ("none", Ours(10, "database"), ALL, "cannot_be_compared"),
        ("share", Ours(10, "database", 10, 100, 5, 15), ALL, "agrees"),
        ("share", Ours(10, "database", 10, 100, 11, 15), ALL, "differs"),
        ("share", Ours(10, "database", 10, 100, 5, 15, 0.1), ALL, "cannot_be_compared"),  # a tenth has no label
        ("share", Ours(10, "database", 10, 100, 5, 15), SOME, "cannot_be_compared"),
        ("majority", Ours(10, "database", 10, 100, 11, 15), ALL, "agrees"),
        ("majority", Ours(10, "database", 10, 100, 5, 9), ALL, "differs"),
        ("majority", Ours(10, "database", 10, 100, 5, 15), ALL, "cannot_be_compared"),
        ("majority", Ours(10, "database", 10, 100, 11, 15), SOME, "cannot_be_compared"),
    ],
)
def test_rules_for_counts_and_shares(rule: str, ours: Ours, frame: TrackerCoverage, verdict: str) -> None:
    found = verdicts.decide(claim(rule=rule), ours, frame, 0.95)
    assert found.verdict == verdict
    assert found.why


def test_more_than_printed_decides_nothing_where_the_definitions_differ() -> None:
    bounded = claim(rule="lower_bound", definition="a shared list of modules")
    found = verdicts.decide(bounded, Ours(11, "database"), SOME, 0.95)
    assert found.verdict == "cannot_be_compared"
    assert found.why == "missing: a shared list of modules; even this selected sample holds 11"


@pytest.mark.parametrize("rule", ["equal", "upper_bound"])
def test_two_printed_numbers_that_do_not_go_together_decide_nothing(rule: str) -> None:
    one = claim(rule=rule)
    assert verdicts.decide(one, Ours(8, "geometry"), SOME, 0.95).verdict == "differs"
    found = verdicts.decide(one, Ours(8, "paper"), SOME, 0.95)
    assert found.verdict == "cannot_be_compared"
    assert found.why.startswith("missing: which of the printed numbers is meant; ")
    assert verdicts.decide(one, Ours(one.value, "paper"), SOME, 0.95).verdict != "differs"


def test_only_a_check_that_decides_makes_the_number_impossible_whatever_our_figure_says() -> None:
    check = {"check": "grim", "holds": False, "text": "no count of 73 gives 10.0 %"}
    found = verdicts.decide(claim(checks=[check | {"decides": True}]), Ours(10, "database"), ALL, 0.95)
    assert (found.verdict, found.why) == ("differs", "impossible: no count of 73 gives 10.0 %")
    assert verdicts.decide(claim(checks=[check]), Ours(10, "database"), ALL, 0.95).verdict == "agrees"


def test_figures_of_the_printed_numbers_are_what_their_formulas_give() -> None:
    paper = definitions.load()
    printed = {one.id: one.number for one in paper.claims}
    arithmetic = [one for one in paper.claims if one.formula and " of " not in one.formula]
    assert len(arithmetic) == 11
    for one in arithmetic:
        assert one.ours == pytest.approx(eval(one.formula, {}, printed)), one.id


# ---- bad entries -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"printed": "ten"}, "printed"),
        ({"rule": "about"}, "rule: "),
        ({"kind": "mood"}, "kind: "),
        ({"section": None}, "section: "),
        ({"missing": None}, "`missing` must say"),
        ({"ours": 3}, "more than one of"),
        ({"query": None, "ours": 3, "basis": "known"}, "and a `source` where it is known"),
        ({"query": None, "ours": 3, "basis": "paper"}, "else a `formula`"),
    ],
)
def test_a_malformed_claim_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match='claim "x"') as error:
        claim(**changes)
    assert said in str(error.value)


def test_a_query_that_does_not_exist_or_fails_is_named(mini: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(InputError, match=r"analysis/claims/nothing\.sql is missing"):
        verdicts.figure(mini, claim(query="nothing"))
    with pytest.raises(InputError, match=r"class_share\.sql \(claim 'x'\)"):
        verdicts.figure(mini, claim(query="class_share"))


def test_a_database_that_holds_all_numbers_compares_shares_and_counts(mini: duckdb.DuckDBPyConnection) -> None:
    known = {
        number for (number,) in mini.execute("SELECT number FROM items WHERE repo = ?", [mini_study.REPO]).fetchall()
    }
    missing = [(n, "pull", "open", None, None, [], "x") for n in range(1, 101) if n not in known]
    mini.execute("BEGIN")
    mini_study.add_items(mini, missing)
    found = verdicts.evaluate(mini, definitions.load())
    mini.execute("ROLLBACK")
    results = {result.claim.id: result for result in found.results}
    assert found.frame == TrackerCoverage(100, 100, census=True)
    assert results["closed_issues"].verdict == "differs"
    assert results["closed_issues"].why == "3089 printed, 9 by us"
    shares = results["non_contiguous_share"]
    assert shares.verdict == "agrees"  # 3 of 4 says little, and what it says does not contradict 30.2 %
    assert claims_table.ours(shares, selected=False).startswith("3 of 4: 75.0 % [30.1, 95.4], database")
    assert results["memory_half_years"].verdict == "differs"


def test_numbers_that_agree_by_arithmetic_are_told_from_those_that_rest_on_data() -> None:
    given = [("agrees", "arithmetic"), ("agrees", "database"), ("agrees", None), ("differs", "database")]
    results = [
        SimpleNamespace(verdict=verdict, ours=basis and SimpleNamespace(basis=basis)) for verdict, basis in given
    ]
    report: Any = SimpleNamespace(results=results, frame=SimpleNamespace(census=False))
    said = claims_table.replicated(report)
    assert said.startswith("1 of 2 numbers that agree are arithmetic on printed numbers")
    assert "1 rest on this database, a selected sample" in said
