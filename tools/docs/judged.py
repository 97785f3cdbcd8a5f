"""docs/extraction.md: scripts drawn at random and reduced scripts, read beside their reports."""

from __future__ import annotations

import json
from math import ceil, log
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.repro.rules_version import RULES_VERSION
from torch_embers.run.verdict import lower_bound
from torch_embers.statistics.intervals import wilson

from .markdown import cell, code, issue_link, table
from .places import measured

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLE, REDUCED = "extraction_reviews.jsonl", "reduction_reviews.jsonl"
BLIND, REST = "extraction_blind.jsonl", "extraction_rest.jsonl"


def lines(name: str) -> list[dict[str, Any]]:
    """The lines of a data file."""
    return [json.loads(line) for line in resources.data_file(name).read_text(encoding="utf-8").splitlines()]


def share(part: int, whole: int) -> str:
    """``1 of 8 (13 %, 95 % interval 2 to 47 %)``."""
    if not whole:
        return "0 of 0"
    low, high = wilson(part, whole)
    return f"{part} of {whole} ({100 * part / whole:.0f} %, interval {100 * low:.0f} to {100 * high:.0f} %)"


def _columns() -> list[tuple[str, list[dict[str, Any]], str]]:
    first, second, third = ([row for row in lines(SAMPLE) if row["draw"] == draw] for draw in (1, 2, 3))
    return [
        ("first draw, rules before", first, "reproduced_before"),
        ("first draw, first scoring", first, "reproduced_first"),
        ("first draw, rules changed", first, "reproduced"),
        ("second draw, rules before", second, "reproduced_before"),
        ("second draw, rules changed", second, "reproduced"),
        ("third draw, rules before", third, "reproduced_before"),
        ("third draw, rules changed", third, "reproduced"),
    ]


def _false(rows: Sequence[dict[str, Any]], key: str) -> str:
    called = [row for row in rows if row[key]]
    return share(sum(not row["shown"] for row in called), len(called))


def summary() -> str:
    """How many scripts were called reproduced, and how many of them wrongly."""
    rows = [
        (name, str(len(sample)), str(sum(bool(row[key]) for row in sample)), _false(sample, key))
        for name, sample, key in _columns()
    ]
    return table(("", "scripts:", "called `reproduced` on some build:", "of these, false"), rows)


FALSE_AIM, SAME_AIM = 0.05, 0.90
"""The aims: at most this share of `reproduced` is false, at least this share of reductions shows the same bug."""


def aims() -> str:
    """What these numbers of scripts can show of the two aims, by one-sided bounds of Clopper and Pearson."""
    unseen = [row for row in lines(SAMPLE) if row["draw"] > 1 and row["reproduced"]]
    found = lines(REDUCED)
    false, same = sum(not row["shown"] for row in unseen), sum(row["same"] for row in found)
    worst = 1 - lower_bound(len(unseen) - false, len(unseen), 0.95)
    least = lower_bound(same, len(found), 0.95)
    kinds = [
        ("at most 5 % of `reproduced` false", "second and third draw", false, len(unseen), worst, "up to", FALSE_AIM),
        ("at least 90 % of reductions show the same bug", "all reduced", same, len(found), least, "from", SAME_AIM),
    ]
    rows = []
    for aim, which, part, whole, bound, side, level in kinds:
        is_shown = bound <= level if side == "up to" else bound >= level
        needed = clean_needed(level if side == "up to" else 1 - level)
        rows.append(
            (
                aim,
                which,
                f"{part} of {whole}",
                f"{side} {100 * bound:.0f} %",
                "yes" if is_shown else "no",
                str(needed),
            )
        )
    heads = ("aim", "scripts", "seen", "true share, 95 % sure:", "aim shown", "scripts needed without a failure:")
    return table(heads, rows)


def clean_needed(share_: float) -> int:
    """How many in a row without a single one show, 95 % sure, that no more than this share is."""
    return ceil(log(0.05) / log(1 - share_))


def answers() -> str:
    """What rules claim of each draw, and whether it is what the report calls wrong: as scored, and by later rules."""
    kinds = ("yes", "unclear", "no", "abstained")
    rows = []
    for draw in (1, 2, 3):
        sample = [row for row in lines(SAMPLE) if row["draw"] == draw]
        scored = [row["expectation"] for row in sample]
        later = ["abstained" if row.get("review_rules_8") else row["expectation"] for row in sample]
        rows.append((f"draw {draw}, as scored: {_rules(sample)}", *(str(scored.count(kind)) for kind in kinds)))
        if later != scored:
            rows.append((f"draw {draw}, rules 8", *(str(later.count(kind)) for kind in kinds)))
    return f"{table(('', 'right:', 'unclear:', 'wrong:', 'needs review:'), rows)}\n\n{_present()}"


def _rules(rows: Sequence[dict[str, Any]]) -> str:
    """Which version of the rules these rows were read of."""
    return f"rules {', '.join(str(version) for version in sorted({row['rules'] for row in rows}))}"


def _present() -> str:
    """Which version of the rules is in use, and what was read of it."""
    known = [row["rules"] for name in (SAMPLE, BLIND, REDUCED) for row in lines(name)]
    unread = (
        ""
        if RULES_VERSION in known
        else f", of which no drawn script was read yet (the last of them: rules {max(known)})"
    )
    return f"The rules in use are version {RULES_VERSION}{unread}."


def counted() -> str:
    """What was read of all scripts that show their report's failure in the two data sets; they are no sample."""
    items = [item for rows in measured("extraction.json")["items"].values() for item in rows]
    called = {item["number"] for item in items if "reproduced" in item["runs"].values()}
    drawn = {row["number"]: row["shown"] for row in lines(SAMPLE) if row["shown"] is not None}
    unseen = {row["number"]: row["verdict"] == "true" for row in lines(BLIND) if "verdict" in row}
    rest = [row for row in lines(REST) if row["number"] in called]
    true = drawn | unseen | {row["number"]: row["shown"] for row in rest}
    read = called & set(true)
    rows = [
        (
            issue_link(row["repo"], row["number"]),
            code(row["expects"]),
            ", ".join(row["reproduced"]),
            cell(row["reason"]),
        )
        for row in rest
    ]
    text = (
        f"Of the {len(called)} scripts of both sets that are called `reproduced` on some build, {len(read)} were read; "
        f"{sum(true[number] for number in read)} show what their report calls wrong, or the error that a feature "
        f"request wants removed. {len(rest)} of them were read last, by a reader who did not make the rules:"
    )
    return f"{text}\n\n{table(('issue', 'expects', '`reproduced` on', 'why'), rows)}"


def blind() -> str:
    """What a reader who did not make the rules says of claims that came after them."""
    rows = []
    for name in ("drawn", "searched"):
        sample = [row for row in lines(BLIND) if row["set"] == name]
        claims = [row for row in sample if row["claims"]]
        shown = [row for row in claims if row["occurs"]]
        abstained = [row for row in sample if "abstained" in row]
        rows.append(
            (
                name,
                str(len(sample)),
                *(share(sum(row[key] == "right" for row in claims), len(claims)) for key in ("script", "expectation")),
                share(sum(row.get("verdict") == "true" for row in shown), len(shown)),
                share(sum(row["abstained"] == "missed" for row in abstained), len(abstained)),
            )
        )
    heads = (
        "set",
        "scripts:",
        "script right",
        "expectation right",
        "`occurs` true",
        "abstained where a claim was possible",
    )
    wrong = [
        f"- {issue_link(row['repo'], row['number'])}: {row['why']}"
        for row in lines(BLIND)
        if row["claims"] and (row["script"], row["expectation"]) != ("right", "right")
    ]
    return f"Read of {_rules(lines(BLIND))}.\n\n{table(heads, rows)}\n\nNot right in every part:\n\n" + "\n".join(wrong)


def second() -> str:
    """How far a reader who saw neither rules nor answers agrees."""
    read = [row for row in lines(SAMPLE) if "second" in row]
    claims = [row for row in read if row["expectation"] != "abstained"]
    called = [row for row in read if row["shown"] is not None]
    same = sum(row["expectation"] == row["second"]["expectation"] for row in claims)
    shown = sum(row["shown"] == (row["second"]["shown"] == "yes") for row in called)
    held = [row for row in claims if row["draw"] == 2]
    rows = [
        ("whether the expected outcome is what the report calls wrong", share(same, len(claims))),
        ("whether runs called `reproduced` by some rules show it", share(shown, len(called))),
    ]
    right, right_held = (
        share(sum(row["second"]["expectation"] == "yes" for row in found), len(found)) for found in (claims, held)
    )
    said = f"By the second reader's answers {right} expected outcomes are right, of the second draw alone {right_held}."
    return f"{table(('both readers answer alike', 'scripts'), rows)}\n\n{said}"


def each() -> str:
    """The scripts that make a claim, or that some rules called reproduced."""
    rows = [
        (
            str(row["draw"]),
            issue_link(row["repo"], row["number"]),
            code(row["expects"]),
            "needs review" if row["expectation"] == "abstained" else row["expectation"],
            ", ".join(row["reproduced_before"]) or "-",
            ", ".join(row["reproduced"]) or "-",
            {True: "yes", False: "no", None: "-"}[row["shown"]],
            ", ".join(str(row["second"][key]) for key in ("expectation", "shown") if row["second"][key])
            if "second" in row
            else "",
            cell(row["reason"]),
        )
        for row in lines(SAMPLE)
        if row["expectation"] != "abstained" or row["shown"] is not None
    ]
    headings = (
        "draw",
        "issue",
        "expects",
        "is it the complaint",
        "`reproduced` before",
        "now",
        "true",
        "second reader",
        "why",
    )
    return table(headings, rows)


def reduced() -> str:
    """Reduced scripts, and whether they still show the same bug."""
    found = lines(REDUCED)
    rows = [
        (
            issue_link(row["repo"], row["number"]),
            row["build"],
            f"{row['before']} -> {row['after']}",
            str(row["tests"]),
            "yes" if row["same"] else "no",
            cell(row["reason"]),
        )
        for row in found
    ]
    made = table(("issue", "build", "characters:", "tests:", "same bug", "why"), rows)
    same = share(sum(row["same"] for row in found), len(found))
    return f"Reduced by {_rules(found)}. The same bug: {same}.\n\n{made}"
