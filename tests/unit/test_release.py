"""A release candidate against its predecessor: groups, page, exit code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support import case_of
from torch_embers.builds.registry import Build, BuildError
from torch_embers.progress import Silent
from torch_embers.run import perf, release
from torch_embers.run.ledger import Cell
from torch_embers.run.release import Comparison, as_table, group_of, markdown, paired, predecessor_of
from torch_embers.run.verdict import VERDICTS, Control, Decision

if TYPE_CHECKING:
    from torch_embers.run.verdict import Verdict


def build(version: str, **more: Any) -> Build:
    return Build(
        more.pop("name", version), version, "c" * 40, more.pop("channel", "release"), "linux", Path("p"), "3.11"
    )


OLD, NEW = build("2.14.1"), build("2.15.0")


def cell(name: str, on: Build, verdict: Verdict) -> Cell:
    hits, runs = (3, 3) if verdict == "occurs" else (0, 4)
    decision = Decision(
        verdict, hits not in (0, runs), hits, runs, None, Control("build", "2.0.1", 10, 10), "seen", None
    )
    return Cell(case_of(f"print({name!r})", name), on, "e", "reviewed", 0, decision, fresh=hits > 5)


def compared(**verdicts: tuple[Verdict, Verdict]) -> Comparison:
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


@pytest.mark.parametrize("verdict", VERDICTS)
def test_only_a_verdict_on_the_bug_itself_is_the_same_on_both_builds(verdict: str) -> None:
    assert group_of(verdict, verdict) == ("same" if verdict in ("occurs", "absent") else "undecided")


def test_the_headline_counts_regressions_among_the_bugs_that_were_absent_and_says_what_became_of_the_others() -> None:
    made = compared(
        pt1_a=("occurs", "occurs"),
        pt2_b=("inconclusive", "inconclusive"),
        pt3_c=("absent", "changed"),
        pt4_d=("occurs", "absent"),
        pt5_e=("absent", "absent"),
        pt6_f=("occurs", "occurs"),
    )
    assert (
        "**0 regressions against 2.14.1**, of 1 case absent there and decided in the candidate "
        "(on cpu). Of 3 that occur on 2.14.1, 2 still occur and 1 are not seen any more. Not decided on both builds: 2."
        in markdown(made)
    )


def test_the_page_names_regressions_first_with_both_verdicts_and_the_script() -> None:
    made = compared(pt1_a=("absent", "occurs"), pt2_b=("occurs", "absent"), pt3_c=("occurs", "occurs"))
    text = markdown(made)
    assert "**1 regression against 2.14.1**, of 1 case absent there" in text
    assert text.index("Broke") < text.index("Not seen any more")
    assert "absent 0/4" in text
    assert "occurs 3/3" in text
    assert "SHA-256" in text
    assert made.exit_code == 10
    table = as_table(made)
    assert (table["counts"]["same"], [one["group"] for one in table["cases"]]) == (1, ["broke", "fixed"])


def test_what_a_case_is_about_ends_with_a_word_and_dots() -> None:
    [one] = compared(pt1_a=("occurs", "absent")).cases
    cells = [replace(cell, case=replace(cell.case, summary="word " * 100)) for cell in (one.before, one.after)]
    [line] = [line for line in markdown(paired(cells, OLD, NEW)).splitlines() if line.startswith("- pt1")]
    assert line.endswith("word ...")
    assert len(line) < 320


def test_cases_without_a_control_on_both_builds_are_named_in_one_line() -> None:
    bare = Control("planted", None, 3, 3)
    made = compared(pt1_a=("not_seen", "not_seen"), pt2_b=("not_seen", "not_seen"), pt3_c=("not_seen", "not_seen"))
    cases = [
        replace(
            one,
            before=replace(one.before, decision=replace(one.before.decision, control=bare)),
            after=replace(one.after, decision=replace(one.after.decision, control=bare)),
        )
        for one in made.cases[:2]
    ]
    text = markdown(replace(made, cases=(*cases, made.cases[2])))
    assert "## Undecided (3)" in text
    assert (
        "- 2 not seen on either build, and no build here shows the bug, so it may be there: pt1\\_a, pt2\\_b\n" in text
    )
    assert "the control hits too rarely" in text
    assert text.count("pt3\\_c") == 3


def test_nothing_broken_ends_well_and_a_case_on_one_build_alone_is_left_out() -> None:
    assert compared(pt2_b=("occurs", "absent")).exit_code == 0
    assert paired([cell("pt1_a", NEW, "occurs")], OLD, NEW).cases == ()


def test_the_predecessor_is_the_newest_older_release_and_no_nightly() -> None:
    builds = [build("2.13.0"), OLD, build("2.15.0.dev20260901", channel="nightly"), NEW, build("2.16.0")]
    assert predecessor_of(builds, NEW) is OLD
    with pytest.raises(BuildError, match=r"no release before 2\.13\.0"):
        predecessor_of(builds, builds[0])


@pytest.mark.parametrize(
    ("candidate", "predecessor"), [("2.6.0rc2", "2.5.1"), ("2.6.0", "2.5.1"), ("2.6.0+cpu", "2.5.1+cpu")]
)
def test_the_predecessor_is_a_final_release_of_the_same_variant(candidate: str, predecessor: str) -> None:
    installed = map(build, ("2.4.0+cpu", "2.5.1", "2.5.1+cpu", "2.5.1+cu121", "2.6.0rc1", "2.6.0rc2"))
    assert predecessor_of(installed, build(candidate)).version == predecessor


def test_cases_that_no_build_can_test_are_counted_by_reason_and_hide_nothing() -> None:
    made = compared(
        pt1_a=("untestable", "untestable"), pt2_b=("untestable", "untestable"), pt3_c=("inconclusive", "inconclusive")
    )
    text = markdown(made)
    assert "## Undecided (3)" in text
    assert "- 2 not testable on either build: seen" in text
    assert "pt3\\_c" in text
    assert "pt1\\_a" not in text


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
    assert len(asked[0]) == len(perf.Rules.load().call)
    assert asked[1] == ["add", "mm", "sort"]
    text = markdown(made)
    assert "## Slower (1) and faster (0) calls" in text
    assert "- add: slower: ratio 1.400" in text
    assert "(2 differed the first time alone)" in text
    assert "`--times` does that" not in text
    assert made.exit_code == 10
    assert "`--times` does that" in markdown(compared(pt1_a=("occurs", "occurs")))
