"""docs/second-opinion.md: closings as fixed, and as not reproduced, beside verdicts."""

from __future__ import annotations

import csv
from functools import cache
from itertools import groupby
from typing import Any

from torch_embers import resources
from torch_embers.run.matrix import span
from torch_embers.run.readings import readings_of
from torch_embers.statistics.intervals import wilson

from .markdown import cell, issue_link, table
from .reviews import dispositions, evidence
from .still_occurring import first_absent, pairs, releases

KINDS = {
    "comment": "a comment",
    "closing_pr": "a merged pull request that names it",
    "commit": "a commit that names it",
}


@cache
def _verdicts() -> dict[int, list[tuple[str, str, str]]]:
    """By issue: (case, verdict on the newest release, k/n) of its own cases."""
    found: dict[int, list[tuple[str, str, str]]] = {}
    for pair in pairs():
        if pair.group == "fixed":
            row = pair.row
            found.setdefault(pair.number, []).append((row["case"], row["verdict"], f"{row['k']}/{row['n']}"))
    return found


def _fixed(kind: str) -> list[int]:
    own = dispositions().values()
    return [line["number"] for line in own if line["disposition"] == "fixed" and line["evidence_kind"] == kind]


def _state(number: int) -> str:
    """What the own cases of an issue say together: any that occurs decides; gone needs all.

    A case that a reader set aside says nothing.
    """
    readings = readings_of(dispositions()[number]["repo"], number)
    aside = {case for case, reading in readings.items() if not reading.decides}
    seen = {verdict for case, verdict, _ in _verdicts().get(number, ()) if case not in aside}
    if "occurs" in seen:
        return "contradicted"
    return "confirmed" if seen == {"absent"} else "undecided"


def counts() -> str:
    """Closings by what says that the issue was fixed."""
    rows = []
    for kind, words in [*KINDS.items(), ("", "all")]:
        numbers = _fixed(kind) if kind else [n for each in KINDS for n in _fixed(each)]
        states = [_state(number) for number in numbers]
        against, decided = states.count("contradicted"), len(states) - states.count("undecided")
        low, high = wilson(against, decided) if decided else (0.0, 1.0)
        own = sum(number in _verdicts() for number in numbers)
        rows.append((words, *map(str, (len(numbers), own, decided, against)), f"{low:.0%} to {high:.0%}"))
    headings = ("closed as fixed by", "issues:", "own case:", "decided:", "contradicted:", "share, 95 % interval:")
    return table(headings, rows)


CLOSINGS = "closings.toml"
REPO = "pytorch/pytorch"


@cache
def _measured() -> dict[str, list[dict[str, str]]]:
    """By case of data/closing_cases its verdicts, oldest release first, as `embers matrix --csv` wrote them."""
    found: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(resources.analysis_text("results", "closings.csv").splitlines()):
        found.setdefault(row["case"], []).append(row)
    return found


def _shown(rows: list[dict[str, str]]) -> str:
    """Verdicts over releases in words, with the control of the newest."""
    parts = [
        f"{verdict} on {span([row['build'] for row in group])}"
        for verdict, group in groupby(rows, key=lambda row: row["verdict"])
    ]
    newest = rows[-1]
    control = f", control {newest['control_k']}/{newest['control_n']} on {newest['control_build']}"
    with_control = control if newest["control"] == "build" else ", no build here shows it"
    return f"{'; '.join(parts)} (newest: {newest['k']}/{newest['n']}{with_control})"


def not_reproduced() -> str:
    """Closings as not reproduced: what was said, and what the reporter's call does on the releases."""
    listed: list[dict[str, Any]] = resources.load_toml(CLOSINGS)["closing"]
    rows, ends = [], []
    for one in listed:
        seen = _measured().get(one.get("case", ""), [])
        ends += [seen[-1]["verdict"]] if seen else []
        said = f"{one['said']} ({one['said_on']})" if "said" in one else "not seen"
        runs = f"`{one['case']}`: {_shown(seen)}" if seen else cell(one["reason"])
        rows.append((issue_link(REPO, one["number"]), cell(one.get("title", "not known")), cell(said), runs))
    decided = [verdict for verdict in ends if verdict in ("occurs", "absent")]
    text = (
        f"{len(listed)} closings were looked for, {sum('said' in one for one in listed)} sentences found, and "
        f"{len(ends)} of these run. {len(decided)} could be decided on {releases()[-1]}; "
        f"{decided.count('occurs')} contradict their closing. That is too few for any share."
    )
    return f"{text}\n\n{table(('issue', 'title', 'what was said', 'runs'), rows)}"


def contradicted() -> str:
    """Each issue that was closed as fixed and whose own case occurs."""
    rows = []
    for number in sorted(n for kind in KINDS for n in _fixed(kind) if _state(n) == "contradicted"):
        line = dispositions()[number]
        cases = [f"`{case}` {runs}" for case, verdict, runs in _verdicts()[number] if verdict == "occurs"]
        rows.append((issue_link(line["repo"], number), ", ".join(cases), evidence(line), cell(line["thread_read"])))
    if not rows:
        return f"None: no issue that was closed as fixed has an own case that occurs on {releases()[-1]}."
    return table(("issue", f"own case that occurs on {releases()[-1]}", "why it was closed", "thread read"), rows)


def confirmed() -> str:
    """Each issue that was closed as fixed and is gone."""
    rows = []
    for number in sorted(n for kind in KINDS for n in _fixed(kind) if _state(n) == "confirmed"):
        line = dispositions()[number]
        gone = [(case, runs) for case, verdict, runs in _verdicts()[number] if verdict == "absent"]
        since = ", ".join(f"`{case}` {runs}: {first_absent(case)}" for case, runs in gone)
        rows.append((issue_link(line["repo"], number), since, KINDS[line["evidence_kind"]]))
    return table(("issue", "own case, k/n, absent from", "closed as fixed by"), rows)
