"""The verdicts that come with embers: analysis/results/verdicts.csv, to which `embers list --matrix --add-to` adds.

A line is a verdict of a case on a release in an environment. What it is for follows from the lines beside it: that of
the sweep is the first of a case on a release that says ``occurs``, in whatever environment, else the first at all;
another one in the same environment is a second batch; one in another environment says whether the machine matters.
"""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from typing import Any

import duckdb

from torch_embers import resources
from torch_embers.builds.registry import environment_key
from torch_embers.builds.releases import commit_of
from torch_embers.cases import case as cases
from torch_embers.errors import InputError
from torch_embers.escaping import unguarded
from torch_embers.store import rows

Line = dict[str, str]
FILE = ("results", "verdicts.csv")
SUBJECT = ("case", "case_hash", "build", "environment")
EVIDENCE = ("k", "n", "control", "control_build", "control_k", "control_n")
FILE_COLUMNS = (*SUBJECT, *EVIDENCE, "verdict", "seen", "day")
"""Columns of the file and of `embers list --matrix --csv`; docs/running.md says what they mean."""
COUNTS = ("k", "n", "control_k", "control_n")
ORDER = ("occurs", "changed", "inconclusive", "control_failed", "not_seen", "absent", "untestable")
"""All verdicts. Of several the first of these decides."""
DECIDED = ("occurs", "absent")
"""Verdicts that say whether the bug is there."""
PROVENANCE = "shipped"
PLATFORM, THREADS = "linux-x86_64", 1
"""Where they were reached."""


def read() -> list[Line]:
    """All lines of the file of the text that a case has now; those of a former text say nothing of it.

    Raises:
        InputError: the file is missing or malformed.
    """
    lines = parse(resources.analysis_text(*FILE), f"analysis/{'/'.join(FILE)}")
    known = {(case.name, case.hash) for case in cases.shipped(None)}
    return [line | {"seen": unguarded(line["seen"])} for line in lines if (line["case"], line["case_hash"]) in known]


def parse(text: str, name: str) -> list[Line]:
    """The lines of a file of verdicts as they stand in it.

    Args:
        text: the whole file.
        name: what errors call it.

    Raises:
        InputError: it has other columns, or the numbers of a line do not support its verdict.
    """
    reader = csv.DictReader(io.StringIO(text))
    lines = list(reader)
    if tuple(reader.fieldnames or ()) != FILE_COLUMNS or any(None in line or None in line.values() for line in lines):
        raise InputError(
            f"{name}: its columns are not {', '.join(FILE_COLUMNS)}: `embers list --matrix --csv` writes such a file"
        )
    for line in lines:
        if not _is_supported(line):
            raise InputError(
                f"{name}: {line['case']} on {line['build']} is said to be {line['verdict']!r} with k={line['k']}, "
                f"n={line['n']}, control {line['control']} {line['control_k']}/{line['control_n']}, which cannot be: "
                "correct this line or delete it"
            )
    return lines


def _is_supported(line: Line) -> bool:
    """Whether the numbers of a line can be, and support its verdict: an absence needs runs and a control that hit."""
    try:
        k, n, control_k, control_n = (int(line[name]) for name in COUNTS)
    except ValueError:
        return False
    needed = {"occurs": k > 0, "absent": k == 0 < n and line["control"] == "build" and control_k > 0}
    return (
        line["verdict"] in ORDER and 0 <= k <= n and 0 <= control_k <= control_n and needed.get(line["verdict"], True)
    )


def _by_release() -> list[list[Line]]:
    """The lines of each case on each release: first those that say ``occurs``, the oldest of them first."""
    found: dict[tuple[str, str], list[Line]] = {}
    for line in read():
        found.setdefault((line["case"], line["build"]), []).append(line)
    return [sorted(lines, key=lambda line: (line["verdict"] != "occurs", line["day"])) for lines in found.values()]


def sweep() -> list[Line]:
    """The sweep: one verdict per case, of whatever kind, and release; no absence hides that it occurs elsewhere.

    Raises:
        InputError: the file cannot be used.
    """
    return [first for first, *_ in _by_release()]


def matrix() -> list[Line]:
    """The sweep of the cases of bugs.

    Raises:
        InputError: the file cannot be used.
    """
    bugs = {case.hash for case in cases.shipped()}
    return [line for line in sweep() if line["case_hash"] in bugs]


def second_batch(release: str) -> dict[str, Line]:
    """The last verdict on a release beside that of the sweep, in the same environment, by hash of the case.

    Raises:
        InputError: the file cannot be used.
    """
    return {
        line["case_hash"]: line
        for first, *later in _by_release()
        for line in later
        if line["build"] == release and line["environment"] == first["environment"]
    }


@cache
def absences() -> frozenset[tuple[str, str]]:
    """Cases with an environment in which a verdict is `absent`.

    Raises:
        InputError: the file cannot be used.
    """
    return frozenset((line["case"], line["environment"]) for line in read() if line["verdict"] == "absent")


def load(connection: duckdb.DuckDBPyConnection) -> int:
    """Make the shipped verdicts of the database those of this embers; own verdicts stay.

    Args:
        connection: in a transaction of the writer.

    Returns:
        How many verdicts were written, `untestable` not counted: 0 where the database has them already.

    Raises:
        InputError: the file is missing or malformed.
    """
    used = matrix()
    query = resources.package_file("cases", "load_verdicts.sql").read_text(encoding="utf-8")
    try:
        places = {line["environment"]: environment_row(line["environment"]) for line in used}
        lines = [line | {"place": places[line["environment"]]["environment"]} for line in used]
        miss = resources.load_toml("verdicts.toml")["runs"]["miss"]
        connection.execute(query, {"miss": miss, "lines": json.dumps(lines)})
    except (KeyError, ValueError, TypeError, duckdb.Error) as error:
        raise InputError(f"analysis/{'/'.join(FILE)}: {error!r}; take this file from the release again") from error
    stored = "(FROM verdicts WHERE provenance = 'shipped')"
    differ = f"FROM (FROM shipped_now EXCEPT {stored}) UNION ALL BY NAME FROM ({stored} EXCEPT FROM shipped_now)"
    if not connection.execute(f"{differ} LIMIT 1").fetchall():
        return 0
    connection.execute("DELETE FROM verdicts WHERE provenance = 'shipped'")
    connection.execute("INSERT INTO verdicts BY NAME FROM shipped_now")
    newest = max((line["day"] for line in used), default="")
    releases = sorted({build for line in used for build in (line["build"], line["control_build"]) if build})
    rows.replace(connection, "builds", ("build",), [_build(release) | {"seen_at": newest} for release in releases])
    rows.replace(
        connection, "environments", ("environment",), [place | {"seen_at": newest} for place in places.values()]
    )
    return sum(line["verdict"] != "untestable" for line in used)


def _build(release: str) -> dict[str, Any]:
    """A release as a build: nobody noted its Python."""
    return {
        "build": release,
        "name": release,
        "version": release,
        "git_commit": commit_of(release),
        "channel": "release",
        "platform": PLATFORM,
    }


def environment_row(text: str) -> dict[str, Any]:
    """Read ``device, processor[, capability], system``, as verdicts/matrix.sql writes it."""
    device, *middle, system = text.split(", ")
    capability = middle.pop() if len(middle) > 1 else None
    columns = {
        "device": device,
        "device_name": None,
        "driver": None,
        "system": system,
        "processor": ", ".join(middle),
        "capability": capability,
        "threads": THREADS,
    }
    return {"environment": environment_key(columns.items()), **columns}
