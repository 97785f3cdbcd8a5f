"""docs/still-occurring.md: verdicts of every case on every build, from analysis/results/matrix.csv."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from packaging.version import Version

from .catalog import entries
from .markdown import cell, issue_link, table
from .places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

MATRIX = ROOT / "analysis" / "results" / "matrix.csv"


@cache
def matrix() -> tuple[dict[str, str], ...]:
    """The committed verdicts, one a row."""
    with MATRIX.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def _builds() -> list[str]:
    return sorted({row["build"] for row in matrix()}, key=Version)


def _verdicts() -> dict[str, dict[str, dict[str, str]]]:
    """Row by case and build."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in matrix():
        found.setdefault(row["case"], {})[row["build"]] = row
    return found


def _states() -> dict[int, str]:
    return {entry["number"]: entry["state"] or "unknown" for entry in entries()}


def verdict_counts() -> str:
    """Verdicts per build."""
    names = ("occurs", "absent", "not_seen", "changed", "control_failed", "inconclusive", "untestable")
    counts = Counter((row["build"], row["verdict"]) for row in matrix())
    rows = [(build, *(str(counts[build, name] or "") for name in names)) for build in _builds()]
    return table(("build", *(f"{name}:" for name in names)), rows)


def _since(seen: Mapping[str, Mapping[str, str]]) -> str:
    """The first build from which on a case occurs without a gap."""
    tested = [b for b in _builds() if b in seen and seen[b]["verdict"] in ("occurs", "absent", "not_seen", "changed")]
    start = tested[-1]
    for build in reversed(tested):
        if seen[build]["verdict"] != "occurs":
            break
        start = build
    return f"all tested ({tested[0]})" if start == tested[0] else start


def occurring() -> str:
    """Every case that occurs on the newest build, with its evidence."""
    newest = _builds()[-1]
    rows = []
    for case, seen in sorted(_verdicts().items()):
        row = seen.get(newest)
        if row is None or row["verdict"] != "occurs":
            continue
        issues = [text.rpartition("#") for text in row["issue"].split()]
        told = ", ".join(f"{issue_link(repo, int(n))} {_states().get(int(n), 'unknown')}" for repo, _, n in issues)
        control = {"build": f"{row['control_k']}/{row['control_n']} on {row['control_build']}", "planted": "planted"}
        shown = control.get(row["control"], "none")
        rows.append((f"`{case}`", told, _since(seen), f"{row['k']}/{row['n']}", shown, cell(row["detail"])))
    return f"{len(rows)} cases occur on {newest}.\n\n" + table(
        ("case", "items and their state", "since", "k/n:", "control", "what was seen"), rows
    )


def changes() -> str:
    """Cases whose verdict changes between two builds."""
    rows = []
    for case, seen in sorted(_verdicts().items()):
        steps: list[tuple[str, str]] = []
        for build in _builds():
            verdict = seen.get(build, {}).get("verdict")
            if verdict in ("occurs", "absent", "changed") and (not steps or steps[-1][1] != verdict):
                steps.append((build, verdict))
        if len(steps) > 1:
            rows.append((f"`{case}`", ", then ".join(f"{verdict} from {build}" for build, verdict in steps)))
    return f"{len(rows)} cases change.\n\n" + table(("case", "verdicts"), rows)
