"""What the tests in test_claims.py share."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from torch_embers import __version__, cli, resources
from torch_embers.store import schema, views
from torch_embers.store.store import Store
from torch_embers.study.claims import definitions, verdicts
from torch_embers.study.claims.definitions import Reference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch_embers.study.claims.verdicts import Report, Result

REPO = "pytorch/pytorch"


@pytest.fixture(scope="module")
def catalog(catalog_template: Path) -> Path:
    """A database of the embedded catalog alone."""
    return catalog_template


@pytest.fixture(scope="module")
def report(catalog: Path) -> Report:
    """The claims on the catalog."""
    return verdicts.on_store(Store(catalog))


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
    connection = duckdb.connect()
    schema.upgrade(connection, "2000-01-01T00:00:00", __version__)
    views.refresh(connection)
    for number, kind, state, created, closed, label in ITEMS:
        connection.execute(
            "INSERT INTO items (repo, number, kind, title, state, created_at, closed_at, labels) VALUES (?,?,?,?,?,?,?,?)",
            [REPO, number, kind, "x", state, created, closed, [label] if label else []],
        )
        component = {11: "computation", 15: None}.get(number, "data_path")
        if component:
            connection.execute(
                "INSERT INTO components VALUES (?, ?, ?, 'sparse', true, 'path', 'x', NULL)", [REPO, number, component]
            )
    for number, labels in GOLD.items():
        for scheme, value in labels.items():
            for kind, said in (("automated", value), ("automated", "other"), ("human", value)):
                connection.execute(
                    "INSERT INTO gold_labels (repo, number, scheme, value, annotator_kind, annotator) VALUES (?,?,?,?,?,?)",
                    [REPO, number, scheme, said, kind, f"{kind}-{said}"],
                )
    for fix, bug in FIXES:
        connection.execute(
            "INSERT INTO links (repo, number, relation, target_repo, target_number, evidence, found_in) "
            "VALUES (?, ?, 'fixes', ?, ?, 'text', 'title')",
            [REPO, fix, REPO, bug],
        )
    connection.execute(
        "INSERT INTO catalog (repo, number, summary, backends, affected_versions, fixed_versions) "
        "VALUES (?, 3, 'x', ['cuda'], [], [])",
        [REPO],
    )
    for tag, day, lines in (
        ("v1.3.0", "2019-10-10", 100),
        ("v2.4.0", "2024-07-24", 700),
        ("v2.9.0", "2025-10-15", 900),
    ):
        for part, count in (("a", lines), ("b", 1)):
            connection.execute(
                "INSERT INTO code_sizes VALUES (?, ?, ?, 'computation', ?, 1, ?, 'git', NULL, NULL)",
                [REPO, tag, day, part, count],
            )
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


# ---- the command -----------------------------------------------------------------------------------------------------


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    return int(stop.value.code or 0)
