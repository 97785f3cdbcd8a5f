"""docs/second-opinion.md: closings as fixed beside the verdicts of the shipped matrix."""

from __future__ import annotations

from functools import cache

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
