"""A release candidate against its predecessor: groups, page, exit code."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from helpers.verdicts import build_of, cell_of, decision_of
from support import assert_clean_error, assert_snapshot, case_of, fake_python, run_embers
from torch_embers.builds.registry import BuildError, Registry
from torch_embers.perf import measure as perf
from torch_embers.progress import Silent
from torch_embers.recheck import release
from torch_embers.recheck.release import ReleaseComparison, as_table, group_of, markdown, paired, predecessor_of
from torch_embers.store.store import Store
from torch_embers.verdicts.verdict import VERDICTS, Control

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.builds.registry import Build
    from torch_embers.verdicts.ledger import Cell
    from torch_embers.verdicts.verdict import Verdict

OLD, NEW = build_of("2.14.1"), build_of("2.15.0")


def cell(name: str, on: Build, verdict: Verdict) -> Cell:
    """A case whose name has ``bare`` has no control but an injected fault; one with ``long`` has much to say."""
    hits, runs = (3, 3) if verdict == "occurs" else (0, 4)
    control = Control("injected", None, 3, 3) if "bare" in name else Control("build", "2.0.1", 10, 10)
    case = case_of(f"print({name!r})", name)
    case = replace(case, summary="word " * 100) if "long" in name else case
    return cell_of(case, on, decision_of(verdict, control, hits, runs), fresh=False)


def compared(**verdicts: tuple[Verdict, Verdict]) -> ReleaseComparison:
    cells = [cell(name, on, v) for name, both in verdicts.items() for on, v in zip((OLD, NEW), both, strict=True)]
    return paired(cells, OLD, NEW)


@pytest.mark.parametrize(
    ("before", "after", "group"),
    [
        ("absent", "occurs", "broke"),
        ("occurs", "absent", "fixed"),
        ("occurs", "changed", "fails otherwise"),
        ("absent", "changed", "fails otherwise"),
        ("occurs", "untestable", "not testable any more"),
        ("not_seen", "occurs", "undecided"),
        ("occurs", "not_seen", "undecided"),
        ("untestable", "occurs", "undecided"),
        ("inconclusive", "occurs", "undecided"),
    ],
)
def test_only_controlled_changes_are_called_broken_or_fixed(before: str, after: str, group: str) -> None:
    assert group_of(before, after) == group
    for verdict in VERDICTS:
        assert group_of(verdict, verdict) == ("same" if verdict in ("occurs", "absent") else "undecided")


def test_the_page_names_regressions_first_and_hides_no_case() -> None:
    made = compared(
        pt1_long=("absent", "occurs"),
        pt2_gone=("occurs", "absent"),
        pt3_still=("occurs", "occurs"),
        pt4_otherwise=("absent", "changed"),
        pt5_bare=("not_seen", "not_seen"),
        pt6_bare=("not_seen", "not_seen"),
        pt7_rare=("not_seen", "not_seen"),
        pt8_dead=("untestable", "untestable"),
        pt9_dead=("untestable", "untestable"),
        pt10_open=("inconclusive", "inconclusive"),
    )
    assert_snapshot("release.txt", re.sub(r"(?m)^  - cpu, .*$", "  - this machine", markdown(made)))
    assert made.exit_code == 10
    table = as_table(made)
    assert table["counts"]["same"] == 1
    assert [one["group"] for one in table["cases"]][:3] == ["broke", "fails otherwise", "fixed"]
    assert compared(pt2_gone=("occurs", "absent")).exit_code == 0
    assert paired([cell("pt1_a", NEW, "occurs")], OLD, NEW).cases == (), "a case on one build alone is left out"


def test_the_predecessor_is_the_newest_older_release_and_no_nightly() -> None:
    builds = [build_of("2.13.0"), OLD, build_of("2.15.0.dev20260901", channel="nightly"), NEW, build_of("2.16.0")]
    assert predecessor_of(builds, NEW) is OLD
    with pytest.raises(BuildError, match=r"no release before 2\.13\.0"):
        predecessor_of(builds, builds[0])


@pytest.mark.parametrize(
    ("candidate", "predecessor"), [("2.6.0rc2", "2.5.1"), ("2.6.0", "2.5.1"), ("2.6.0+cpu", "2.5.1+cpu")]
)
def test_the_predecessor_is_a_final_release_of_the_same_variant(candidate: str, predecessor: str) -> None:
    installed = map(build_of, ("2.4.0+cpu", "2.5.1", "2.5.1+cpu", "2.5.1+cu121", "2.6.0rc1", "2.6.0rc2"))
    assert predecessor_of(installed, build_of(candidate)).version == predecessor


def timed(slow: float, names: tuple[str, ...]) -> perf.Timed:
    """Times on both builds: the first call takes ``slow`` times as long on the candidate, the second changes by chance."""
    times = {name: {OLD.name: [1.0] * 8, NEW.name: [by] * 8} for name, by in zip(names, (slow, 1.3, 0.5), strict=False)}
    return perf.Timed([OLD.name, NEW.name], times, [], 0.1)


def test_only_what_is_slower_in_two_measurements_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = iter([timed(1.5, ("add", "mm", "sort")), timed(1.4, ("add",))])
    asked: list[list[str]] = []

    def time_calls(builds: Any, calls: Any, *_: Any) -> perf.Timed:
        assert [one.name for one in builds] == [OLD.name, NEW.name]
        asked.append([call.name for call in calls])
        return next(measured)

    monkeypatch.setattr(perf, "time_calls", time_calls)
    made = release.compare_times(compared(pt1_a=("occurs", "occurs")), Silent())
    assert len(asked[0]) == len(perf.PerfRules.load().call)
    assert asked[1] == ["add", "mm", "sort"]
    text = markdown(made)
    assert "## Slower (1) and faster (0) calls" in text
    assert "- add: slower: ratio 1.400" in text
    assert "(2 differed the first time alone)" in text
    assert "`--times` does that" not in text
    assert made.exit_code == 10
    assert "`--times` does that" in markdown(compared(pt1_a=("occurs", "occurs")))


def test_a_wrong_candidate_is_one_clean_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Registry, "_current", lambda _: None)
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction():
        pass
    Registry(tmp_path / "r").register(fake_python(tmp_path / "p", "2.15.0"))
    for version, said in (("9.9.9", "no build '9.9.9'"), ("2.15.0", "no release before 2.15.0")):
        words = ("recheck", "--release-candidate", version, "--database", store.path)
        assert_clean_error(run_embers(*words, EMBERS_BUILDS_DIR=str(tmp_path / "r")), 3, said)
