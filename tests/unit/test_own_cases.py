"""Cases of a user's folder, the verdict that `show` opens with, and what `doctor` prints of missing guarantees."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from helpers.verdicts import build_of, cell_of, decision_of
from support import Recorded, case_of, case_text
from torch_embers.builds import work
from torch_embers.builds.registry import Registry
from torch_embers.cases import bank
from torch_embers.cases.case import shipped
from torch_embers.cli.runs import run
from torch_embers.errors import InputError, StoreMissingError
from torch_embers.progress_bar import ProgressBar
from torch_embers.recheck import reports
from torch_embers.recheck.recheck import Recheck
from torch_embers.run import cases as command
from torch_embers.sandbox import doctor
from torch_embers.sandbox.policy import HOSTILE, REVIEWED
from torch_embers.sandbox.proof import GUARANTEES, Proof
from torch_embers.verdicts.matrix import MatrixEntry, as_junit, changes, preferred
from torch_embers.views.item_report import ItemReport, headline

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def test_files_that_are_no_cases_are_named_with_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(case_text(issues=[]), encoding="utf-8")
    (tmp_path / "bare.py").write_text("print(1)", encoding="utf-8")
    (tmp_path / "broken.py").write_text(case_text("def"), encoding="utf-8")
    cases, refused = bank.read_folder(tmp_path)
    assert [(case.name, case.origin, case.issues) for case in cases] == [("good", "own", ())]
    assert [line.partition(": ")[0] for line in refused] == [str(tmp_path / "bare.py"), str(tmp_path / "broken.py")]
    assert "no metadata block" in refused[0]
    os.mkfifo(tmp_path / "pipe.py")
    assert "pipe.py: no regular file" in bank.read_folder(tmp_path)[1][-1]
    assert [case.name for case in bank.read_folder(tmp_path / "good.py")[0]] == ["good"]
    with pytest.raises(InputError, match="is not there: name a case file or a folder"):
        bank.read_folder(tmp_path / "none")


def test_own_cases_take_no_mistyped_database_and_no_name_of_embers(tmp_path: Path) -> None:
    with pytest.raises(StoreMissingError), command.database_for(tmp_path / "typo.duckdb"):
        pass
    assert not list(tmp_path.iterdir())
    with command.database_for(None) as store:
        with store.writer("test") as writer:
            bank.add_own(writer, [case_of(issues=[])])
        assert [case.issues for case in bank.load(store)] == [()]
        place = store.path
    assert not place.exists()
    with command.database_for(None) as store, store.writer("test") as writer:
        with writer.transaction() as connection:
            bank.save(connection, [case_of()])
        with pytest.raises(InputError, match="rename the file"):
            bank.add_own(writer, [case_of(issues=[])])


def test_a_run_of_own_cases_without_a_database_says_that_nothing_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = cell_of(case_of(issues=[]), build_of("2.15.0"), decision_of("absent"))
    monkeypatch.setattr(command, "run_cases", lambda *_: [command.Reached(cell, 1, 1)])
    run(folder=tmp_path)
    assert "\nnothing was kept: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        (None, "cve_2025_3000_jit_bare_list", "did you mean `embers run --kind advisory cve_2025_3000_jit_bare_list`?"),
        ("advisory", "CVE-2025-55554", "did you mean cve_2025_55554_nan_to_num_long?"),
        ("advisory", "pt83149", "did you mean `embers run pt83149_bfloat16_sum_transposed`?"),
        (None, "pt83149_bfloat_sum_transposed.py", "did you mean pt83149_bfloat16_sum_transposed?"),
        (
            None,
            "4611686018427387904",
            "`embers list --matrix` lists the cases, `embers run NUMBER` runs the script of a report",
        ),
    ],
)
def test_a_name_that_means_no_case_is_answered_with_what_to_call_instead(kind: Any, name: str, said: str) -> None:
    with pytest.raises(InputError) as failed:
        bank.chosen(shipped(kind) if kind else [], [name], "o/r")
    assert str(failed.value) == f"no case {name!r}: {said}"


@pytest.mark.parametrize(
    ("missing", "unsandboxed", "said"),
    [
        (GUARANTEES, True, "without a sandbox, with all your rights (no bubblewrap)"),
        (GUARANTEES, False, ""),  # nothing is run
        (["time_cap"], False, "without time_cap (no bubblewrap)"),
        ([], True, ""),
    ],
)
def test_one_line_warns_of_cases_that_run_without_the_sandbox(
    missing: Sequence[str], unsandboxed: bool, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outcome = {name: "no bubblewrap" if name in missing else "" for name in GUARANTEES}
    monkeypatch.setattr(doctor, "prove", lambda: Proof(outcome, "Linux"))
    progress = Recorded()
    monkeypatch.setattr(work, "Runner", lambda *_, **__: None)
    here = work.Machine(Registry(tmp_path), unsandboxed, progress)
    build: Any = SimpleNamespace(python=tmp_path)
    for profile in (HOSTILE, REVIEWED, REVIEWED):
        here.runner(build, profile)
    assert progress.lines == [f"WARNING: reviewed cases run {said}; see `embers doctor`"] * bool(said)


def test_a_message_stays_one_line_however_narrow_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressBar("x").said("word " * 60)
    assert capsys.readouterr().err.count("\n") == 1


def test_guarantees_that_lack_the_same_thing_share_a_line() -> None:
    def missing(proof: Proof) -> list[str]:
        return [line for line in doctor.report(proof) if "MISSING" in line]

    nothing = Proof(dict.fromkeys(GUARANTEES, "bubblewrap is not installed"), "Linux")
    two = Proof({**dict.fromkeys(GUARANTEES, "it broke"), "time_cap": "stay: it went on"}, "Linux")
    some = Proof({**dict.fromkeys(GUARANTEES, ""), "time_cap": "it went on"}, "Linux")
    assert missing(nothing) == ["MISSING all 15 guarantees: bubblewrap is not installed"]
    assert [line.partition(":")[0].count(",") for line in missing(two)] == [13, 0]
    assert missing(some) == ["MISSING time_cap: it went on"]
    table = doctor.as_table(some)
    assert table["complete"] is False
    assert {"name": "time_cap", "held": False, "estimated": False, "reason": "it went on"} in table["guarantees"]


def entry(build: str, verdict: str) -> MatrixEntry:
    hits = 3 if verdict == "occurs" else 0
    flaky, place, moment = False, "cpu, AMD EPYC, AVX2, Linux 6", datetime.fromisoformat("2026-01-01")
    return MatrixEntry("pt1", "", build, place, verdict, flaky, hits, 4, None, "build", "2.0.1", 3, 3, "", moment)


def test_a_noticed_injected_fault_is_printed_with_what_it_is_worth() -> None:
    told = "injected fault noticed 3/3, which shows only that the check can fail"
    injected = replace(entry("2.0.1", "occurs"), control="injected", control_build=None)
    assert injected.shown_control == told
    assert f"occurs 3/4, control {told}" in as_junit([injected]).decode()
    unnoticed = replace(injected, control_k=0)
    assert unnoticed.shown_control == "injected fault not noticed (0/3): mend the case"
    assert replace(unnoticed, verdict="untestable").shown_control == "injected fault not noticed (0/3)"


def test_only_an_absence_passes_in_junit_and_is_the_other_side_of_a_change() -> None:
    unseen = [entry("2.0.1", "occurs"), entry("2.1.2", "not_seen"), entry("2.2.2", "untestable")]
    assert as_junit(unseen).count(b"<skipped") == 2
    assert changes(unseen) == {}
    found = [*unseen, entry("2.3.1", "absent")]
    assert as_junit(found).count(b"<skipped") == 2
    assert changes(found) == {"pt1": [("2.0.1", "occurs"), ("2.3.1", "absent")]}


@pytest.mark.parametrize(
    ("verdicts", "line"),
    [
        (["occurs", "absent", "absent"], "The bug is gone on torch 2.2.2 (0/4 runs of pt1 on cpu, AMD EPYC, AVX2), last seen on 2.0.1, gone since 2.1.2"),
        (["absent", "occurs", "occurs"], "The bug occurs on torch 2.2.2 (3/4 runs of pt1 on cpu, AMD EPYC, AVX2), since 2.1.2"),
        (["occurs", "occurs", "occurs"], "The bug occurs on torch 2.2.2 (3/4 runs of pt1 on cpu, AMD EPYC, AVX2), on every tested build from 2.0.1"),
        (["not_seen"] * 3, "The bug was not seen on torch 2.2.2 (0/4 runs of pt1 on cpu, AMD EPYC, AVX2), as on every tested build: nothing here shows that it ever occurred"),
        (["occurs", "not_seen", "not_seen"], "The bug was not seen on torch 2.2.2 (0/4 runs of pt1 on cpu, AMD EPYC, AVX2), last seen on 2.0.1: nothing shows that it is gone"),
        (["occurs", "not_seen", "absent"], "The bug is gone on torch 2.2.2 (0/4 runs of pt1 on cpu, AMD EPYC, AVX2), last seen on 2.0.1, gone since 2.2.2"),
        (["occurs", "changed", "occurs"], "The bug occurs on torch 2.2.2 (3/4 runs of pt1 on cpu, AMD EPYC, AVX2), first seen on 2.0.1"),
        (["absent", "not_seen", "occurs"], "The bug occurs on torch 2.2.2 (3/4 runs of pt1 on cpu, AMD EPYC, AVX2), first seen on 2.2.2"),
        (["changed", "changed", "not_seen"], "The bug was not seen on torch 2.2.2 (0/4 runs of pt1 on cpu, AMD EPYC, AVX2)"),
        (["occurs", "absent", "untestable"], "Cannot be tested on torch 2.2.2 (0/4 runs of pt1 on cpu, AMD EPYC, AVX2)"),
        (["occurs"], "The bug occurs on torch 2.0.1 (3/4 runs of pt1 on cpu, AMD EPYC, AVX2), the only build tested there"),
        (["not_seen"], "The bug was not seen on torch 2.0.1 (0/4 runs of pt1 on cpu, AMD EPYC, AVX2), the only build tested there: nothing here shows that it ever occurred"),
        ([], "Not run yet: `embers run 1`"),
    ],
)  # fmt: skip
def test_the_verdict_is_one_line(verdicts: list[str], line: str) -> None:
    entries = [entry(build, verdict) for build, verdict in zip(("2.0.1", "2.1.2", "2.2.2"), verdicts, strict=False)]
    assert headline(item_report(entries, pt1="same")) == line


def test_only_an_absence_changes_a_case_and_passes_in_junit() -> None:
    unseen = [entry("2.0.1", "occurs"), entry("2.1.2", "not_seen")]
    assert changes(unseen) == {}
    assert changes([*unseen, entry("2.2.2", "absent")]) == {"pt1": [("2.0.1", "occurs"), ("2.2.2", "absent")]}
    xml = as_junit([*unseen, entry("2.2.2", "absent")]).decode()
    assert [(xml.count(f'failures="{n}"'), xml.count(f'skipped="{n}"')) for n in (0, 1)] == [(2, 2), (1, 1)]
    assert '<skipped message="not_seen 0/4, control 3/3 on 2.0.1' in xml
    assert "Linux 6: the control shows the bug too rarely" in xml


def test_two_builds_of_a_release_are_two_suites_and_one_answer() -> None:
    bad, good = (replace(entry("2.0.1", v), identity=f"2.0.1+{v}@c") for v in ("occurs", "absent"))
    assert changes([bad, good]) == changes([good, bad]) == {}
    assert changes([bad, good, entry("2.1.2", "absent")]) == {"pt1": [("2.0.1", "occurs"), ("2.1.2", "absent")]}
    before = entry("1.13.1", "occurs")
    for both in ([bad, good], [good, bad]):
        line = headline(item_report([before, *both], pt1="same"))
        assert line.endswith(", on every tested build from 1.13.1")
    later = headline(item_report([before, bad, good, entry("2.1.2", "absent")], pt1="same"))
    assert later.endswith(", last seen on 2.0.1, gone since 2.1.2")
    suites = [suite.attrib for suite in ET.fromstring(as_junit([good, bad]))]
    assert [(suite["name"].split()[1], suite["failures"]) for suite in suites] == [
        ("2.0.1+absent", "0"),
        ("2.0.1+occurs", "1"),
    ]


def test_only_an_own_verdict_that_decides_hides_the_shipped_one() -> None:
    before, now, gone = (
        replace(entry(*of), provenance="shipped")
        for of in (("2.0.1", "occurs"), ("2.1.2", "occurs"), ("2.1.2", "absent"))
    )
    own = replace(entry("2.1.2", "not_seen"), environment="cpu, Intel, AVX2, Linux 6")
    line = headline(item_report([before, own, now], pt1="same"))
    assert line.endswith(" on cpu, AMD EPYC, AVX2), on every tested build from 2.0.1; shipped verdict")
    assert headline(item_report([before, own, gone], pt1="same")).endswith(" on cpu, Intel, AVX2)")
    assert preferred([replace(own, verdict="absent"), now]) == [replace(own, verdict="absent")]
    elsewhere = replace(now, environment=own.environment)
    line = headline(item_report([before, elsewhere, gone], pt1="same"))
    assert line.endswith(" on cpu, Intel, AVX2), the only build tested there; shipped verdict")


def test_the_junit_of_a_re_check_is_of_its_build_and_machine_alone(tmp_path: Path) -> None:
    build = build_of("2.6.0+cu124")
    cell = cell_of(case_of(), build, decision_of("absent"))
    own = replace(entry("2.6.0", "absent"), identity=build.identity, environment=cell.place)
    others = (replace(own, identity="2.6.0+cpu@c"), replace(own, environment="cpu, Other, AVX2, Linux"))
    bad = [replace(other, case=f"pt{place}", verdict="occurs") for place, other in enumerate(others, 2)]
    reports.save(tmp_path, Recheck(build, "now", (cell,), (), {}, 1, 0.0), [own, *bad])
    names = [case.get("name") for case in ET.parse(tmp_path / "recheck.xml").iter("testcase")]
    assert names == ["pt1"]


def item_report(entries: list[MatrixEntry], number: int = 1, **relations: str | None) -> ItemReport:
    cases = [{"name": name, "origin": "curated", "relation": relation} for name, relation in relations.items()]
    return ItemReport("pytorch/pytorch", number, {}, [], [], [], cases, None, None, [], entries)


def test_every_junit_suite_says_when_and_where() -> None:
    later = replace(entry("2.0.1", "occurs"), case="pt2", decided_at=datetime.fromisoformat("2026-02-03 04:05:06.7"))
    flips = [("pytorch/pytorch#1", "title", "said")]
    suites = list(ET.fromstring(as_junit([entry("2.0.1", "absent"), later], "x", flips, "2026-03-04T05:06:07.8Z")))
    assert [suite.get("timestamp") for suite in suites] == ["2026-02-03T04:05:06", "2026-03-04T05:06:07"]
    assert {suite.get("hostname") for suite in suites} == {"localhost"}


@pytest.mark.parametrize(
    ("relations", "verdicts", "line"),
    [
        ({"a": "sibling"}, {"a": "absent"}, "Another input than the report's: the failure is gone on torch 2.2.2"),
        ({"a": "sibling"}, {"a": "occurs"}, "Another input than the report's: the failure occurs on torch 2.2.2"),
        ({"a": "sibling"}, {"a": "untestable"}, "Another input than the report's: cannot be tested on torch 2.2.2"),
        ({"a": None}, {"a": "occurs"}, "A script that nobody compared with the report: the failure occurs on torch 2.2.2"),
        ({"a": "sibling", "b": "same"}, {"a": "occurs", "b": "occurs"}, "The bug occurs on torch 2.2.2 (3/4 runs of b "),
        ({"a": "sibling", "b": "same"}, {"a": "absent", "b": "occurs"}, "The bug occurs on torch 2.2.2 (3/4 runs of b "),
        ({"a": "sibling", "b": "same"}, {"a": "occurs", "b": "absent"}, "The bug is gone on torch 2.2.2 (0/4 runs of b "),
        ({"a": "same", "b": "same"}, {"a": "absent", "b": "not_seen"}, "The bug was not seen on torch 2.2.2 (0/4 runs of b "),
        ({"a": "sibling", "b": "same"}, {"a": "occurs", "b": "untestable"}, "Another input than the report's: the failure occurs"),
    ],
)  # fmt: skip
def test_the_line_speaks_of_the_report_only_by_its_own_input(
    relations: dict[str, Any], verdicts: dict[str, str], line: str
) -> None:
    entries = [replace(entry("2.2.2", verdict), case=case) for case, verdict in verdicts.items()]
    made = headline(item_report(entries, **relations))
    assert made.startswith(line)
    own_is_clean = verdicts.get("b") == "absent" and verdicts["a"] == "occurs"
    assert made.endswith("; another input of the same kind occurs there") == own_is_clean


def test_a_case_that_shows_half_of_a_report_is_said_to_beside_its_verdict() -> None:
    case = "pt92260_beta_log_prob_edge"
    gone = [replace(entry("2.0.1", "occurs"), case=case), replace(entry("2.15.0", "absent"), case=case)]
    line = headline(item_report(gone, 65811, **{case: "same"}))
    assert line.startswith("What the case shows of the report is gone on torch 2.15.0 (")
    assert ", gone since 2.15.0. A reader doubts a part of it: " in line
    assert headline(item_report(gone, 1, **{case: "same"})).startswith("The bug is gone on torch 2.15.0 (")
