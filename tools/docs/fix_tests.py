"""docs/fix-tests*.md: reasons, and what was measured, from bench/fix_tests*.json."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from torch_embers import resources
from torch_embers.repro.fix_tests import reviews
from torch_embers.run.fix_tests.alive import ShownIssue, alive, shows_bug

from .judged import share as share_of
from .markdown import cell, code, table
from .places import measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REPO = "https://github.com/pytorch/pytorch"
LATER, EARLIER, OLDEST = "fix_tests.json", "fix_tests_earlier.json", "fix_tests_oldest.json"
"""Facts of three parts of the history."""


def reasons() -> str:
    """Why a commit, a test or a run gives nothing."""
    found = resources.load_toml("fix_tests.toml")["reason"]
    return table(
        ("reason", "what it says", "why"), [(code(e["id"]), cell(e["text"]), cell(e["reason"])) for e in found]
    )


def _counted(facts: str, *columns: str) -> list[tuple[str, ...]]:
    counts = Counter[tuple[str, ...]]()
    for row in measured(facts)["yield"]:
        counts[tuple(str(row[column] or "") for column in columns)] += row["tests"]
    return [(*key, f"{count:,}") for key, count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))]


def by_class(facts: str = LATER) -> str:
    """Tests by class and reason."""
    return table(("class", "reason", "tests"), _counted(facts, "class", "reason"))


def by_year(facts: str = LATER) -> str:
    """Tests by year and class."""
    return _crossed(facts, "year")


def by_folder(facts: str = LATER) -> str:
    """Tests by folder and class; a commit without a test has no folder."""
    return _crossed(facts, "folder")


def _crossed(facts: str, column: str) -> str:
    """A row per value of a column and a column per class, both with their sums."""
    classes = ("validated", "doubtful", "never_seen", "fails_after", "unusable", "not_run", "no_script")
    counts = Counter[tuple[str, str]]()
    for row in measured(facts)["yield"]:
        for key in (str(row[column] or "-"), "all"):
            counts[key, row["class"]] += row["tests"]
    names = sorted({name for name, _ in counts} - {"all"})
    rows = [
        (name, *(f"{counts[name, kind]:,}" for kind in classes), f"{sum(counts[name, kind] for kind in classes):,}")
        for name in (*names, "all")
    ]
    return table((column, *(f"{kind}:" for kind in classes), "all:"), rows)


def merged(facts: str = LATER) -> str:
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
        for row in measured(facts)["merged"]
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


def share(name: str = LATER) -> str:
    """The share alive in one sentence, with its population."""
    facts = measured(name)
    head = (
        f"Population: {facts['commits']['commits']:,} commits of {facts['commits_from']} to {facts['commits_to']} "
        f"whose messages name {facts['issues']:,} issues as fixed. "
    )
    return f"{head}{_drawn(facts)} {facts['decided']} {facts['sentence']}"


def _drawn(facts: dict[str, Any]) -> str:
    """Which of the scripts ran."""
    if facts["ran"] >= facts["scripts"]:
        return f"All {facts['scripts']:,} scripts ran."
    text = f"{facts['ran']:,} of {facts['scripts']:,} scripts ran, drawn at random (seed {facts['seed']})"
    return f"{text}." if facts["ran"] == facts["sample"] else f"{text}; {facts['sample']:,} are drawn."


UNDOUBTED = "that fail before their fix without a doubt of the rules"
"""Those of class `validated`, and those that fail again on some release after their fix."""


def _undoubted(test: Mapping[str, Any]) -> bool:
    return bool(test["class"] in ("validated", "fails_after") and test["validated_before"] and not test["reason"])


UNSEEN, UNSEEN_FROM = "embers-reader-fix-tests-12", 450
"""Who read tests of the oldest part that no rule was made from: they stand behind the first ones of the draw."""


def unseen(facts: str = OLDEST) -> str:
    """What the rules say of tests that were read after version 7 of them had been fixed."""
    told = [review for review in reviews.load() if review.failure == "before" and review.annotator == UNSEEN]
    read = reviews.answers(told, "before")
    later = _drawn_order(facts)[UNSEEN_FROM:]
    kept = [test["name"] for test in later if test["name"] in read and _undoubted(test)]
    left = [test["name"] for test in later if test["name"] in read and not _undoubted(test)]
    said = [
        _verdicts(read, kept, f"tests {UNDOUBTED} show the bug of their issue"),
        _verdicts(read, left, "tests whose failure these rules doubt show it, and are lost"),
    ]
    return "\n".join(f"- {text}" for text in said if text) or "None was read yet."


def _drawn_order(facts: str) -> list[dict[str, Any]]:
    seed = measured(facts)["seed"]
    return sorted(measured(facts)["tests"], key=lambda test: blake2b(f"{seed}:{test['name']}".encode()).digest())


def together() -> str:
    """The share alive over all parts.

    An issue counts where it is the only one of its commit, or the name of the test names it. A test that fails after
    its fix counts as well where no rule doubts its failure before: else the share could not be but zero.
    """
    parts = [measured(name) for name in (LATER, EARLIER, OLDEST)]
    before, after = (reviews.answers(reviews.load(), failure) for failure in ("before", "after"))
    tests = [test for part in parts for test in part["tests"] if test["validated_before"]]
    shown = [
        ShownIssue(int(number), test["name"], test["failed"], test["passed"])
        for test in tests
        if shows_bug(test["class"], test["reason"], before.get(test["name"]))
        for number in test["issues"]
        if len(test["issues"]) == 1 or re.search(rf"_{number}\b", test["test"])
    ]
    newest = max((version for test in tests for version in (*test["failed"], *test["passed"])), key=Version)
    commits, ran = (sum(part["commits"][key] for part in parts) for key in ("commits", "ran"))
    first, last = min(part["commits_from"] for part in parts), max(part["commits_to"] for part in parts)
    return (
        f"{commits:,} commits of {first} to {last} name issues as fixed, and tests of {ran:,} of them ran here on "
        f"processors. {alive(shown, newest, before, after).sentence()} This says nothing of fixes without a test, of "
        "those for accelerators, or of those whose test fails on no release that installs here."
    )


def reviewed(facts: str = LATER) -> str:
    """What readers say of failures before the fix, by what the rules say of the test, and of failures after it."""
    read = reviews.load()
    before, after = (reviews.answers(read, failure) for failure in ("before", "after"))
    tests = measured(facts)["tests"]
    kinds = {test["name"]: test["class"] for test in tests}
    kept = [test["name"] for test in tests if _undoubted(test)]
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


def readings(facts: str = LATER) -> str:
    """Readings of failures after the fix, and of those before it that are not right."""
    rows = []
    for review in sorted(reviews.load(), key=lambda review: review.failure):
        for test in measured(facts)["tests"]:
            if test["name"] == review.case and (review.failure == "after" or review.verdict != "right"):
                place = (review.failure, test["class"], *_row(test)[1:4])
                rows.append((*place, review.verdict, cell(review.why), cell(review.annotator)))
    headings = ("failure", "class", "issues", "test", "commit", "answer", "why", "annotator")
    return table(headings, rows) if rows else "None yet."


def failing(facts: str = LATER) -> str:
    """Tests that fail after their fix, and those that fail wherever they say something."""
    rows = [
        (*_row(test), ", ".join(_change(*change) for change in test.get("changed_later") or ()))
        for test in _wrong(facts)
    ]
    return table(("class", "issues", "test", "commit", "fails on", "passes on", "later changed by"), rows)


def _change(sha: str, day: str, change: str) -> str:
    """A later commit that changed a test."""
    return f"[{sha[:10]}]({REPO}/commit/{sha[:10]}) ({day}{'' if change == 'changed' else f', {change}'})"


def validated(facts: str = LATER) -> str:
    """Validated tests."""
    headings = ("class", "issues", "test", "commit", "fails on", "passes on")
    return table(headings, [*map(_row, _of_class(facts, "validated"))])


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
            f"{thousand:.0f} minutes; the aim is 60. The command runs a test only where it can decide something."
        )
    return text


def _of_class(facts: str, kind: str) -> list[dict[str, Any]]:
    return [test for test in measured(facts)["tests"] if test["class"] == kind]


def _wrong(facts: str) -> list[dict[str, Any]]:
    tests: list[dict[str, Any]] = measured(facts)["tests"]
    return [t for t in tests if t["class"] == "fails_after" or t["reason"] == "fails_everywhere"]


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
