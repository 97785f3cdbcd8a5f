"""`embers list`, `embers cases`, and JSON on standard output."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

from support import assert_clean_error, case_of, run_embers
from torch_embers.audit import advisories, osv
from torch_embers.audit import command as audit_command
from torch_embers.audit import formats as audit_formats
from torch_embers.builds.registry import Build
from torch_embers.errors import InputError
from torch_embers.mine.runner import mine_catalog
from torch_embers.oracles.finding import Finding
from torch_embers.report.command import Reported
from torch_embers.repro import bank
from torch_embers.run import release, reports, second_opinion, second_opinion_text
from torch_embers.run.bisect import report as bisection_report
from torch_embers.run.fix_tests.report import Yield
from torch_embers.run.hunt import Hunted
from torch_embers.run.item_verdict import item_verdict
from torch_embers.run.ledger import Cell
from torch_embers.run.matrix import entries
from torch_embers.run.perf import Timed
from torch_embers.run.watched import Watched
from torch_embers.sandbox import doctor
from torch_embers.store import show
from torch_embers.store.listing import CaseFilter, ItemFilter, list_cases, list_items, nearest
from torch_embers.store.store import Store
from torch_embers.study import command as study_command

if TYPE_CHECKING:
    from collections.abc import Callable

JSON_KEYS = Path(__file__).resolve().parent.parent / "docs" / "json-keys.csv"
OLD, NEW = "2.9.1", "2.10.0"
VERDICTS = {
    ("pt1_strides", OLD): "occurs",
    ("pt1_strides", NEW): "absent",
    ("pt1_other", OLD): "absent",
    ("pt1_other", NEW): "occurs",
    ("pt2_gone", OLD): "occurs",
    ("pt2_gone", NEW): "absent",
    ("pt3_unseen", NEW): "not_seen",
}
EVIL = "\x1b[31m\x7f\u202e\u2028 <script>"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The catalog without shipped verdicts, five items with cases on two builds, one of them with a hostile title."""
    store = Store(tmp_path_factory.mktemp("listing") / "e.duckdb")
    mine_catalog(store, "pytorch/pytorch")
    classes: dict[str, Any] = {"bug_type": "memory", "memory_type": "non_contiguous", "consequence": "crash"}
    cases = [
        case_of(name="pt1_strides", issues=["a/b#1"], **classes),
        case_of(name="pt1_other", issues=["a/b#1", "a/b#4"], code="import torch  # torch.addmm\n"),
        case_of(name="pt2_gone", issues=["a/b#2"], requires=["cuda"], code="import torch\n"),
        case_of(name="pt3_unseen", issues=["a/b#3"], code="import torch, sys\n"),
    ]
    with store.writer("test") as writer, writer.transaction() as connection:
        bank.save(connection, cases)
        connection.executemany(
            "INSERT INTO items (repo, number, kind, title, state, updated_at, comment_count, labels) "
            "VALUES ('a/b', ?, 'issue', ?, ?, ?, ?, ['module: mps'])",
            [
                (1, "sum is wrong", "closed", "2024-01-01", 5),
                (2, "max is wrong", "open", "2024-01-03", 9),
                (3, "min is wrong", "open", "2024-01-02", 1),
                (4, EVIL, "closed", None, None),
                (5, "nothing ran", None, None, None),
            ],
        )
        for version in (OLD, NEW):
            connection.execute(
                "INSERT INTO builds (build, name, version, channel, platform, python, seen_at) "
                "VALUES (?, ?, ?, 'release', 'Linux', '3.11', '2024-01-01')",
                [version, f"named-{version}", f"{version}+cpu"],
            )
        connection.execute(
            "INSERT INTO environments (environment, device, system, processor, threads, seen_at) "
            "VALUES ('e', 'cpu', 'Linux', 'CPU', 2, '2024-01-01')"
        )
        connection.executemany(
            "INSERT INTO verdicts (case_hash, build, environment, profile, batch, verdict, flaky, k, n, control, "
            "control_k, control_n, detail, decided_at) "
            "VALUES (?, ?, 'e', 'reviewed', 0, ?, false, 1, 3, 'none', 0, 0, '', '2024-01-01')",
            [
                (case.hash, build, verdict)
                for (name, build), verdict in VERDICTS.items()
                for case in cases
                if case.name == name
            ],
        )
        connection.execute(
            "INSERT INTO status_history (repo, number, backend, reference, status, evidence, decided_at) "
            "VALUES ('a/b', 1, 'cpu', '2.10.0', 'closed_but_occurs', '', '2024-01-01')"
        )
        connection.executemany(
            "INSERT INTO gold_labels (repo, number, scheme, value, annotator_kind, annotator) "
            "VALUES ('a/b', ?, 'consequence', ?, 'human', 'x')",
            [(1, "crash"), (2, "slow")],
        )
        connection.execute(
            "INSERT INTO predictions (repo, number, scheme, value, likeliest, probability, abstained, provenance, model, "
            "variant, text_hash, votes_hash, predicted_at) SELECT 'a/b', unnest([1, 3]), 'consequence', 'slow', 'slow', "
            "0.9, false, 'model', 'm', 'title', 'h', 'h', '2024-01-01'::TIMESTAMP"
        )
    return store


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"state": "open"}, [2, 3]),
        ({"occurs_on": OLD}, [1, 2]),
        ({"occurs_on": NEW}, [1, 4]),
        ({"occurs_on": f"named-{NEW}"}, [1, 4]),
        ({"absent_on": NEW}, [2]),
        ({"absent_on": OLD}, [4]),
        ({"status": "closed_but_occurs"}, [1]),
        ({"labels": ("module: mps",)}, [1, 2, 3, 4, 5]),
        ({"classes": ("consequence=slow",)}, [2, 3]),
        ({"classes": ("crash",)}, [1]),
        ({"operator": "torch.addmm"}, [1, 4]),
        ({"operator": "addm"}, []),
        ({"operator": "sum"}, [1]),
        ({"backend": "cuda"}, [2]),
        ({"has_case": False}, [5]),
        ({"has_case": True, "state": "open"}, [2, 3]),
        ({"origin": "curated"}, [1, 2, 3, 4]),
        ({"origin": "fix_test"}, []),  # an origin of which the database has none is no mistake
        ({"sort": "updated"}, [1, 3, 2, 4, 5]),
        ({"sort": "comments", "descending": True}, [2, 1, 3, 5, 4]),
        ({"limit": 2}, [1, 2]),
    ],
)
def test_filters_choose_items(store: Store, asked: dict[str, Any], numbers: list[int]) -> None:
    assert [row["number"] for row in list_items(store, ItemFilter(repo="a/b", **asked))] == numbers


@pytest.mark.parametrize(
    ("asked", "verdicts"),
    [
        ({}, {1: ("occurs", NEW), 2: ("absent", NEW), 3: ("not_seen", NEW), 4: ("occurs", NEW), 5: (None, None)}),
    ],
)
def test_the_newest_release_and_the_case_that_occurs_decide(
    store: Store, asked: dict[str, Any], verdicts: dict[int, Any]
) -> None:
    found = list_items(store, ItemFilter(repo="a/b", **asked))
    assert {row["number"]: (row["verdict"], row["release"]) for row in found} == verdicts


@pytest.mark.slow
def test_a_list_marks_verdicts_of_another_input_and_agrees_with_the_line_of_each_item(
    catalog_database: Path,
) -> None:
    store = Store(catalog_database)
    found = {row["number"]: row for row in list_items(store, ItemFilter(has_case=True))}
    told = entries(store)
    with store.read() as connection:
        query = "SELECT i.number, c.name, c.origin, i.relation FROM case_items i JOIN cases c USING (case_hash) WHERE c.current"
        linked = connection.execute(query).fetchall()
    for number, row in found.items():
        cases = [
            {"name": n, "origin": origin, "relation": relation} for i, n, origin, relation in linked if i == number
        ]
        own = [e for e in told if e.case in {case["name"] for case in cases} and e.build == row["release"]]
        decided = item_verdict(cases, own)
        assert (row["verdict"], row["verdict_speaks_of"], row["another_occurs"]) == (
            decided.entry.verdict,
            decided.speaks_of,
            decided.also_occurs,
        )
    assert show.item_verdict_text(found[973]) == "occurs 2.15.0 (another input)"
    assert show.item_verdict_text(found[84577]) == "occurs 2.15.0"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["pt1_other", "pt1_strides", "pt2_gone", "pt3_unseen"]),
        ({"name": "PT1"}, ["pt1_other", "pt1_strides"]),
        ({"classes": ("memory_type=non_contiguous",)}, ["pt1_strides"]),
        ({"requires": ("cuda",)}, ["pt2_gone"]),
        ({"occurs_on": OLD}, ["pt1_strides", "pt2_gone"]),
        ({"limit": 1}, ["pt1_other"]),
    ],
)
def test_filters_choose_cases(store: Store, asked: dict[str, Any], names: list[str]) -> None:
    assert [row["name"] for row in list_cases(store, CaseFilter(**asked))] == names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "--occurs-on", "2.10"), ("build", "2.10.0")),
        (("list", "--label", "module: mp"), ("module: mps",)),
        (("list", "--class", "consequence=crsh"), ("consequence=crash",)),
        (("list", "--class", "crsh"), ("crash",)),
        (("list", "--status", "closed"), ("closed_but_occurs",)),
        (("list", "--disposition", "fixd"), ("fixed",)),
        (("list", "--backend", "mpss"), ("mps",)),
        (("list", "--origin", "curate"), ("curated",)),
        (("list", "--state", "ajar"), ("open or closed",)),
        (("list", "--sort", "size"), ("reactions",)),
        (("cases", "--class", "non_contiguos"), ("non_contiguous",)),
        (("cases", "--requires", "gpu"), ("cpu",)),
        (("cases", "--occurs-on", "9"), (OLD,)),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(
    store: Store, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_clean_error(run_embers(*arguments, "--database", store.path), 3, *words)


def test_a_filter_on_what_is_not_there_says_so() -> None:
    with pytest.raises(InputError, match="none at all"):
        nearest("label", "x", [])


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("command", ["list --repo a/b", "cases", "status", "funnel"])
def test_tables_fit_narrow_terminals(store: Store, command: str, width: int) -> None:
    done = run_embers(*command.split(), "--database", store.path, COLUMNS=str(width))
    assert done.returncode == 0
    # the file's own line is not cut
    assert max(len(line) for line in done.stdout.splitlines() if str(store.path) not in line) <= width
    assert "\x1b" not in done.stdout


JSON_COMMANDS = {
    "embers matrix": "matrix",
    "embers show": "show 84577",
    "embers status": "status",
    "embers list": "list --repo a/b",
    "embers cases": "cases",
    "embers chain": "chain 172340",
    "embers funnel": "funnel",
}


@pytest.mark.slow
def test_search_prints_state_verdict_and_address(classified_template: Path) -> None:
    for words in (("search", "loss becomes NaN"), ("similar", "118115")):
        done = run_embers(*words, "-k", "2", "--json", "--database", classified_template)
        entries = json.loads(done.stdout)
        assert [set(entry) for entry in entries] == [documented("embers search")] * 2
        text = run_embers(*words, "-k", "2", "--database", classified_template, COLUMNS="80").stdout
        assert all(entry["address"] in text for entry in entries)


def explained() -> dict[str, set[str]]:
    """The keys that docs/json-keys.csv explains, by command; those of the objects below them are apart."""
    keys: dict[str, set[str]] = {}
    with JSON_KEYS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if not row["object"]:
                keys.setdefault(row["command"], set()).add(row["key"])
    return keys


def documented(command: str) -> set[str]:
    return explained()[command]


@pytest.mark.parametrize("heading", JSON_COMMANDS)
def test_the_documented_keys_are_printed(store: Store, heading: str) -> None:
    done = run_embers(*JSON_COMMANDS[heading].split(), "--json", "--database", store.path)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    entries = printed if isinstance(printed, list) else [printed]
    assert entries
    assert all(set(entry) == documented(heading) for entry in entries)


OTHER_JSON: dict[str, Callable[[], Any]] = {
    "embers run": lambda: Cell.row(MagicMock(**{"decided.return_value": Cell.decided(MagicMock())})),
    "embers run --oracle": lambda: Watched.row(MagicMock(findings=(), oracles=(), looked={})),
    "embers bisect": lambda: bisection_report.as_table(MagicMock(nightlies=None, commits=None)),
    "embers second-opinion": lambda: second_opinion_text.as_table(
        second_opinion.opinion_on(MagicMock(cases=(), links=(), verdicts=()))
    ),
    "embers recheck --release-candidate": lambda: release.as_table(release.Comparison(MagicMock(), MagicMock(), ())),
    "embers recheck": lambda: reports.as_table(MagicMock(counts={}, changes=())),
    "embers doctor": lambda: doctor.as_table(MagicMock(guarantees={})),
    "embers builds list": lambda: [field.name for field in fields(Build)],
    "embers fix-tests": lambda: [field.name for field in fields(Yield)],
    "embers study": lambda: study_command.as_table(study_command.Done()),
    "embers sanitize": lambda: Finding("layout", "op", "out", "wrong_value", "said").row(),
    "embers report": lambda: [field.name for field in fields(Reported)],
    "embers perf": lambda: Timed([], {}, [], 0.1).table(),
    "embers audit": lambda: audit_formats.rows(audit_command.audit([], "2.15.0")),
    "embers advisories": lambda: osv.document(advisories.executed()[0], advisories.load())["database_specific"],
    "embers hunt": lambda: Hunted("2.15.0", "op", "float32").row(),
}
"""What commands print that take a sandbox, builds or minutes."""


@pytest.mark.parametrize("heading", OTHER_JSON)
def test_the_documented_keys_are_those_of_commands_that_run_scripts(heading: str) -> None:
    assert set(OTHER_JSON[heading]()) == documented(heading)


def test_every_command_of_the_list_of_keys_is_checked() -> None:
    assert set(explained()) == {*JSON_COMMANDS, "embers search", *OTHER_JSON}


def test_json_is_ascii_and_escapes_what_could_steer_a_terminal(store: Store) -> None:
    done = run_embers("list", "--repo", "a/b", "--json", "--database", store.path)
    assert done.stdout.isascii()
    assert all(c == "\n" or c.isprintable() for c in done.stdout)
    assert json.loads(done.stdout)[3]["title"] == EVIL


@pytest.mark.slow
def test_verbose_logs_on_standard_error_and_nothing_is_logged_without(catalog_database: Path) -> None:
    assert run_embers("link", "--database", catalog_database).stderr == ""
    ended = subprocess.run(
        [sys.executable, "-m", "torch_embers", "--verbose", "link", "--database", catalog_database],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "torch_embers.link.stage: 0 changed texts to link" in ended.stderr


@pytest.mark.slow
def test_a_mine_names_the_next_command(database: Path) -> None:
    done = run_embers("mine", "--source", "catalog", "--database", database)
    assert done.stdout.splitlines()[-1].startswith("next: `embers classify`")
