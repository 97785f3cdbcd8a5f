"""`embers list`, `embers list --cases`, and JSON on standard output."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

from helpers.listing import (
    EVIL,
    NEW,
    OLD,
    documented,
    explained,
    store,  # noqa: F401 - fixtures
)
from support import assert_clean_error, assert_snapshot, run_embers
from torch_embers import console
from torch_embers.audit import advisories, audit_code, osv
from torch_embers.audit import formats as audit_formats
from torch_embers.bisect import bisection
from torch_embers.builds.registry import Build
from torch_embers.fixtests.fix_test_yield import Yield
from torch_embers.hunt.journal import Hunted
from torch_embers.judgements import Judgement
from torch_embers.oracles.finding import Finding
from torch_embers.perf.measure import Timed
from torch_embers.recheck import release, reports
from torch_embers.report.write_report import Reported
from torch_embers.research.silent_census import Counted
from torch_embers.research.skips import SkipEntry
from torch_embers.run.oracles import Watched
from torch_embers.sandbox import doctor
from torch_embers.store.listing import CaseFilter, list_cases
from torch_embers.study import parts
from torch_embers.verdicts.ledger import Cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_embers.store.store import Store


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
        (("list", "--as-reported-on", "2.9"), ("2.9.1",)),
        (("list", "--state", "ajar"), ("open or closed",)),
        (("list", "--sort", "size"), ("reactions",)),
        (("list", "--cases", "--class", "non_contiguos"), ("non_contiguous",)),
        (("list", "--cases", "--requires", "gpu"), ("cpu",)),
        (("list", "--cases", "--occurs-on", "9"), (OLD,)),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(
    store: Store, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_clean_error(run_embers(*arguments, "--database", store.path), 3, *words)


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        (
            "--flips",
            [
                "#2 max is wrong reported value -> expected value 2.15.0?",
                "#1 sum is wrong SIGSEGV -> ValueError 2.7.1",
                "? not seen again, in too few runs to say that it is gone",
            ],
        ),
        ("--as-reported-on 2.9.1", ["#2 max is wrong reported value -> expected value 2.15.0?"]),
        ("--as-reported-on 2.0.1 --state open", []),
        ("--crash-gone --state closed", ["#1 sum is wrong SIGSEGV -> ValueError 2.7.1"]),
    ],
)  # fmt: skip
def test_what_scripts_do_is_listed_in_a_line_each_that_fits_a_terminal(
    store: Store, asked: str, lines: list[str]
) -> None:
    done = run_embers("list", "--repo", "a/b", *asked.split(), "--database", store.path, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    assert max(map(len, printed)) <= 80
    assert [" ".join(line.split()) for line in printed if line.startswith(("#", "?"))][: len(lines)] == lines
    count = sum(line.startswith("#") for line in lines)
    assert printed[-1] == f"{count} item{'s' * (count != 1)}"


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ("--limit 2", ["#1 yes occurs 2.10.0* closed sum is wrong", "#2 unknown absent 2.10.0* open max is wrong"]),
        ("--closable yes --state closed", ["#1 yes occurs 2.10.0* closed sum is wrong"]),
        ("--closable no", []),
        ("--closable unknown --no-case", ["#5 unknown - nothing ran"]),
        ("--urls --limit 1", ["https://github.com/a/b/issues/1 yes sum is wrong"]),
    ],
)
def test_items_are_listed_in_a_line_each_with_their_answer(store: Store, asked: str, lines: list[str]) -> None:
    done = run_embers("list", "--repo", "a/b", *asked.split(), "--database", store.path, COLUMNS="80")
    _, *printed, last = (" ".join(line.split()) for line in done.stdout.splitlines())
    assert [line for line in printed if not line.startswith("*")] == lines
    assert last == f"{len(lines)} item{'s' * (len(lines) != 1)}"


def test_an_answer_that_there_is_not_is_refused(store: Store) -> None:
    done = run_embers("list", "--closable", "maybe", "--database", store.path)
    assert_clean_error(done, 3, "yes, no or unknown")


def test_a_wide_terminal_shows_addresses_last_and_only_addresses_on_github_become_links(store: Store) -> None:
    done = run_embers("list", "--repo", "a/b", "--limit", "1", "--database", store.path, COLUMNS="130")
    assert done.stdout.splitlines()[1].rstrip().endswith("https://github.com/a/b/issues/1")
    assert console.link("#1", "https://github.com/a/b/issues/1").style.link
    assert not console.link("#1", "https://github.com/a/b\x1b]8;;x/issues/1").style


@pytest.mark.parametrize(
    ("rest", "lines"),
    [
        ("title", ["n  title     why", "7  123 567…  一二", "8  中文文 …  abc"]),
        ("", ["n  title     why", "7  123 567   一二", "   890", "8  中文文字  abc", "   中文"]),
    ],
)
def test_a_table_fits_the_terminal_also_with_wide_characters(
    rest: str, lines: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "17")
    rows = [(7, "123\n\x1b567\t890", "一二"), (8, "中文文字中文", "abc")]
    console.print_table(["n", "title", "why"], rows, rest=rest)
    assert capsys.readouterr().out.splitlines() == lines


def test_only_a_terminal_gets_links_and_bold_headings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(console.link("#1", "https://github.com/a/b/issues/1"), 2000)]
    console.print_table(["item", "n"], rows)
    assert capsys.readouterr().out == "item      n\n#1    2,000\n"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    console.print_table(["item", "n"], rows)
    heading, row = capsys.readouterr().out.splitlines()
    assert heading == "\x1b[1mitem\x1b[0m      \x1b[1mn\x1b[0m"
    assert re.fullmatch(r"\x1b]8;id=\d+;https://github.com/a/b/issues/1\x1b\\#1\x1b]8;;\x1b\\    2,000", row)


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("command", ["list --repo a/b", "list --cases", "status", "data funnel"])
def test_tables_fit_narrow_terminals(store: Store, command: str, width: int) -> None:
    done = run_embers(*command.split(), "--database", store.path, COLUMNS=str(width))
    assert done.returncode == 0
    # the file's own line is not cut
    assert max(len(line) for line in done.stdout.splitlines() if str(store.path) not in line) <= width
    assert "\x1b" not in done.stdout


JSON_COMMANDS = {
    "embers list --matrix": "list --matrix",
    "embers show": "show 84577",
    "embers status": "status",
    "embers list": "list --repo a/b",
    "embers list --cases": "list --cases",
    "embers chain": "chain 172340",
    "embers data funnel": "data funnel",
}


@pytest.mark.parametrize("heading", JSON_COMMANDS)
def test_the_documented_keys_are_printed(store: Store, heading: str) -> None:
    done = run_embers(*JSON_COMMANDS[heading].split(), "--json", "--database", store.path)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    entries = printed if isinstance(printed, list) else [printed]
    assert entries
    assert all(set(entry) == documented(heading) for entry in entries)


def keys(value: Any, place: str = "") -> set[str]:
    """The ways to all values of a JSON document; those of a list's entries are one."""
    if isinstance(value, list):
        return set().union(*(keys(entry, f"{place}[]") for entry in value))
    if isinstance(value, dict):
        return set().union(*({f"{place}.{name}"} | keys(below, f"{place}.{name}") for name, below in value.items()))
    return set()


def test_all_keys_below_those_are_the_ones_that_programs_know(store: Store) -> None:
    commands = {**JSON_COMMANDS, "embers show, of an issue with a script": "show 1 --repo a/b"}
    found = []
    for heading, words in commands.items():
        printed = json.loads(run_embers(*words.split(), "--json", "--database", store.path).stdout)
        found += [heading, *(f"  {way}" for way in sorted(keys(printed)))]
    assert_snapshot("json_keys.txt", "\n".join(found) + "\n")


OTHER_JSON: dict[str, Callable[[], Any]] = {
    "embers run": lambda: Cell.row(MagicMock(**{"decided.return_value": Cell.decided(MagicMock())})),
    "embers run --oracle": lambda: Watched.row(MagicMock(findings=(), oracles=(), looked={})),
    "embers bisect": lambda: bisection.as_table(MagicMock(nightlies=None, commits=None)),
    "embers recheck --release-candidate": lambda: release.as_table(
        release.ReleaseComparison(MagicMock(), MagicMock(), ())
    ),
    "embers recheck": lambda: reports.as_table(MagicMock(counts={}, changes=())),
    "embers doctor": lambda: doctor.as_table(MagicMock(guarantees={})),
    "embers builds list": lambda: [field.name for field in fields(Build)],
    "embers research fix-tests": lambda: [field.name for field in fields(Yield)],
    "embers study": lambda: parts.as_table(parts.Done()),
    "embers sanitize": lambda: Finding("layout", "op", "out", "wrong_value", "said").row(),
    "embers report": lambda: [field.name for field in fields(Reported)],
    "embers research perf": lambda: Timed([], {}, [], 0.1).table(),
    "embers research silent": lambda: [field.name for field in fields(Counted)],
    "embers audit": lambda: audit_formats.rows(audit_code.audit([], "2.15.0")),
    "embers research advisories": lambda: osv.document(advisories.executed()[0], advisories.load())[
        "database_specific"
    ],
    "embers data judge": lambda: Judgement.model_fields,
    "embers research hunt": lambda: Hunted("2.15.0", "op", "float32").row(),
    "embers research skips": lambda: [field.name for field in fields(SkipEntry)],
}
"""What commands print that take a sandbox, builds or minutes."""


def test_the_documented_keys_are_those_of_commands_that_run_scripts() -> None:
    for heading, made in OTHER_JSON.items():
        assert set(made()) == documented(heading), heading
    assert set(explained()) == {*JSON_COMMANDS, "embers search", *OTHER_JSON}


def test_json_is_ascii_and_escapes_what_could_steer_a_terminal(store: Store) -> None:
    done = run_embers("list", "--repo", "a/b", "--json", "--database", store.path)
    assert done.stdout.isascii()
    assert all(c == "\n" or c.isprintable() for c in done.stdout)
    printed = json.loads(done.stdout)
    assert printed[3]["title"] == EVIL
    verdicts = {row["number"]: (row["verdict"], row["release"]) for row in printed}
    newest = {1: "occurs", 2: "absent", 3: "not_seen", 4: "occurs"}  # of two cases the one that occurs decides
    assert verdicts == {number: (verdict, NEW) for number, verdict in newest.items()} | {5: (None, None)}
