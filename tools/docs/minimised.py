"""docs/extraction.md, the part on reduction: scripts before and after, from bench/minimize.json."""

from __future__ import annotations

from typing import Any

from .markdown import PYTORCH, cell, issue_address, table
from .places import measured


def _minimised() -> dict[str, Any]:
    found: dict[str, Any] = measured("minimize.json")
    return found


def sizes() -> str:
    """Size before and after, tests and time."""
    rows = []
    for one in _minimised()["scripts"]:
        (before, after), (lines, left) = one["characters"], one["lines"]
        change = f"{before:,} -> {after:,} ({100 * after / before:.0f} %)"
        issue = f"[{one['number']}]({issue_address(PYTORCH, one['number'])})"
        shows = cell(one["shows"][:60])
        rows.append(
            (issue, one["build"], shows, change, f"{lines} -> {left}", str(one["tests"]), f"{one['minutes']:.1f}")
        )
    return table(("issue", "build", "failure kept", "characters:", "lines:", "tests:", "minutes:"), rows)


def summary() -> str:
    """All of them in a sentence."""
    scripts = _minimised()["scripts"]
    kept = sorted(one["characters"][1] / one["characters"][0] for one in scripts)
    tests = sorted(one["tests"] for one in scripts)
    agree = sum(one["agree"]["runnable"] == one["agree"]["minimal"] == "reproduced" for one in scripts)
    return (
        f"{len(scripts)} scripts; the median keeps {100 * kept[len(kept) // 2]:.0f} % of its characters after "
        f"{tests[len(tests) // 2]} tests, the slowest took {max(one['minutes'] for one in scripts):.1f} minutes. "
        f"Runnable and minimal text agreed in {agree} of {len(scripts)}."
    )


def other_ways() -> str:
    """The same scripts by other ways."""
    found = _minimised()
    usual = {one["number"]: one for one in found["scripts"]}
    rivals = {(one["number"], one["way"]): one for one in found["compared"]}
    ways = list(dict.fromkeys(way for _, way in rivals))
    rows = []
    for number in dict.fromkeys(number for number, _ in rivals):
        own = usual[number]
        cells = [f"{own['characters'][1]} in {own['tests']:,}"]
        for way in ways:
            one = rivals.get((number, way))
            mark = " (stopped)" if one and one["stopped"] else ""
            cells.append(f"{one['characters']} in {one['tests']:,}{mark}" if one else "")
        rows.append((f"[{number}]({issue_address(PYTORCH, number)})", str(own["characters"][0]), *cells))
    return table(("issue", "before:", "embers:", *(f"{way}:" for way in ways)), rows)
