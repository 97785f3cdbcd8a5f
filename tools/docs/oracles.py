"""docs/oracles.md: known silent bugs, and whether an oracle finds them in a script that checks nothing."""

from __future__ import annotations

import tomllib
from typing import Any

from .markdown import PYTORCH, cell, code, issue_link, table
from .places import ROOT, measured


def scripts() -> list[dict[str, Any]]:
    """The scripts of tests/silent_scripts.toml, each with what bench/silent.json has of it, by release."""
    found: list[dict[str, Any]] = tomllib.loads((ROOT / "tests" / "silent_scripts.toml").read_text(encoding="utf-8"))[
        "script"
    ]
    runs = measured("silent.json")["runs"]
    for script in found:
        script["runs"] = {row["release"]: row for row in runs if row["script"] == script["name"]}
    return found


def is_found(script: dict[str, Any]) -> bool:
    """Whether the first finding on every release that has the bug is of the operator that is at fault."""
    rows = [script["runs"].get(release) for release in script["bad"]]
    return bool(script["op"]) and all(row and row["found"] and row["found"][0][0] == script["op"] for row in rows)


def silent_counted() -> str:
    """How many are found, and what is known of releases without the bug."""
    known = scripts()
    found = [script for script in known if is_found(script)]
    issues = {script["issue"] for script in known if "issue" in script}
    seen = {script["issue"] for script in found if "issue" in script}
    good = [script for script in found if "good" in script]
    loud = [script["name"] for script in good if script["runs"][script["good"]]["found"]]
    quiet = f"On that release {', '.join(loud)} has a finding, too." if loud else "None has a finding there."
    return (
        f"{len(found)} of {len(known)} are found at the operator and the line, among them {len(seen)} of {len(issues)} "
        f"issues. Of these {len(found)}, {len(good)} were also run on a release that is free of the bug; for the other "
        f"{len(found) - len(good)} there is none at hand. {quiet}"
    )


def silent_table() -> str:
    """A row per script."""
    head = ["issue", "script", "oracle", "found on", "nothing on", "operator"]
    return table(head, [_row(script) for script in scripts()])


def _row(script: dict[str, Any]) -> list[str]:
    what = (
        code(script["op"]) if is_found(script) else f"not found: {cell(script.get('reason', 'see bench/silent.json'))}"
    )
    return [
        issue_link(PYTORCH, script["issue"]) if "issue" in script else "none",
        code(script["name"]),
        script["oracle"],
        ", ".join(script["bad"]),
        script.get("good", "-"),
        what,
    ]
