"""A tracker of two dozen items, made up so that every number of the study can be counted by hand.

Numbers grow with time, as the tracker's do. The study's own time ends with July 2024; today's study is that of
``AS_OF``. What each item is for stands beside it. Releases, lines of wheels, the shipped matrix and the taxonomy are
replaced by small ones (``prepared``), so that nothing here changes when those files do.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any
from unittest import mock

import duckdb

from torch_embers import __version__
from torch_embers.store import schema, views
from torch_embers.study import fact_tables, samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

REPO = "pytorch/pytorch"
AS_OF = date(2026, 6, 30)

CRASH, SILENT, BUG = "module: crash", "module: correctness (silent)", "module: regression"
ITEMS: list[tuple[Any, ...]] = [
    # number, kind, state, created, closed, labels, title
    (1, "issue", "closed", "2016-12-01", "2017-02-01", [CRASH], "x"),  # before the study's first day
    (10, "issue", "closed", "2019-03-01", "2019-04-10", [CRASH, "module: cuda"], "x"),
    (11, "pull", "closed", "2019-03-11", "2019-04-10", [], "Fix wrong result"),  # reports nothing of its own
    (20, "issue", "closed", "2020-05-01", None, [CRASH], "x"),  # nobody knows when it was closed; no patch
    (25, "issue", "closed", "2020-06-01", "2020-07-01", ["triaged"], "x"),  # closed, but nobody calls it a bug
    (26, "issue", "closed", "2020-06-15", "2020-08-01", [], "conv2d gives wrong results"),  # only its title does
    (30, "issue", "open", "2020-06-20", None, [CRASH], "x"),
    (40, "issue", "closed", "2021-05-01", "2021-06-01", [SILENT], "x"),
    (41, "pull", "closed", "2021-05-21", "2021-06-01", [], "x"),
    (45, "issue", "closed", "2021-07-01", "2021-08-01", [CRASH], "x"),  # deleted from the tracker
    (50, "issue", "closed", "2022-08-01", "2022-09-01", [CRASH], "x"),  # no patch
    (55, "issue", "closed", "2022-10-01", "2022-11-01", [CRASH], "x"),  # computation, not the data path
    (60, "issue", "closed", "2023-01-01", None, [BUG], "x"),  # closed on an unknown day; a commit speaks for it
    (70, "issue", "closed", None, "2023-08-01", [BUG], "x"),  # halfway from 60 to 80: 2 July 2023, noon
    (80, "pull", "closed", "2024-01-01", "2024-01-20", [], "Wrong strides"),  # a pull request that reports a bug
    (90, "issue", "closed", "2024-07-01", "2024-07-10", [CRASH], "x"),  # annotated as no bug
    (91, "pull", "closed", "2024-07-05", "2024-07-10", [], "x"),
    (100, "issue", "closed", "2024-07-30", "2024-10-15", [CRASH, "Module: CUDA"], "x"),  # closed after the study's time
    (101, "pull", "closed", "2024-08-10", "2024-10-15", [], "x"),
    (110, "issue", "open", "2025-03-01", None, [BUG], "x"),  # the catalog looked it up on 31 March 2025
    (115, "issue", "open", "2025-06-01", None, [CRASH, "oncall: pt2"], "x"),
    (120, "issue", "closed", "2025-09-01", "2025-09-11", [BUG, "module: mps"], "x"),  # no patch
    (130, "issue", "closed", "2026-08-01", "2026-08-05", [CRASH], "x"),  # after today's study
]
DELETED = 45
OTHER_REPO = ("pytorch/vision", 5, "issue", "closed", "2021-01-01", "2021-02-01", [CRASH], "x")
FETCHED = "2026-12-01"

COMPONENTS = [
    # number, component, subcomponent, strict, evidence
    (1, "data_path", "sparse", True, "path"),
    (10, "data_path", "sparse", True, "path"),
    (11, "data_path", "sparse", True, "path"),  # a patch of two parts
    (11, "data_path", "storage", False, "path"),
    (11, "data_path", "nested", False, "text"),  # words of a patch do not count: its files do
    (20, "data_path", "sparse", True, "label"),
    (25, "data_path", "sparse", True, "label"),
    (26, "data_path", "sparse", True, "text"),
    (30, "data_path", "sparse", True, "text"),
    (40, "data_path", "nested", False, "label"),  # 41 has no files: its parts are those of its issue
    (40, "data_path", "sparse", True, "text"),
    (40, "computation", "autograd", False, "text"),
    (45, "data_path", "sparse", True, "label"),
    (50, "data_path", "sparse", True, "label"),
    (55, "computation", "autograd", False, "label"),
    (60, "data_path", "serialization", False, "text"),
    (70, "data_path", "serialization", False, "text"),
    (80, "data_path", "sparse", True, "path"),
    (90, "data_path", "sparse", True, "label"),
    (100, "data_path", "sparse", True, "label"),
    (101, "computation", "autograd", False, "path"),  # none of its files is of the data path
    (110, "data_path", "sparse", True, "label"),
    (115, "data_path", "sparse", True, "label"),
    (120, "data_path", "sparse", True, "label"),
    (130, "data_path", "sparse", True, "label"),
]
LINKS: list[tuple[Any, ...]] = [
    # number, sha, relation, target number
    (11, None, "fixes", 10),
    (11, None, "fixes", 30),  # opened before 30 was
    (30, None, "fixes", 20),  # an issue is no patch
    (40, None, "closed_by", 41),
    (None, "abc", "fixes", 60),
    (71, None, "fixes", 70),  # 71 was never mined: 11/20 of the way from 60 to 80
    (91, None, "fixes", 90),
    (101, None, "fixes", 100),
]
COMMITS = [("abc", "2023-01-31")]
ONE, TWO, THREE = (("automated", f"guide-{place}") for place in (1, 2, 3))
PERSON, STUDY = ("human", "person"), ("paper", "study")
GOLD: list[tuple[int, str, dict[tuple[str, str], str]]] = [
    (10, "bug_type", {STUDY: "memory", ONE: "memory", TWO: "memory"}),
    (10, "memory_type", {ONE: "non_contiguous", TWO: "non_contiguous"}),
    (10, "memory_subtype", {ONE: "cuda_limitation"}),
    (10, "consequence", {ONE: "crash", TWO: "crash"}),
    (20, "bug_type", {ONE: "logical", TWO: "data_type"}),  # one to one: the first by name
    (30, "bug_type", {ONE: "memory", TWO: "memory"}),
    (30, "memory_type", {ONE: "non_contiguous"}),
    (30, "consequence", {ONE: "crash"}),
    (40, "bug_type", {ONE: "logical", TWO: "logical", PERSON: "memory"}),  # the person counts, not the two
    (40, "memory_type", {ONE: "segment_fault", TWO: "non_contiguous"}),
    (40, "consequence", {ONE: "silent_correctness", TWO: "silent_correctness"}),
    (50, "bug_type", {ONE: "memory"}),
    (50, "memory_type", {ONE: "segment_fault"}),
    (50, "memory_subtype", {ONE: "invalid_memory_address"}),
    (50, "consequence", {ONE: "crash"}),
    (60, "bug_type", {ONE: "memory", TWO: "memory", STUDY: "logical"}),  # the paper counts, not the two
    (60, "consequence", {ONE: "runtime_error"}),
    (70, "bug_type", {ONE: "memory", TWO: "logical", THREE: "memory"}),  # two to one
    (70, "memory_type", {ONE: "non_contiguous"}),
    (70, "consequence", {ONE: "silent_correctness"}),
    (80, "bug_type", {ONE: "memory"}),
    (80, "memory_type", {ONE: "memory_format"}),
    (80, "consequence", {ONE: "silent_correctness"}),
    (90, "bug_type", {ONE: "not_a_bug"}),
    (100, "bug_type", {ONE: "memory"}),
    (100, "memory_type", {ONE: "segment_fault"}),
    (100, "consequence", {ONE: "crash"}),
    (110, "bug_type", {ONE: "logical", TWO: "logical"}),
    (130, "bug_type", {ONE: "memory"}),
]
CATALOG = [  # number, backends, day; labels of 10 100 115 120 name backends, too
    (10, ["cpu", "cuda"], None),
    (110, ["cuda", "inductor"], "2025-03-31"),
]
BACKEND_LABELS = [("module: cuda", "cuda"), ("oncall: pt2", "inductor"), ("module: mps", "mps")]
PREDICTIONS = [
    # number, scheme, value, provenance
    (10, "bug_type", "logical", "model"),  # has a label
    (25, "bug_type", "memory", "model"),  # no candidate
    (26, "bug_type", "memory", "model"),
    (26, "memory_type", "segment_fault", "execution"),  # a run decided it, not the classifier
    (115, "bug_type", "logical", "model"),
    (115, "memory_type", "memory_format", "model"),
    (120, "bug_type", "memory", "model"),
    (120, "memory_type", "non_contiguous", "only_class"),
    (120, "consequence", "crash", "model"),
]
CODE_SIZES = [
    # tag, day, component, subcomponent, lines
    ("v1.3.0", "2019-10-10", "data_path", "sparse", 100),
    ("v1.3.0", "2019-10-10", "data_path", "storage", 10),
    ("v1.3.0", "2019-10-10", "data_path_strict", "sparse", 100),
    ("v1.3.0", "2019-10-10", "computation", "autograd", 1000),
    ("v1.3.0", "2019-10-10", "other", "docs", 7),
    ("v2.4.0", "2024-07-24", "data_path", "sparse", 500),
    ("v2.4.0", "2024-07-24", "computation", "autograd", 3000),
]

CASES = [
    # hash, name, origin, current, items
    ("h10", "c10", "curated", True, [10, 30]),  # one case, two issues
    ("h10old", "c10", "curated", False, [10]),
    ("h40x", "x40", "fix_test", True, [40]),
    ("h50", "c50", "curated", True, [50]),
]
BUILDS = [("b1", "1.13.1+cpu"), ("b2", "2.1.2+cpu"), ("b3", "2.9.1+cpu"), ("b4", "2.10.0@0123abc")]
VERDICTS = [
    # hash, build, verdict, day
    ("h10", "b1", "absent", "2026-01-01"),
    ("h10", "b1", "occurs", "2026-01-02"),  # the newer one counts
    ("h10", "b2", "absent", "2026-01-01"),
    ("h10", "b3", "untestable", "2026-01-01"),  # says nothing, and the shipped matrix does not speak for it either
    ("h10", "b4", "not_seen", "2026-01-01"),
    ("h10old", "b4", "occurs", "2026-01-01"),  # an older version of the case
    ("h40x", "b4", "occurs", "2026-01-01"),  # not curated
    ("h50", "b1", "absent", "2026-01-01"),
    ("h50", "b4", "occurs", "2026-01-01"),
]
MATRIX = [
    # the matrix that comes with embers: case, item, release, verdict
    ("c10", 10, "1.13.1", "absent"),  # this database ran it itself
    ("c10", 10, "2.9.1", "occurs"),  # here, too, if in vain
    ("c40", 40, "1.13.1", "occurs"),
    ("c40", 40, "2.1.2", "occurs"),
    ("c40", 40, "2.9.1", "absent"),
    ("c40", 40, "2.10.0", "absent"),
    ("c40b", 40, "2.10.0", "occurs"),  # one of two cases is enough
    ("c50", 50, "2.1.2", "absent"),  # this database has the case, but not on this release
    ("c60", 60, "1.13.1", "absent"),
    ("c70", 70, "1.13.1", "occurs"),
    ("c70", 70, "2.1.2", "absent"),
    ("c80", 80, "2.9.1", "absent"),  # gone, and back
    ("c80", 80, "2.10.0", "occurs"),
    ("c100", 100, "2.1.2", "occurs"),
    ("c100", 100, "2.9.1", "absent"),
    ("c100", 100, "2.10.0", "absent"),
    ("c110", 110, "2.3.0", "absent"),  # a release that nobody knows
    ("c110", 110, "2.9.1", "occurs"),
    ("c110", 110, "2.10.0", "not_seen"),
    ("c120", 120, "1.13.1", "occurs"),
    ("c120", 120, "2.1.2", "absent"),  # gone before it was reported
    ("c90", 90, "2.10.0", "occurs"),  # an annotator called it no bug
    ("c999", 999, "2.10.0", "occurs"),  # not in the database
]
SIBLINGS = {"c40b"}
"""Cases that show another input than the report; all others show the report's own."""
DISPOSITIONS = [
    # number, disposition, what was seen
    (40, "fixed", "closing_pr"),
    (50, "fixed", "commit"),
    (100, "fixed", "closing_pr"),
    (120, "declined", "comment"),
]
FIXES = [
    # commit, day, first release, name of a test or why there is none, class, a release before the fix, fails on the newest
    ("f1", "2022-11-15", "1.13.0", "t1", "validated", "1.12.1", False),
    ("f2", "2023-11-14", "2.1.0", "t2", "fails_after", "1.13.1", True),
    ("f2", "2023-11-14", "2.1.0", "t3", "never_seen", None, False),  # the class of the other test counts
    ("f3", "2023-11-24", "2.1.0", "t4", "validated", "1.13.1", False),
    ("f3", "2023-11-24", "2.1.0", "t5", "fails_after", None, True),  # was not seen to fail before the fix
    ("f4", "2023-12-04", "2.1.0", "t6", "unusable", None, True),  # says nothing, there neither
    ("f5", "2025-11-02", "2.9.0", "no_test_file", None, None, None),
    ("f6", "2025-11-02", "2.99.0", "reverted", None, None, None),  # no such release is known
    ("f7", "2026-07-01", "2.99.0", "t7", "validated", "2.10.0", False),  # after the day of the study
]
FIX_COMMITS = [("f1", 1, 9, "data_path"), ("f2", 2, 10, "both"), ("f3", 1, 99, "data_path"), ("f5", 9, 100, "neither")]
"""Files, lines and component; of f4 and f6 nobody knows them."""
FIRST_DAYS = [("1.13.0", "2022-12-15"), ("2.1.0", "2023-12-14"), ("2.9.0", "2025-11-12")]
RELEASES = {
    "1.13.1": date(2022, 12, 15),
    "2.1.2": date(2023, 12, 14),
    "2.9.1": date(2025, 11, 12),
    "2.10.0": date(2026, 1, 21),
}
LINES = [
    # release, component, strict, lines
    ("1.13.1", "data_path", True, 10),
    ("1.13.1", "data_path", False, 20),
    ("1.13.1", "computation", False, 100),
    ("1.13.1", "other", False, 7),
    ("2.1.2", "other", False, 7),
    ("2.9.1", "other", False, 7),
    ("2.10.0", "data_path", True, 15),
    ("2.10.0", "computation", False, 130),
]
CLASSES = [
    # scheme, class, parent
    *(("bug_type", name, None) for name in ("memory", "logical", "data_type", "other")),
    *(("memory_type", name, None) for name in ("non_contiguous", "segment_fault", "memory_format")),
    ("memory_subtype", "cuda_limitation", "non_contiguous"),
    ("memory_subtype", "channel_management", "non_contiguous"),
    ("memory_subtype", "channel_management", "memory_format"),
    ("memory_subtype", "invalid_memory_address", "segment_fault"),
    *(("consequence", name, None) for name in ("crash", "silent_correctness", "runtime_error")),
]


def insert(connection: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Sequence[Any], **same: Any) -> None:
    """Insert rows into some columns of a table, and into others the same value in each row."""
    names = [*columns.split(), *same]
    places = ", ".join("?" for _ in names)
    whole = [(*row, *same.values()) for row in rows]
    connection.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})", whole)


def empty(path: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A database with schema and views, and nothing in it; in memory where no file is given."""
    connection = duckdb.connect(str(path or ":memory:"))
    schema.make(connection, "2000-01-01T00:00:00", __version__)
    views.refresh(connection)
    return connection


def add_items(connection: duckdb.DuckDBPyConnection, items: Sequence[tuple[Any, ...]], repo: str = REPO) -> None:
    """Insert items given as in ITEMS."""
    columns = "number kind state created_at closed_at labels title"
    insert(connection, "items", columns, items, repo=repo, fetched_at=FETCHED)


def add_components(connection: duckdb.DuckDBPyConnection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert components given as in COMPONENTS."""
    insert(connection, "components", "number component subcomponent strict evidence", rows, repo=REPO, detail="x")


def add_links(connection: duckdb.DuckDBPyConnection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert links given as in LINKS."""
    said = {"repo": REPO, "target_repo": REPO, "evidence": "text", "found_in": "title"}
    insert(connection, "links", "number sha relation target_number", rows, **said)


def add_gold(
    connection: duckdb.DuckDBPyConnection, gold: Sequence[tuple[int, str, dict[tuple[str, str], str]]], repo: str = REPO
) -> None:
    """Insert labels given as in GOLD."""
    rows = [(number, scheme, value, *who) for number, scheme, said in gold for who, value in said.items()]
    insert(connection, "gold_labels", "number scheme value annotator_kind annotator", rows, repo=repo)


def database(*, clone: bool = False, path: Path | None = None) -> duckdb.DuckDBPyConnection:
    """The made-up tracker.

    Args:
        clone: with lines of code of a clone.
        path: file to make; in memory where none is given.
    """
    connection = empty(path)
    add_items(connection, ITEMS)
    add_items(connection, [OTHER_REPO[1:]], OTHER_REPO[0])
    connection.execute("UPDATE items SET deleted_at = '2022-01-01' WHERE number = ?", [DELETED])
    add_components(connection, COMPONENTS)
    add_links(connection, LINKS)
    insert(connection, "commits", "sha committed_at", COMMITS, repo=REPO)
    add_gold(connection, GOLD)
    add_gold(connection, [(OTHER_REPO[1], "bug_type", {ONE: "memory"})], OTHER_REPO[0])
    unsaid: dict[str, Any] = {"repo": REPO, "summary": "x", "affected_versions": [], "fixed_versions": []}
    insert(connection, "catalog", "number backends facts_as_of", CATALOG, **unsaid)
    said = {"repo": REPO, "probability": 0.5, "confidence": "low", "model": "m", "text_hash": ""}
    columns = "number scheme value provenance"
    insert(connection, "predictions", columns, PREDICTIONS, **said, votes_hash="", predicted_at=FETCHED)
    _add_runs(connection)
    _add_fixes(connection)
    if clone:
        insert(connection, "code_sizes", "tag tagged_at component subcomponent lines", CODE_SIZES, repo=REPO, files=1)
        connection.execute(
            "INSERT INTO code_sizes SELECT * REPLACE ('pytorch/vision' AS repo) FROM code_sizes WHERE tag = 'v2.4.0'"
        )
    return connection


CASE: dict[str, Any] = {"code": "", "summary": "", "requires": [], "known_bad": [], "signature": [], "timeout": 1.0}
VERDICT: dict[str, Any] = {
    "environment": "cpu",
    "flaky": False,
    "detail": "",
    "control_k": 0,
    "control_n": 0,
    "k": 1,
    "n": 1,
}
BUILD = {"channel": "release", "platform": "linux", "seen_at": FETCHED}


def _add_runs(connection: duckdb.DuckDBPyConnection) -> None:
    # cases of the matrix that this database does not have: their name is their hash
    hashes = {name: h for h, name, _, current, _ in CASES if current}
    missing = sorted({(name, number) for name, number, _, _ in MATRIX if name not in hashes})
    cases = [case[:4] for case in CASES] + [(name, name, "curated", True) for name, _ in missing]
    insert(connection, "cases", "case_hash name origin current", cases, **CASE, oracle="self", saved_at=FETCHED)
    shown = [(h, name, number) for h, name, *_, numbers in CASES for number in numbers]
    shown += [(name, name, number) for name, number in missing]
    items = [(h, number, "sibling" if name in SIBLINGS else "same") for h, name, number in shown]
    insert(connection, "case_items", "case_hash number relation", items, repo=REPO)
    columns = "number disposition evidence_kind"
    read = {"repo": REPO, "evidence": "read", "annotator_kind": "automated", "annotator": "reader", "source": "catalog"}
    insert(connection, "dispositions", columns, DISPOSITIONS, **read)
    insert(connection, "builds", "build name version", [(b, b, v) for b, v in BUILDS], **BUILD, python="3.12")
    releases = sorted({version for _, _, version, _ in MATRIX})
    insert(connection, "builds", "build name version", [(v, v, v) for v in releases], **BUILD)
    own = VERDICT | {"profile": "whole", "batch": 1, "control": "none"}
    insert(connection, "verdicts", "case_hash build verdict decided_at", VERDICTS, **own)
    shipped = [(hashes.get(name, name), version, verdict) for name, _, version, verdict in MATRIX]
    also = {"profile": "reviewed", "batch": 0, "control": "none", "decided_at": FETCHED, "provenance": "shipped"}
    insert(connection, "verdicts", "case_hash build verdict", shipped, **VERDICT | also)


def _add_fixes(connection: duckdb.DuckDBPyConnection) -> None:
    tests = [
        (sha, day, first, *(("script", None, "x", name) if kind else ("no", name, None, None)), day)
        for sha, day, first, name, kind, _, _ in FIXES
    ]
    columns = "commit_sha committed_at first_release status reason test name decided_at"
    insert(connection, "fix_tests", columns, tests, repo=REPO, issues=[], first_release_by="tag", rules="8")
    newest = ["2.10.0"]
    classes = [
        (name, kind, newest if fails else [], [] if fails else newest, before, fails, day)
        for _, day, _, name, kind, before, fails in FIXES
        if kind
    ]
    columns = "name class failed passed validated_before fails_on_newest decided_at"
    insert(connection, "fix_test_classes", columns, classes, unusable=[], rules="8")


@contextmanager
def small_facts() -> Iterator[None]:
    """While this lasts, releases, lines, classes and labels of backends are those of this file."""
    places: dict[str, int] = {}
    classes = []
    for scheme, name, parent in CLASSES:
        places[scheme] = places.get(scheme, -1) + 1
        classes.append((scheme, name, parent, places[scheme], name.upper(), "x"))
    lines = [
        {"version": version, "released": str(RELEASES[version]), "module": "torch", "component": component}
        | {"subcomponent": "x", "strict": str(strict), "files": "1", "lines": str(count)}
        for version, component, strict, count in LINES
    ]
    with (
        mock.patch.object(fact_tables, "backend_labels", return_value=BACKEND_LABELS),
        mock.patch.object(fact_tables, "classes", return_value=classes),
        mock.patch.object(fact_tables, "fix_commits", return_value=FIX_COMMITS),
        mock.patch.object(fact_tables, "first_days", return_value=FIRST_DAYS),
        mock.patch.object(fact_tables, "wheel_lines", return_value=lines),
    ):
        yield


def prepared(*, clone: bool = False) -> duckdb.DuckDBPyConnection:
    """The made-up tracker with all tables that tables and figures stand on, as of AS_OF."""
    connection = database(clone=clone)
    with small_facts():
        samples.prepare(connection, samples.load(AS_OF))
    return connection
