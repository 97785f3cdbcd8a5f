"""docs/still-occurring.md: verdicts of every case on every build, from analysis/results/matrix.csv."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from torch_embers.escaping import unguarded

from .cases import bank
from .catalog import entries
from .markdown import cell, issue_link, table
from .places import ROOT
from .reviews import dispositions, evidence, reviews, same_by_authors_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MATRIX = ROOT / "analysis" / "results" / "matrix.csv"
CONFIRMING = ROOT / "analysis" / "results" / "confirming.csv"


@cache
def matrix() -> tuple[dict[str, str], ...]:
    """The committed verdicts, one a row."""
    with MATRIX.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def releases() -> list[str]:
    """The builds of the matrix, oldest first."""
    return sorted({row["build"] for row in matrix()}, key=Version)


def _verdicts() -> dict[str, dict[str, dict[str, str]]]:
    """Row by case and build."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in matrix():
        found.setdefault(row["case"], {})[row["build"]] = row
    return found


@cache
def _entries() -> dict[int, dict[str, Any]]:
    return {entry["number"]: entry for entry in entries()}


def _processor(row: Mapping[str, str]) -> str:
    """Model of the processor, with its vendor, and the CPU capability: the environment without device and system."""
    return row["environment"].partition(", ")[2].rpartition(", ")[0]


def processors() -> dict[str, list[str]]:
    """The releases of the matrix by processor and CPU capability, oldest first."""
    found: dict[str, list[str]] = {}
    for release in releases():
        for text in sorted({_processor(row) for row in matrix() if row["build"] == release}):
            found.setdefault(text, []).append(release)
    return found


def verdict_counts() -> str:
    """Verdicts per build."""
    names = ("occurs", "absent", "not_seen", "changed", "control_failed", "inconclusive", "untestable")
    counts = Counter((row["build"], row["verdict"]) for row in matrix())
    names = tuple(name for name in names if any(counts[build, name] for build in releases()))
    rows = [(build, *(str(counts[build, name] or "") for name in names)) for build in releases()]
    return table(("build", *(f"{name}:" for name in names)), rows)


def _since(seen: Mapping[str, Mapping[str, str]]) -> str:
    """The first build from which on a case occurs without a gap."""
    tested = [b for b in releases() if b in seen and seen[b]["verdict"] in ("occurs", "absent", "not_seen", "changed")]
    if not tested:
        return ""
    start = tested[-1]
    for build in reversed(tested):
        if seen[build]["verdict"] != "occurs":
            break
        start = build
    return f"all tested ({tested[0]})" if start == tested[0] else start


MISSED = 0.01
"""Chance of missing a bug of the hit rate that is printed beside clean runs."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """A case and one of its items, with the verdict on the newest build."""

    row: Mapping[str, str]
    since: str
    repo: str
    number: int
    relation: str | None

    @property
    def group(self) -> str:
        """Which table of the page it belongs to."""
        closing = dispositions().get(self.number)
        entry = _entries().get(self.number)
        if entry is None:
            return "not_in_catalog"
        if entry.get("kind") == "pull":
            return "pull"
        if entry.get("state") == "open":
            return "open"
        if closing is None:
            return "unknown"
        if closing["disposition"] == "fixed":
            return "fixed" if self.relation == "same" else "sibling"
        return closing["disposition"] if closing["disposition"] in ("unknown", "duplicate") else "declined"


def pairs() -> list[_Pair]:
    """Every case with each of its items, on the newest build."""
    newest, verdicts = releases()[-1], _verdicts()
    return [
        _Pair(verdicts[case.name][newest], _since(verdicts[case.name]), *item, case.relations.get(item))
        for case in bank()
        for item in case.issues
        if newest in verdicts.get(case.name, {})
    ]


def _there(group: str) -> list[_Pair]:
    chosen = [pair for pair in pairs() if pair.group == group and pair.row["verdict"] == "occurs"]
    return sorted(chosen, key=lambda pair: (pair.number, pair.row["case"]))


def _issue_count(pairs: Iterable[_Pair]) -> int:
    return len({(pair.repo, pair.number) for pair in pairs})


def issue_counts(group: str) -> tuple[int, int]:
    """How many issues of a group, with a case of their own (`same`), are decided on the newest build, and occur."""
    same = [pair for pair in pairs() if pair.group == group and pair.relation == "same"]
    decided = [pair for pair in same if pair.row["verdict"] in ("occurs", "absent")]
    return _issue_count(decided), _issue_count(pair for pair in decided if pair.row["verdict"] == "occurs")


def _verdict_cells(row: Mapping[str, str], since: str) -> tuple[str, ...]:
    controls = {
        "build": f"{row['control_k']}/{row['control_n']} on {row['control_build']}",
        "planted": "injected fault: shows only that the check can fail",
    }
    return (
        since,
        f"{row['k']}/{row['n']}",
        _processor(row),
        controls.get(row["control"], "none"),
        cell(unguarded(row["detail"])),
    )


_VERDICT_HEADINGS = ("since", "k/n:", "processor", "control", "what was seen")
_PAIR_HEADINGS = ("issue", "case", "relation", *_VERDICT_HEADINGS)


def _closed(pairs: Sequence[_Pair]) -> str:
    rows = [(*_pair_cells(pair), _closing(pair.number)) for pair in pairs]
    return table((*_PAIR_HEADINGS, "why it was closed"), rows)


def _pair_cells(pair: _Pair) -> tuple[str, ...]:
    return (
        issue_link(pair.repo, pair.number),
        f"`{pair.row['case']}`",
        pair.relation or "",
        *_verdict_cells(pair.row, pair.since),
    )


def _closing(number: int) -> str:
    closing = dispositions().get(number)
    return f"{closing['disposition']}: {evidence(closing)}" if closing else "not read"


def fixed_and_there() -> str:
    """The headline: closed as fixed, the case is the report's own; beside it the closings that nobody saw."""
    newest = releases()[-1]
    left = {
        group: _issue_count(pair for pair in pairs() if pair.group == group and pair.relation == "same")
        - issue_counts(group)[0]
        for group in ("fixed", "unknown")
    }
    decided, alive = issue_counts("fixed")
    unseen, occur = issue_counts("unknown")
    there = _there("fixed")
    text = (
        f"Of {decided} issues that were closed as fixed, whose case is the report's own (`same`) and "
        f"which could be decided on {newest}, **{alive or 'none'} still {'occur' if alive > 1 else 'occurs'}**. "
        f"{left['fixed']} more could not be decided on the machine of the matrix. {_elsewhere(decided)}\n\n"
        f"Of {unseen} other closed issues with such a case our reader, which had only stored excerpts of the threads, "
        f"did not find why they were closed: **{occur} of them occur**; {left['unknown']} more could not be decided. "
        f"If all of the decided ones had been closed as fixed, {alive + occur} of {decided + unseen} would occur; if "
        f"none, {alive} of {decided}."
    )
    return f"{text}\n\n{_closed(there)}" if there else text


def _elsewhere(decided: int) -> str:
    """For how many of the issues closed as fixed the control ran with another processor or capability."""
    newest = releases()[-1]
    environment = {release: text for text, found in processors().items() for release in found}
    own = [p for p in pairs() if p.group == "fixed" and p.relation == "same" and p.row["verdict"] == "absent"]
    count = _issue_count(p for p in own if environment[p.row["control_build"]] != environment[newest])
    return f"For {count} of the {decided} the control ran on a release with another processor or CPU capability."


def declined() -> str:
    """Closed without a fix in the function of the report: declined, superseded or stale."""
    there = _there("declined")
    return f"{_issue_count(there)} issues.\n\n{_closed(there)}"


def duplicates() -> str:
    """Closed as a duplicate, with the issue that goes on."""
    there = _there("duplicate")
    rows = [(*_pair_cells(pair), _tracked_in(pair), _closing(pair.number)) for pair in there]
    headings = (*_PAIR_HEADINGS, "tracked in", "why it was closed")
    return f"{_issue_count(there)} issues.\n\n{table(headings, rows)}"


def _tracked_in(pair: _Pair) -> str:
    """The issue that a duplicate names, and its state in the catalog."""
    number = dispositions()[pair.number]["duplicate_of"]
    state = _entries().get(number, {}).get("state", "not in the catalog")
    return f"{issue_link(pair.repo, number)} ({state})"


def undecided() -> str:
    """What cannot be called a fixed bug that is still there: a sibling case, an unknown reason, a pull request."""
    there = [*_there("sibling"), *_there("unknown"), *_there("pull")]
    return f"{_issue_count(there)} items.\n\n{_closed(there)}"


def not_in_catalog() -> str:
    """Occurs, but nothing is known of the state of the issue."""
    there = _there("not_in_catalog")
    return f"{_issue_count(there)} issues.\n\n{table(_PAIR_HEADINGS, map(_pair_cells, there))}"


def capability() -> str:
    """How far verdicts and controls come from different CPU capabilities."""
    places = processors()
    newest = releases()[-1]
    environment = {release: text for text, found in places.items() for release in found}
    absent = [row for row in matrix() if row["build"] == newest and row["verdict"] == "absent"]
    elsewhere = [row for row in absent if environment[row["control_build"]] != environment[newest]]
    controls = Counter(row["control_build"] for row in elsewhere)
    steps = list(pairwise(releases()))
    moved = {new: _ends(old, new) for old, new in steps if environment[old] != environment[new]}
    lines = [f"- {text}: {', '.join(found)}." for text, found in places.items()]
    lines.append(
        f"- {len(elsewhere)} of the {len(absent)} cases that are absent on {newest} have their control on a release "
        f"with another processor or capability ({', '.join(f'{n} on {build}' for build, n in controls.items())})."
    )
    lines += [
        f"- {count} cases go from `occurs` to `absent` at {release}, where the reported capability changes, too: "
        "that change may be one of the kernel path and not of the bug."
        for release, count in moved.items()
    ]
    return "\n".join(lines)


def _ends(old: str, new: str) -> int:
    """How many cases occur on a release and are absent from the next."""
    return sum(
        seen.get(old, {}).get("verdict") == "occurs" and seen.get(new, {}).get("verdict") == "absent"
        for seen in _verdicts().values()
    )


def open_and_gone() -> str:
    """Open issues whose own cases are all absent from the newest build."""
    own: dict[tuple[str, int], list[_Pair]] = {}
    for pair in pairs():
        if pair.group == "open" and pair.relation == "same" and pair.row["verdict"] in ("occurs", "absent"):
            own.setdefault((pair.repo, pair.number), []).append(pair)
    gone = [pair for pairs in own.values() if all(p.row["verdict"] == "absent" for p in pairs) for pair in pairs]
    rows = [
        (
            issue_link(p.repo, p.number),
            f"`{p.row['case']}`",
            *_verdict_cells(p.row, first_absent(p.row["case"]))[:4],
            _thread_read(p),
            f"{1 - MISSED ** (1 / int(p.row['n'])):.0%}",
        )
        for p in sorted(gone, key=lambda pair: (pair.number, pair.row["case"]))
    ]
    cases = len({pair.row["case"] for pair in gone})
    text = (
        f"{_issue_count(gone)} of {len(own)} open issues whose own case (`same`) is decided on {releases()[-1]}, "
        f"by {cases} cases. {_again(gone)} {_read(gone)}"
    )
    headings = ("issue", "case", "absent from", "k/n:", "processor", "control", "thread read", "detectable rate:")
    return f"{text}\n\n" + table(headings, rows)


def _again(gone: Sequence[_Pair]) -> str:
    """What the second batch says of cases that were clean in the first one."""
    with CONFIRMING.open(encoding="utf-8", newline="") as file:
        second = {row["case_hash"]: row for row in csv.DictReader(file) if row["build"] == releases()[-1]}
    cases = {pair.row["case_hash"]: pair.row["case"] for pair in gone}
    made = [second[key] for key in cases if key in second]
    clean = sum(row["verdict"] == "absent" for row in made)
    days = ", ".join(sorted({row["decided_at"][:10] for row in made}))
    return f"A second batch of {len(made)} of these cases ({days}) was clean again, with its control, for {clean}."


def _review(pair: _Pair) -> Mapping[str, Any]:
    found = (r for r in reviews() if (r["case"], r["repo"], r["number"]) == (pair.row["case"], pair.repo, pair.number))
    return next(found, {})


def _thread_read(pair: _Pair) -> str:
    return str(_review(pair).get("thread_read", "no"))


def _read(pairs: Sequence[_Pair]) -> str:
    """How much of the threads an automated reader saw, and for which the reader had changed the case before."""
    counts = Counter(map(_thread_read, pairs))
    seen = ", ".join(f"{counts[name]} {name}" for name in ("whole", "partly", "no") if counts[name])
    own = [p for p in pairs if same_by_authors_only(p.row["case"], p.repo, p.number)]
    text = f"An automated reader saw the threads as follows: {seen}."
    if not own:
        return f"{text} That the case is the report's own, a program says of each that did not change the case."
    named = ", ".join(issue_link(p.repo, p.number) for p in sorted(own, key=lambda pair: pair.number))
    return (
        f"{text} That the case is the report's own rests for {len(own)} of them ({named}) on the program alone that "
        "also changed the case."
    )


def first_absent(case: str) -> str:
    """The first tested build from which on a case is absent."""
    seen = _verdicts()[case]
    decided = [build for build in releases() if seen.get(build, {}).get("verdict") in ("occurs", "absent")]
    start = decided[-1]
    for build in reversed(decided):
        if seen[build]["verdict"] != "absent":
            break
        start = build
    return start


def still_open() -> str:
    """Open issues that occur on the newest build."""
    there = _there("open")
    rows = [_pair_cells(pair) for pair in there]
    own = _issue_count(p for p in there if p.relation == "same")
    text = f"{_issue_count(there)} issues, {own} of them by a case of their own input (`same`)."
    return f"{text}\n\n" + table(_PAIR_HEADINGS, rows)


def without_report() -> str:
    """Cases that occur on the newest build and that no known report describes."""
    newest, verdicts = releases()[-1], _verdicts()
    rows = [
        (f"`{case.name}`", *_verdict_cells(row, _since(verdicts[case.name])))
        for case in bank()
        if not case.issues and (row := verdicts[case.name][newest])["verdict"] == "occurs"
    ]
    return f"{len(rows)} cases.\n\n" + table(("case", *_VERDICT_HEADINGS), rows)


def changes() -> str:
    """Cases whose verdict changes between two builds."""
    rows = []
    for case, seen in sorted(_verdicts().items()):
        steps: list[tuple[str, str]] = []
        for build in releases():
            verdict = seen.get(build, {}).get("verdict")
            if verdict in ("occurs", "absent", "changed") and (not steps or steps[-1][1] != verdict):
                steps.append((build, verdict))
        if len(steps) > 1:
            rows.append((f"`{case}`", ", then ".join(f"{verdict} from {build}" for build, verdict in steps)))
    return f"{len(rows)} cases change.\n\n" + table(("case", "verdicts"), rows)
