"""docs/case-reviews.md: every case beside its thread, as a second reader judged it, and why the issue was closed."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

from torch_embers import resources
from torch_embers.repro.case import load
from torch_embers.statistics.intervals import wilson

from .cases import bank
from .markdown import cell, code, issue_address, issue_link, table
from .places import ROOT


@cache
def _lines(name: str) -> tuple[dict[str, Any], ...]:
    return tuple(map(json.loads, resources.data_file(name).read_text(encoding="utf-8").splitlines()))


@cache
def _readings() -> dict[tuple[str, str, int], tuple[dict[str, Any], ...]]:
    """The lines of data/case_reviews.jsonl by case and item, in the order of the file: the last reading counts."""
    found: dict[tuple[str, str, int], tuple[dict[str, Any], ...]] = {}
    for line in _lines("case_reviews.jsonl"):
        key = (line["case"], line["repo"], line["number"])
        found[key] = (*found.get(key, ()), line)
    return found


def reviews() -> tuple[dict[str, Any], ...]:
    """The newest reading of each case and item."""
    return tuple(lines[-1] for lines in _readings().values())


def _earlier(review: dict[str, Any]) -> str:
    """What earlier readers of a pair answered, with the day."""
    older = _readings()[review["case"], review["repo"], review["number"]][:-1]
    return "; ".join(f"{line['answer']} ({line['read_on']})" for line in older)


AUTHORS = frozenset({"embers-reader-2"})
"""Annotators that also changed the cases which they read."""


def same_by_authors_only(case: str, repo: str, number: int) -> bool:
    """Whether no reader but one that changed the case calls it the report's own."""
    lines = _readings().get((case, repo, number), ())
    readers = {line["annotator"] for line in lines if line["relation"] == "same"}
    return bool(readers) and readers <= AUTHORS


def read_again() -> str:
    """How often a later reader gave the answer of one that had changed the case itself, and where it did not."""
    pairs = [lines for lines in _readings().values() if any(line["annotator"] in AUTHORS for line in lines)]
    later = []
    for lines in pairs:
        place = max(at for at, line in enumerate(lines) if line["annotator"] in AUTHORS)
        later += [(lines[place], line) for line in lines[place + 1 :][-1:]]
    differ = [(old, new) for old, new in later if (old["answer"], old["relation"]) != (new["answer"], new["relation"])]
    counts = Counter(new["annotator"] for _, new in later)
    by = ", ".join(f"{code(name)} {count}" for name, count in sorted(counts.items()))
    text = (
        f"{len(pairs)} pairs were read by a program that had changed their case. {len(later)} of them were read again "
        f"later by one that had not ({by}); {len(later) - len(differ)} times of {len(later)} it gave the same answer "
        "and relation."
    )
    if not differ:
        return text
    rows = [
        (
            code(old["case"]),
            issue_link(old["repo"], old["number"]),
            f"{old['answer']}, {old['relation']}",
            f"{new['answer']}, {new['relation']}",
            code(new["annotator"]),
            cell(new["reason"]),
        )
        for old, new in differ
    ]
    return f"{text}\n\n" + table(("case", "item", "before", "now", "reader", "reason"), rows)


BLIND = "case_reviews_blind.jsonl"
BLIND_READER = "embers-reader-9"


def blind() -> str:
    """How far a reader agrees who had the case and its thread, and no earlier answer, in sight."""
    read = _lines(BLIND)
    pairs = []
    for line in read:
        earlier = _readings()[line["case"], line["repo"], line["number"]]
        pairs.append((line, [one for one in earlier if one["annotator"] != BLIND_READER][-1]))
    same = sum(line["answer"] == one["answer"] for line, one in pairs)
    low, high = wilson(same, len(pairs))
    answers = [[line["answer"] for line, _ in pairs], [one["answer"] for _, one in pairs]]
    by_chance = sum(answers[0].count(a) * answers[1].count(a) for a in set(answers[0])) / len(pairs) ** 2
    chance_free = (same / len(pairs) - by_chance) / (1 - by_chance)
    rows = [
        (
            code(line["case"]),
            issue_link(line["repo"], line["number"]),
            line["answer"],
            f"{one['answer']} ({one['annotator']})",
            cell(line["reason"]),
        )
        for line, one in pairs
        if line["answer"] != one["answer"]
    ]
    text = (
        f"{len(pairs)} pairs of a case and an issue: {same} answers alike ({100 * same / len(pairs):.0f} %, "
        f"95 % interval {100 * low:.0f} to {100 * high:.0f} %), Cohen's kappa {chance_free:.2f}. Where they differ:"
    )
    return f"{text}\n\n{table(('case', 'issue', 'read blind', 'read before', 'why'), rows)}"


def outcome() -> str:
    """What second readers answered of all pairs, in a sentence."""
    counts = Counter(review["answer"] for review in reviews())
    kinds = ", ".join(f"{counts[name]} {name}" for name in ("faithful", "sibling", "wrong", "unsure"))
    return (
        f"Of {counts.total()} pairs of a case and an item a second reader, a program, called: {kinds} (the wrong ones "
        f"were cut). Drawn at random and read blind: {blind().partition(' Where they')[0]}"
    )


@cache
def dispositions() -> dict[int, dict[str, Any]]:
    """The lines of data/dispositions.jsonl by issue."""
    return {line["number"]: line for line in _lines("dispositions.jsonl")}


def evidence(line: dict[str, Any]) -> str:
    """The evidence of a disposition with its address."""
    shown = cell(line["evidence"])
    ref = line["evidence_ref"]
    if not ref:
        return shown
    if ref.startswith("#"):
        return f"{shown} ([{ref}]({issue_address(line['repo'], int(ref[1:]))}))"
    address = ref if ref.startswith("https://") else f"https://github.com/{line['repo']}/commit/{ref}"
    return f"{shown} ([source]({address}))"


def counted() -> str:
    """How many pairs of case and item got which answer, and how much of the threads could be read."""
    answers = Counter((r["answer"], r["relation"]) for r in reviews())
    read = Counter(r["thread_read"] for r in reviews())
    rows = [(answer, relation, str(count)) for (answer, relation), count in sorted(answers.items())]
    seen = ", ".join(f"{name} {read[name]}" for name in ("whole", "partly", "no"))
    return f"{len(reviews())} pairs of a case and an item. Thread read: {seen}.\n\n" + table(
        ("answer of the second reader", "relation", "pairs:"), rows
    )


def _without_case() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Closings that no verdict speaks of: those whose cases take times only, and those that no case names any more."""
    named = {item for case in bank() for item in case.issues}
    timed = {item for path in (ROOT / "data" / "timing_cases").glob("*.py") for item in load(path).issues}
    left = [line for line in dispositions().values() if (line["repo"], line["number"]) not in named]
    measured = [line for line in left if (line["repo"], line["number"]) in timed]
    return measured, [line for line in left if line not in measured]


def dispositions_counted() -> str:
    """How many closed issues have which disposition, and which of them have no case that gives verdicts."""
    measured, cut = _without_case()
    without = {line["number"] for line in (*measured, *cut)}
    counts = Counter(line["disposition"] for line in dispositions().values())
    own = Counter(line["disposition"] for line in dispositions().values() if line["number"] not in without)
    rows = [(code(name), str(count), str(own[name])) for name, count in counts.most_common()]
    rows.append(("all", str(counts.total()), str(own.total())))
    times, none = (", ".join(issue_link(line["repo"], line["number"]) for line in lines) for lines in (measured, cut))
    return (
        f"{counts.total()} closed issues whose closing was read, {own.total()} of them with a case. The others are "
        f"in no count of verdicts: the cases of {times} take times only, and no case names {none} any more.\n\n"
        + table(("disposition", "issues:", "with a case:"), rows)
    )


def by_case() -> str:
    """One row for each pair of case and item."""
    rows = []
    for r in reviews():
        closing = dispositions().get(r["number"])
        rows.append(
            (
                code(r["case"]),
                issue_link(r["repo"], r["number"]),
                r["answer"],
                _earlier(r),
                r["relation"],
                cell(r["reason"]),
                cell(r["other_cause"] or ""),
                f"{closing['disposition']}: {evidence(closing)}" if closing else "",
            )
        )
    headings = ("case", "item", "answer", "earlier", "relation", "what the report claims and what the case does")
    return table((*headings, "other ways to fail", "closed as"), rows)
