"""docs/fix-tests.md and docs/fix-tests-list.md: reasons, and what was measured, from the shipped facts."""

from __future__ import annotations

import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.repro import shipped_fix_tests
from torch_embers.repro.fix_tests import reviews
from torch_embers.run.fix_tests.alive import shows_bug
from torch_embers.run.fix_tests.report import RAN, Yield, yield_of
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store

from .judged import share as share_of
from .markdown import cell, code, table
from .places import measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REPO = "https://github.com/pytorch/pytorch"
_TESTS = """
SELECT t.name, t.issues, t.same, t.commit_sha, t.path, t.owner || '.' || t.test AS test, k.class, k.reason,
       k.failed, k.passed, k.validated_before, k.variants, k.variants_run
FROM fix_tests t JOIN fix_test_classes k USING (name) ORDER BY t.committed_at, t.path, test
"""


@cache
def _shipped() -> tuple[Yield, list[dict[str, Any]]]:
    """What a new database says of the shipped facts: the yield, and the tests that ran."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "facts.duckdb")
        with store.writer("docs", create=True) as writer, writer.transaction() as connection:
            shipped_fix_tests.load(connection)
        with store.read() as connection:
            result = connection.execute(_TESTS)
            names = [column[0] for column in result.description or ()]
            tests = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        return yield_of(store, DEFAULT_REPO), tests


def tests() -> list[dict[str, Any]]:
    """The tests that ran, in the order of their commits."""
    return _shipped()[1]


def reasons() -> str:
    """Why a commit, a test or a run gives nothing."""
    found = resources.load_toml("fix_tests.toml")["reason"]
    return table(
        ("reason", "what it says", "why"), [(code(e["id"]), cell(e["text"]), cell(e["reason"])) for e in found]
    )


def by_class() -> str:
    """Tests by class and reason."""
    rows = [
        (str(kind), str(reason or ""), f"{count:,}") for kind, reason, count in _shipped()[0].counted("class", "reason")
    ]
    return table(("class", "reason", "tests"), rows)


def by_year() -> str:
    """Tests by year and class."""
    return _crossed("year")


def by_folder() -> str:
    """Tests by folder and class; a commit without a test has no folder."""
    return _crossed("folder")


def pooled() -> str:
    """Tests by year, folder, class and reason, in one table."""
    found = _shipped()[0].rows
    columns = ("year", "folder", "class", "reason")
    rows = [
        (*(str(row[column] or "-") for column in columns), f"{row['tests']:,}", f"{row['commits']:,}") for row in found
    ]
    return table((*columns, "tests:", "commits:"), rows)


def _crossed(column: str) -> str:
    """A row per value of a column and a column per class, both with their sums."""
    classes = ("validated", "doubtful", "never_seen", "fails_after", "unusable", "not_run", "no_script")
    counts = Counter[tuple[str, str]]()
    for row in _shipped()[0].rows:
        for key in (str(row[column] or "-"), "all"):
            counts[key, row["class"]] += row["tests"]
    names = sorted({name for name, _ in counts} - {"all"})
    rows = [
        (name, *(f"{counts[name, kind]:,}" for kind in classes), f"{sum(counts[name, kind] for kind in classes):,}")
        for name in (*names, "all")
    ]
    return table((column, *(f"{kind}:" for kind in classes), "all:"), rows)


def merged() -> str:
    """All commits that fix issues by what their tests say, and the days to the first release with them."""
    rows = [
        (
            code(row["class"]) if row["class"] != "all" else "all",
            f"{row['commits']:,}",
            share_of(row["one_issue"], row["commits"]),
            f"{row['on_newest']:,}",
            share_of(row["holds"], row["on_newest"]) if row["on_newest"] else "",
            f"{row['released']:,}",
            *("" if row[key] is None else f"{row[key]:.0f}" for key in ("median_days", "lower_days", "upper_days")),
        )
        for row in _shipped()[0].merged
    ]
    newest = ("say something on the newest:", "hold there")
    headings = (
        "class",
        "commits:",
        "name one issue",
        *newest,
        "with a known release:",
        "median days:",
        "lower quartile:",
    )
    return table((*headings, "upper quartile:"), rows)


def share() -> str:
    """What ran where, how many are decided, and the share alive in one sentence, with its population."""
    found = _shipped()[0]
    return (
        f"{_where()}\n\n{found.decided()} {found.sentence()} This says nothing of fixes without a test, of those for "
        "accelerators, or of those whose test fails on no release that installs here."
    )


def _where() -> str:
    """Which tests ran, on which builds, by which rules."""
    facts, rest = measured("fix_tests.json"), measured("fix_tests_rest.json")
    builds = ", ".join(f"{build['version']} (Python {build['python'].rpartition('.')[0]})" for build in facts["builds"])
    runs = sum(build["runs"] for build in facts["builds"]) + sum(rest["runs"].values())
    drawn = f", {facts['sample']:,} of them drawn at random (seed {facts['seed']})" if facts["sample"] else ""
    rows = shipped_fix_tests.facts()
    missing = sum(r["status"] == "script" and not r["class"] and r["committed_at"] >= facts["ran_since"] for r in rows)
    text = (
        f"Commits of {facts['commits_from']} to {facts['commits_to']} were read. Tests of commits from "
        f"{facts['ran_since']} on were run{drawn}: {runs:,} runs of {facts['tests']:,} tests from "
        f"{facts['run_from']} to {rest['run_to']} on CPU builds on Linux, read by version {rest['rules']} of "
        f"the rules: {builds}."
    )
    if missing:
        text += f" {missing:,} scripts of these commits have not run."
    return f"{text}\n\n{_rest()}\n\n{_older()}\n\n{_many()}"


def _rest() -> str:
    """The runs that were made later, and how well they agree with those before."""
    rest = measured("fix_tests_rest.json")
    first, *_, last = rest["runs"]
    again, replaced = rest["again"], rest["replaced"]
    return (
        f"The last step was made apart ([runs](../bench/fix_tests_rest.json)): {sum(rest['runs'].values()):,} runs of "
        f"{rest['tests']:,} tests that fail on one release and pass on another, on {first} to {last}. By them "
        f"{len(rest['changed']):,} of these tests has another class, `fails_after`. Of {again['tests']:,} tests drawn "
        f"at random (seed {rest['seed']}) {again['runs']:,} outcomes that were known before were asked for again, "
        f"{again['releases']['2.2.2'] + again['releases']['2.15.0']:,} of them on 2.2.2 and 2.15.0, and "
        f"{again['alike']:,} are the same. Version {rest['rules']} of the rules knows one more "
        f"failure of the testing package, seen on 2.10.0 only; all {replaced['runs']:,} failures that were "
        f"known on that release were made anew, and {replaced['alike']:,} are failures by it, too."
    )


def _older() -> str:
    """What a sample of the tests of older commits says."""
    facts = measured("fix_tests_older.json")
    return (
        f"Of {facts['population']:,} scripts of commits before {facts['until']}, {facts['drawn']:,} drawn at random "
        f"(seed {facts['seed']}) were run on 1.4.0 and later ([outcomes](../bench/fix_tests_older.json)): "
        f"{_by_class(facts)}. "
        "Nobody read them, and no other count of this page has them."
    )


def _many() -> str:
    """What a sample of the tests says whose commits change too many."""
    facts = measured("fix_tests_many.json")
    return (
        f"The {facts['commits']:,} commits that change more tests than `limits.tests_of_a_commit` and at most "
        f"{facts['limit']:,} would give {facts['population']:,} scripts more. Of {facts['drawn']:,} of these drawn at "
        f"random (seed {facts['seed']}; [outcomes](../bench/fix_tests_many.json)) "
        f"{share_of(facts['classes'].get('validated', 0), facts['drawn'])} are validated: {_by_class(facts)}. "
        "The limit stays."
    )


def _by_class(sample: Mapping[str, Any]) -> str:
    return ", ".join(f"{sample['classes'].get(kind, 0):,} {kind}" for kind in RAN)


def decided() -> str:
    """How many tests are decided, by four measures, beside the aim."""
    kinds = Counter(test["class"] for test in tests() if test["reason"] not in NO_TEST_HERE)
    reasons_ = Counter(test["reason"] for test in tests() if test["class"] == "never_seen")
    ran, shown = kinds.total(), kinds["validated"]
    before = shown + kinds["doubtful"] + reasons_["passes_before"]
    changed = sum(row["tests"] for row in _shipped()[0].rows if row["reason"] not in NO_TEST_AT_ALL)
    told = shown + kinds["doubtful"] + kinds["never_seen"]
    rows = [
        ("validated, doubtful or never seen, of those that ran", share_of(told, ran)),
        ("validated or never seen, of those that ran (the aim: 60 %)", share_of(shown + kinds["never_seen"], ran)),
        ("says something on a release before the fix, too, of those that ran", share_of(before, ran)),
        ("validated, doubtful or never seen, of all changed tests that need no accelerator", share_of(told, changed)),
    ]
    return table(("measure", "tests"), rows)


def issues() -> str:
    """How many issues a test is validated for, beside the aim."""
    read = reviews.answers(reviews.load(), "before")
    seen = [test for test in tests() if test["validated_before"]]
    shown = [test for test in seen if shows_bug(test["class"], test["reason"], None)]
    single = {number for test in shown if len(test["issues"]) == 1 for number in test["same"]}
    right = {
        n for test in tests() if test["validated_before"] and read.get(test["name"]) == "right" for n in test["same"]
    }
    rows = [
        ("by the rules (the aim: 200)", f"{len({number for test in shown for number in test['same']}):,}"),
        ("of them from commits that name one issue", f"{len(single):,}"),
        ("with a test that every reader found right, whatever the rules say", f"{len(right):,}"),
    ]
    return table(("issues whose own bug a test shows: it fails before the fix and passes with it", "issues:"), rows)


def verdicts() -> str:
    """What verdicts with controls say of drawn validated tests."""
    facts = measured("fix_tests_verdicts.json")
    drawn, places = facts["tests"], facts["verdicts"]
    said = {
        place: ", ".join(f"{count} {code(name)}" for name, count in counts.items()) for place, counts in places.items()
    }
    read = reviews.answers(reviews.load(), "before")
    right = sum(read.get(test["name"]) == "right" for test in drawn)
    return (
        f"{len(drawn)} of the {facts['validated']} tests that were validated then, drawn at random (seed "
        f"{facts['seed']}), have verdicts as every case, each with its control "
        f"([verdicts](../bench/fix_tests_verdicts.json)): {share_of(facts['confirmed'], len(drawn))} are confirmed, "
        f"which means `occurs` on the last release before the fix and `absent` on the first one with it. There: "
        f"{said['before']}; with the fix: {said['after']}; on {facts['newest']}: {said['newest']}. Readers found "
        f"{right} of them right; a verdict says that the failure is stable, not what it shows."
    )


NO_TEST_HERE = ("needs_device", "not_run")
NO_TEST_AT_ALL = ("needs_device", "no_test_file", "no_test_changed", "reverted", "many_issues")
"""Rows that are no test, or one for an accelerator."""
UNDOUBTED = "that fail before their fix without a doubt of the rules"
"""Those of class `validated`, and those that fail again on some release after their fix."""


def _undoubted(test: Mapping[str, Any]) -> bool:
    return bool(test["class"] in ("validated", "fails_after") and test["validated_before"] and not test["reason"])


def reviewed() -> str:
    """What readers say of failures before the fix, by what the rules say of the test, and of failures after it."""
    read = reviews.load()
    before, after = (reviews.answers(read, failure) for failure in ("before", "after"))
    kinds = {test["name"]: test["class"] for test in tests()}
    kept = [test["name"] for test in tests() if _undoubted(test)]
    left = [name for name in before if name in kinds and name not in kept]
    again = [name for name, kind in kinds.items() if kind == "fails_after"]
    same, several = reviews.agreement([review for review in read if review.case in kinds], "before")
    said = [
        _verdicts(before, kept, f"tests {UNDOUBTED} show the bug of their issue"),
        _verdicts(before, left, "tests that the rules doubt (or whose failure counts no more) show it"),
        _verdicts(
            before,
            [n for n in (*kept, *left) if n in before],
            "of both together show it: the share without these rules",
        ),
    ]
    if several:
        said.append(
            f"Of {several} tests with two readers both answer alike on {same}; where they differ, it is unclear."
        )
    said.append(_verdicts(after, again, "tests that fail after their fix show the reported bug again"))
    return "\n".join(f"- {text}" for text in said if text)


def _verdicts(answers: Mapping[str, str], names: Sequence[str], what: str) -> str:
    verdicts = Counter(answers[name] for name in names if name in answers)
    if not (total := verdicts.total()):
        return f"Whether {len(names)} {what} is not known: none was read." if names else ""
    text = f"{share_of(verdicts['right'], total)} {what}; {verdicts['wrong']} do not, {verdicts['unclear']} are unclear"
    unread = len(names) - total
    return f"{text}; {unread} were not read." if unread else f"{text}."


def readings() -> str:
    """Readings of failures after the fix, and of those before it that are not right."""
    rows = []
    for review in sorted(reviews.load(), key=lambda review: review.failure):
        for test in tests():
            if test["name"] == review.case and (review.failure == "after" or review.verdict != "right"):
                place = (review.failure, test["class"], *_row(test)[1:4])
                rows.append((*place, review.verdict, cell(review.why), cell(review.annotator)))
    headings = ("failure", "class", "issues", "test", "commit", "answer", "why", "annotator")
    return table(headings, rows) if rows else "None yet."


def failing() -> str:
    """Tests that fail after their fix, and those that fail wherever they say something."""
    later = measured("fix_tests_later.json")
    rows = [
        (*_row(test), ", ".join(_change(*change) for change in later.get(test["name"], ())))
        for test in tests()
        if test["class"] == "fails_after" or test["reason"] == "fails_everywhere"
    ]
    return table(("class", "issues", "test", "commit", "fails on", "passes on", "later changed by"), rows)


def _change(sha: str, day: str, change: str) -> str:
    """A later commit that changed a test."""
    return f"[{sha[:10]}]({REPO}/commit/{sha[:10]}) ({day}{'' if change == 'changed' else f', {change}'})"


def validated() -> str:
    """Validated tests."""
    headings = ("class", "issues", "test", "commit", "fails on", "passes on")
    return table(headings, [_row(test) for test in tests() if test["class"] == "validated"])


RELEASES = 17
"""On which the aim for the time of a thousand tests is set."""


def speed() -> str:
    """Processor time of linking, from a sample of commits."""
    facts = measured("fix_tests_speed.json")
    listing = facts["seconds_listing"] + facts["seconds_listing_git"]
    reading = facts["seconds_reading"] + facts["seconds_reading_git"]
    every = round(facts["with_test_files"] / facts["sample"])
    sample = f"{facts['sample']} commits, {facts['files']} files, {facts['tests']} tests"
    whole, partly = facts["seconds_scripts_whole"], facts["seconds_scripts"]
    return (
        f"Of {facts['history']:,} commits {facts['commits']:,} name a fixed issue, and {facts['with_test_files']:,} "
        f"of those change test files. Finding them takes {listing:.0f} s of processor time. "
        f"Of every {every}th of them ({sample}, {facts['bytes'] / 1e6:.0f} MB with their parents) reading takes "
        f"{reading:.1f} s and making scripts {partly:.1f} s; with every file parsed whole the same scripts take "
        f"{whole:.1f} s. By that the whole history takes about {facts['all_seconds']:,} s of processor time before its "
        f"rows are written, and scripts are made in two processes. {_by_the_clock(facts)}"
    )


def _by_the_clock(facts: Mapping[str, Any]) -> str:
    """What the whole history and drawn trials took, where they were measured."""
    busy = f"(load {facts['load'][0]:.0f} on {facts['cores']} cores), which makes processor time longer, too."
    if "whole_seconds" not in facts:
        return f"It was not linked in one run: the machine was busy {busy}"
    text = (
        f"Linked in one run into a new database, by two processes on {facts['cores']} cores, it took "
        f"{facts['whole_seconds']:,} s by the clock and {facts['whole_seconds_processor']:,} s of processor time for "
        f"{facts['whole_scripts']:,} scripts (load {facts['whole_load'][0]:.0f})."
    )
    if "trial_runs" in facts:
        thousand = 1000 * RELEASES * facts["trial_seconds"] / facts["trial_runs"] / 60
        text += (
            f" {facts['trial_tests']:,} tests drawn at random, each on each of {facts['trial_builds']} builds, took "
            f"{facts['trial_runs']:,} runs in {facts['trial_seconds']:,} s, with the starts of all builds (load "
            f"{facts['trial_load'][0]:.0f}). At that rate a thousand tests on {RELEASES} releases take "
            f"{thousand:.0f} minutes; the aim is 60. The command runs a test only where it can decide something. "
            f"{_measurement()}"
        )
    return text


def _measurement() -> str:
    """What the runs that this page counts took."""
    facts, rest = measured("fix_tests.json"), measured("fix_tests_rest.json")
    runs, builds = sum(build["runs"] for build in facts["builds"]), len(facts["builds"])
    later = sum(rest["runs"].values())
    thousand = 1000 * (facts["minutes"] + rest["minutes"]) / facts["tests"]
    missing = sum(
        builds - len(" ".join((test["failed"], test["passed"], test["unusable"])).split())
        for test in shipped_fix_tests.facts()
        if test["class"] and test["failed"] and test["passed"]
    )
    text = (
        f"So the measurement above, {facts['tests']:,} tests over {builds} builds by {runs:,} and then {later:,} runs, "
        f"took {facts['minutes']:,} and {rest['minutes']:,} minutes in which a run ended (load {facts['load']:.0f} and "
        f"{rest['load']:.0f} on {facts['cores']} cores): {thousand:.0f} minutes for a thousand tests"
    )
    if missing:
        text += f". Of tests that fail on one build and pass on another {missing:,} runs were not made"
    return f"{text}."


def _row(test: dict[str, Any]) -> tuple[str, ...]:
    issues = ", ".join(f"[#{number}]({REPO}/issues/{number})" for number in test["issues"])
    commit = test["commit_sha"][:10]
    return (
        test["reason"] or test["class"],
        issues,
        cell(f"{test['path']} {test['test']}"),
        f"[{commit}]({REPO}/commit/{commit})",
        ", ".join(test["failed"]),
        ", ".join(test["passed"]),
    )
