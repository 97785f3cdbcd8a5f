"""Make the trial runs that the shipped facts lack: `python bench/fix_tests_rest.py --database FILE --load 3`.

Tests of data/fix_test_facts.csv that fail on one release and pass on another are run on every installed build of which the facts say
nothing, in a database that `embers link-repros --fix-tests` filled; a second call makes the missing runs only. Then the outcomes are added
to the facts, and the classes follow from all outcomes as ever; what rules said of the failure before the fix stays, since no run is added
there. With `--again` so many of these tests, drawn at random, are also run where the facts do say something: how often the outcome is
the same is in bench/fix_tests_rest.json, beside what was run, when, and which classes changed. `--replace 2.10.0`: failures of that release
in the facts are made anew and replaced; for a new rule that concerns failures of one release only, the classes of all tests are then
those of today's version of the rules.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from packaging.version import Version

from fix_tests_drawn import order
from torch_embers import settings
from torch_embers.builds.registry import Registry, placed_here
from torch_embers.progress_bar import ProgressBar
from torch_embers.repro import shipped_fix_tests
from torch_embers.repro.fix_tests import rules as fix_test_rules
from torch_embers.run.fix_tests import trial
from torch_embers.run.fix_tests.classes import MENDED_BEFORE, Trial, classify
from torch_embers.run.ledger import Ledger
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.mine.git.first_release import Evidence
    from torch_embers.run.fix_tests.trial import TrialTest

ROOT = Path(__file__).resolve().parent.parent
FACTS = ROOT / "data" / shipped_fix_tests.FILE
OUT = Path(__file__).parent / "fix_tests_rest.json"
LISTS = {"failed": "reproduced", "passed": "not_reproduced", "unusable": "invalid"}
"""The lists of the facts, and the outcome of a run that each holds."""
_SPAN = """
SELECT strftime(min(ran_at), '%Y-%m-%d') AS run_from, strftime(max(ran_at), '%Y-%m-%d') AS run_to,
       count(DISTINCT date_trunc('minute', ran_at)) AS minutes
FROM runs WHERE batch = 0 AND NOT planted
"""


def decisive(rows: Sequence[Mapping[str, str]]) -> set[str]:
    """Tests that fail on one release and pass on another."""
    return {row["name"] for row in rows if row["class"] and row["failed"] and row["passed"]}


def outcomes_of(row: Mapping[str, str]) -> dict[str, str]:
    """The outcomes of a row of the facts by release."""
    return {version: said for said in LISTS for version in row[said].split()}


def without_failures(row: Mapping[str, str], release: str | None) -> dict[str, str]:
    """A row of the facts without its failure on a release."""
    return {**row, "failed": " ".join(version for version in row["failed"].split() if version != release)}


def run(store: Store, builds: Sequence[Build], known: Mapping[str, Mapping[str, str]], again: set[str]) -> None:
    """Make the missing runs, and those of the tests that run again."""
    registry = Registry(settings.load().builds_dir)
    tests = {test.case.name: test for test in trial._tests(store, DEFAULT_REPO, trial.Draw())}  # noqa: SLF001 - as embers does it
    chosen = [tests[name] for name in known if name in tests]
    with store.writer("bench") as writer, ProgressBar("running", unit="runs") as progress:
        ledger = Ledger(store, writer)
        environments = ledger.note_builds(map(placed_here, builds))
        have = trial._trials(store, DEFAULT_REPO, chosen)  # noqa: SLF001
        todo: dict[str, list[TrialTest]] = defaultdict(list)
        for test in chosen:
            name, ran = test.case.name, {each.version for each in have.get(test.case.hash, ())}
            for build in builds:
                version = build.public_version
                if version not in ran and (version not in known[name] or name in again):
                    todo[build.identity].append(test)
        progress.expects(sum(map(len, todo.values())))
        for build in builds:
            if members := todo[build.identity]:
                progress.said(f"{build.name}: {len(members)} tests")
                place = trial.Place(registry, build, environments[build.identity], 2)
                numbers = {test.case.hash: 0 for test in members}
                trial._run(ledger, place, members, numbers, progress)  # noqa: SLF001


def outcomes(store: Store, known: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Trial]]:
    """The runs of this database by test and release, read by the rules of today."""
    tests = [test for test in trial._tests(store, DEFAULT_REPO, trial.Draw()) if test.case.name in known]  # noqa: SLF001
    names = {test.case.hash: test.case.name for test in tests}
    found = trial._trials(store, DEFAULT_REPO, tests)  # noqa: SLF001
    return {names[case]: {each.version: each for each in trials} for case, trials in found.items()}


def _said(run: Trial) -> str:
    """The list of the facts that a run belongs to."""
    return "unusable" if run.said == "nothing" else run.said


def with_runs(row: Mapping[str, str], made: Mapping[str, Trial]) -> dict[str, str]:
    """A row of the facts with the outcomes of more releases, and the class that follows.

    Args:
        row: of data/fix_test_facts.csv.
        made: runs by release; those on releases that the row has an outcome of count no more.
    """
    reasons = dict(zip(row["unusable"].split(), row["unusable_because"].split(), strict=True))
    said = outcomes_of(row)
    for version, each in made.items():
        if version not in said:
            said[version] = _said(each)
            if each.said == "nothing":
                reasons[version] = each.reason or "stopped"
    trials = [Trial(version, LISTS[which], "", None, reason=reasons.get(version)) for version, which in said.items()]
    found = classify(trials, row["first_release"] or None, cast("Evidence", row["first_release_by"]))
    doubted = row["class_reason"] not in ("", MENDED_BEFORE)
    kind, reason = found.kind, found.reason
    if doubted and found.validated_before == row["validated_before"]:
        kind, reason = ("doubtful" if kind == "validated" else kind), row["class_reason"]
    ordered = sorted(said, key=Version)
    lists = {which: " ".join(version for version in ordered if said[version] == which) for which in LISTS}
    newest = "" if found.fails_on_newest is None else str(found.fails_on_newest)
    return {
        **row,
        **lists,
        "unusable_because": " ".join(reasons[version] for version in ordered if said[version] == "unusable"),
        "class": kind,
        "class_reason": reason or "",
        "validated_before": found.validated_before or "",
        "validated_after": found.validated_after or "",
        "fails_on_newest": newest,
    }


def main() -> None:
    """Run, add, write."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--database", type=Path, required=True)
    arguments.add_argument("--again", type=int, default=0, help="tests that also run where their outcome is known")
    arguments.add_argument("--seed", type=int, default=0, help="of that draw")
    arguments.add_argument("--load", type=float, required=True, help="of the machine while the tests ran")
    arguments.add_argument("--replace", help="make the failures of this release anew")
    arguments.add_argument("--only-write", action="store_true", help="make no runs")
    given = arguments.parse_args()
    with FACTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = decisive(rows)
    left = [without_failures(row, given.replace) for row in rows]
    known = {row["name"]: outcomes_of(row) for row in left if row["name"] in names}
    again = set(order(known, given.seed)[: given.again])
    store = Store(given.database)
    builds = [build for build in Registry(settings.load().builds_dir).installed() if build.name == build.public_version]
    if not given.only_write:
        run(store, builds, known, again)
    made = outcomes(store, known)
    if unlike := [row["name"] for row in rows if row["name"] in known and with_runs(row, {}) != row]:
        raise SystemExit(
            f"the classes of {len(unlike)} tests do not follow from the outcomes of the facts: {unlike[:5]}"
        )
    if lost := [
        row["name"]
        for row in rows
        if given.replace in row["failed"].split() and given.replace not in made.get(row["name"], {})
    ]:
        raise SystemExit(f"{len(lost)} failures on {given.replace} have no run in this database: {lost[:5]}")
    version = str(fix_test_rules.load().version)
    after = [
        (with_runs(row, made.get(row["name"], {})) if row["name"] in known else row) | {"rules": version}
        for row in left
    ]
    measured = _measured(rows, after, known, made)
    with FACTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(after)
    _write(given, store, measured)


def _measured(
    rows: Sequence[Mapping[str, str]],
    after: Sequence[Mapping[str, str]],
    known: Mapping[str, Mapping[str, str]],
    made: Mapping[str, Mapping[str, Trial]],
) -> dict[str, Any]:
    before = {row["name"]: outcomes_of(row) for row in rows if row["name"] in known}
    new = Counter(version for name, runs in made.items() for version in runs if version not in before[name])
    if not new:
        raise SystemExit("the facts lack no run that this database has")
    anew = [(name, version) for name in made for version in before[name] if version not in known[name]]
    pairs = Counter(
        (known[name][version], _said(each))
        for name, runs in made.items()
        for version, each in runs.items()
        if version in known[name]
    )
    asked = Counter(version for name, runs in made.items() for version in runs if version in known[name])
    changed = [
        {"test": old["name"], "was": old["class"], "is": now["class"], "failed": now["failed"].split()}
        for old, now in zip(rows, after, strict=True)
        if old["class"] != now["class"]
    ]
    return {
        "runs": dict(sorted(new.items(), key=lambda each: Version(each[0]))),
        "tests": sum(any(version not in before[name] for version in runs) for name, runs in made.items()),
        "replaced": {
            "runs": len(anew),
            "alike": sum(before[name][version] == _said(made[name][version]) for name, version in anew),
        },
        "again": {
            "tests": sum(any(version in known[name] for version in runs) for name, runs in made.items()),
            "releases": dict(sorted(asked.items(), key=lambda each: Version(each[0]))),
            "runs": sum(pairs.values()),
            "alike": sum(n for (old, now), n in pairs.items() if old == now),
        },
        "again_unlike": {f"{old} then, {now} now": n for (old, now), n in sorted(pairs.items()) if old != now},
        "changed": changed,
    }


def _write(given: argparse.Namespace, store: Store, facts: dict[str, Any]) -> None:
    with store.read() as connection:
        result = connection.execute(_SPAN)
        span = dict(zip([column[0] for column in result.description or ()], result.fetchall()[0], strict=True))
    rules = fix_test_rules.load().version
    shared = {"rules": rules, **span, "load": given.load, "cores": os.cpu_count(), "seed": given.seed}
    OUT.write_text(json.dumps({**shared, **facts}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
