"""The shipped facts about fix tests: each class follows from the outcomes beside it, each release from the cuts of today."""

from __future__ import annotations

import csv
from functools import cache
from typing import Any

from torch_embers import resources
from torch_embers.cases import fix_test_rules, shipped_fix_tests
from torch_embers.fixtests.classes import Trial, classify
from torch_embers.fixtests.first_release import first_by_cut
from torch_embers.judgements import fix_test_answers
from torch_embers.study import fact_tables as study_facts


@cache
def shipped() -> list[dict[str, str]]:
    with resources.data_file(shipped_fix_tests.FILE).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def trials(row: dict[str, str]) -> list[Trial]:
    silent = zip(row["unusable"].split(), row["unusable_because"].split(), strict=True)
    return [
        *(Trial(version, "failed", "", "x") for version in row["failed"].split()),
        *(Trial(version, "passed") for version in row["passed"].split()),
        *(Trial(version, "nothing", reason=reason) for version, reason in silent),
    ]


def told(row: dict[str, str]) -> dict[str, Any]:
    return {
        "class": row["class"],
        "reason": row["class_reason"] or None,
        "validated_before": row["validated_before"] or None,
        "validated_after": row["validated_after"] or None,
        "fails_on_newest": {"true": True, "false": False}.get(row["fails_on_newest"].lower()),
    }


def test_every_class_follows_from_the_outcomes_beside_it_by_the_rules_of_today() -> None:
    doubts = {rule.id for rule in fix_test_rules.load().doubt}
    wrong = []
    for row in shipped():
        if row["class"]:
            evidence: Any = row["first_release_by"]
            found = classify(trials(row), row["first_release"] or None, evidence)
            made, stored = {"class": found.kind, "reason": found.reason}, told(row)
            made |= {key: getattr(found, key) for key in stored if key not in made}
            if stored["reason"] in doubts and made["reason"] is None:  # a rule compared the failure with the commit
                made |= {"reason": stored["reason"]} | ({"class": "doubtful"} if found.kind == "validated" else {})
            if made != stored:
                wrong.append((row["name"], made, stored))
    assert wrong == []


def test_every_first_release_follows_from_the_cuts_of_today() -> None:
    rules = fix_test_rules.load()
    cuts = rules.cuts()
    wrong = []
    for row in shipped():
        if picked := rules.releases.picked.get(row["commit_sha"]):
            expected = (picked, "picked")
        elif version := first_by_cut(cuts, row["committed_at"]):
            expected = (version, "branch_cut")
        else:
            assert row["first_release_by"] in ("version_txt", "release_date", "unknown")
            continue
        if (row["first_release"], row["first_release_by"]) != expected:
            wrong.append((row["commit_sha"], row["first_release"], expected))
    assert wrong == []


def test_the_facts_are_of_one_version_of_the_rules_and_their_reasons_are_known() -> None:
    rules = fix_test_rules.load()
    assert {row["rules"] for row in shipped()} == {str(rules.version)}
    named = {row[column] for row in shipped() for column in ("reason", "class_reason")} - {""}
    silent = {reason for row in shipped() for reason in row["unusable_because"].split()}
    assert named | silent <= rules.reasons
    ran = [row for row in shipped() if row["class"]]
    assert len(ran) > 1_000
    assert all(int(row["variants_run"]) <= rules.limits.variants for row in ran if row["variants_run"])


def test_every_test_that_a_reader_judged_after_its_fix_is_among_the_facts_or_its_fix_was_taken_back() -> None:
    names = {row["name"] for row in shipped()}
    reverted = {row["commit_sha"][:8] for row in shipped() if row["reason"] == "reverted"}
    judged = set(fix_test_answers()["shows_bug_again"])
    assert {case for case in judged - names if case.split("_")[1] not in reverted} == set()


def test_the_study_knows_files_and_lines_of_every_commit_of_which_a_test_ran() -> None:
    known = {sha for sha, *_ in study_facts.fix_commits()}
    assert {row["commit_sha"] for row in shipped() if row["class"]} <= known


def test_the_facts_hold_no_text_of_others() -> None:
    assert not shipped()[0].keys() & {"subject", "detail", "signature", "code", "message"}
