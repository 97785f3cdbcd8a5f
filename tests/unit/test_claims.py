"""The study's claims: what comes out on the catalog, each query on a database counted by hand, and the rules of verdicts."""

from __future__ import annotations

import copy
import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mini_study
from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.study.claims import checks, claims_table, definitions, formulas, verdicts
from torch_embers.study.claims.definitions import Reference
from torch_embers.study.claims.verdicts import Frame, Ours

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from torch_embers.study.claims.verdicts import Report, Result

REPO = "pytorch/pytorch"


def of(report: Report, name: str) -> Result:
    return next(r for r in report.results if r.claim.id == name)


# ---- queries on a database that is counted by hand -------------------------------------------------------------------

ITEMS = [
    # number, kind, state, created, closed, label
    (1, "issue", "closed", "2022-02-01", "2022-03-01", "module: crash"),
    (2, "pull", "closed", "2022-02-02", "2022-03-01", None),
    (3, "issue", "closed", "2021-05-01", "2021-06-01", "module: correctness (silent)"),
    (4, "pull", "closed", "2021-05-02", "2021-06-01", None),
    (5, "issue", "closed", "2023-01-01", None, "module: regression"),  # closed in time: its patch says so
    (6, "pull", "closed", "2023-01-02", "2023-02-01", None),
    (7, "issue", "closed", "2020-05-01", "2020-06-01", "module: correctness (silent)"),  # no patch
    (8, "issue", "closed", "2019-05-01", "2019-06-01", "triaged"),  # nobody called it a bug
    (9, "issue", "open", "2021-01-01", None, "module: crash"),
    (10, "issue", "closed", "2018-01-01", None, "module: crash"),  # the day is not known, and there is no patch
    (11, "issue", "closed", "2021-01-01", "2021-02-01", "module: regression"),  # computation
    (12, "issue", "closed", "2017-05-01", "2024-12-01", "triaged"),  # too late
    (13, "issue", "closed", "2022-08-01", "2022-09-01", "module: crash"),
    (14, "pull", "closed", "2022-08-02", "2022-09-01", None),
    (15, "issue", "closed", "2022-09-01", "2022-10-01", "module: crash"),  # not about the data path
    (16, "pull", "open", "2024-07-30", None, None),
    (17, "issue", "closed", "2024-09-01", "2024-09-02", "module: crash"),  # after the study
    (18, "issue", "closed", "2021-03-01", None, "module: crash"),  # patched after the study
    (19, "pull", "closed", "2024-10-01", "2024-10-02", None),
]
GOLD = {
    1: {"bug_type": "memory", "memory_type": "non_contiguous", "consequence": "crash"},
    3: {"bug_type": "memory", "memory_type": "non_contiguous", "consequence": "silent_correctness"},
    5: {"bug_type": "logical", "consequence": "silent_correctness"},
    13: {
        "bug_type": "memory",
        "memory_type": "segment_fault",
        "memory_subtype": "invalid_memory_address",
        "consequence": "crash",
    },
}
FIXES = [(2, 1), (4, 3), (6, 5), (14, 13), (19, 18)]


@pytest.fixture(scope="module")
def items() -> Iterator[duckdb.DuckDBPyConnection]:
    """The items above, in the real schema."""
    connection = mini_study.empty()
    mini_study.add_items(connection, [(*item[:5], [item[5]] if item[5] else [], "x") for item in ITEMS])
    parts = [(item[0], "computation" if item[0] == 11 else "data_path") for item in ITEMS if item[0] != 15]
    mini_study.add_components(connection, [(number, part, "sparse", True, "path") for number, part in parts])
    mini_study.add_links(connection, [(fix, None, "fixes", bug) for fix, bug in FIXES])
    for number, labels in GOLD.items():
        said = {
            scheme: {("automated", "a"): value, ("automated", "b"): "other", ("human", "c"): value}
            for scheme, value in labels.items()
        }
        mini_study.add_gold(connection, {number: said})
    unsaid: dict[str, Any] = {"repo": REPO, "summary": "x", "affected_versions": [], "fixed_versions": []}
    mini_study.insert(connection, "catalog", "number backends", [(3, ["cuda"])], **unsaid)
    for tag, day, lines in (
        ("v1.3.0", "2019-10-10", 100),
        ("v2.4.0", "2024-07-24", 700),
        ("v2.9.0", "2025-10-15", 900),
    ):
        same = {"repo": REPO, "tag": tag, "tagged_at": day, "component": "computation", "files": 1}
        mini_study.insert(connection, "code_sizes", "subcomponent lines", [("a", lines), ("b", 1)], **same)
    yield connection
    connection.close()


@pytest.fixture
def mini(items: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same database with the claims' own temporary tables, which no other connection sees."""
    connection = items.cursor()
    verdicts.prepare(
        connection,
        definitions.load().model_copy(update={"references": tuple(Reference(ref=n, number=n) for n in (1, 2, 3, 13))}),
    )
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


def study(**changes: Any) -> definitions.Study:
    data = copy.deepcopy(resources.load_toml("claims.toml"))
    data["claim"] = [{k: v for k, v in {**ENTRY, **changes}.items() if v is not None}]
    return definitions.parse(data)


QUERIES = sorted((Path(__file__).resolve().parents[2] / "analysis" / "claims").glob("*.sql"))
ALL = Frame(100, 100, census=True)
SOME = Frame(3, 100, census=False)


def test_every_reference_to_a_thread_is_an_entry_of_the_catalog() -> None:
    lines = resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()
    numbers = {json.loads(line)["number"] for line in lines if line.strip()}
    assert {r.number for r in definitions.load().references} <= numbers


COUNTED: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
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
]


def test_queries_count_what_was_counted_by_hand(mini: duckdb.DuckDBPyConnection) -> None:
    for query, parameters, row in COUNTED:
        text = next(path for path in QUERIES if path.stem == query).read_text(encoding="utf-8")
        assert mini.execute(text, parameters or None).fetchall() == [row], (query, parameters)
    assert {path.stem for path in QUERIES} == {c.query for c in definitions.load().claims if c.query} | {"frame"}


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
def test_rules_for_counts_and_shares(rule: str, ours: Ours, frame: Frame, verdict: str) -> None:
    found = verdicts.decide(study(rule=rule).claims[0], ours, (), frame, 0.95)
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


def test_a_database_that_holds_all_numbers_compares_shares_and_counts(mini: duckdb.DuckDBPyConnection) -> None:
    found = verdicts.evaluate(mini, definitions.load())
    assert found.frame == Frame(18, 18, census=True)
    assert of(found, "closed_issues").verdict == "differs"
    assert of(found, "closed_issues").why == "3089 printed, 6 by us"
    shares = of(found, "non_contiguous_share")
    assert shares.verdict == "agrees"  # 2 of 3 says little, and what it says does not contradict 30.2 %
    assert claims_table.ours(shares, selected=False).startswith("2 of 3: 66.7 % [20.8, 93.9], database")
    assert of(found, "memory_half_years").verdict == "differs"
