"""The verdicts that come with embers: analysis/results/matrix.csv, written by `embers matrix --csv`, as rows.

The matrix names releases, not builds. A verdict belongs to the text of its case: where that has changed since, the
verdict is not used.
"""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.builds.registry import environment_key
from torch_embers.builds.releases import commit_of
from torch_embers.errors import InputError
from torch_embers.escaping import unguarded
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import duckdb

    from torch_embers.repro.case import Case

MATRIX = ("results", "matrix.csv")
CONFIRMING = ("results", "confirming.csv")
"""A second batch on the newest release, made later in a fresh database: what is claimed to be gone rests on both."""
FORCED = ("results", "forced_capability.csv")
"""Cases and their controls once more, all with one CPU capability, which ATEN_CPU_CAPABILITY forced on both builds."""
PROVENANCE = "shipped"
CONDITIONS = {"profile": "reviewed", "batch": 0, "signature": None, "provenance": PROVENANCE}
"""What the matrix does not say of its verdicts: all cases in it were written by hand."""
PLATFORM, THREADS = "linux-x86_64", 1
"""Where the matrix was made."""


def matrix() -> list[dict[str, str]]:
    """The shipped matrix as text, a verdict per row.

    Raises:
        InputError: it is missing.
    """
    return list(csv.DictReader(io.StringIO(resources.analysis_text(*MATRIX))))


def confirming(release: str) -> dict[str, dict[str, str]]:
    """The rows of the second batch on a release, as text, by hash of the case.

    Raises:
        InputError: the file is missing.
    """
    rows = csv.DictReader(io.StringIO(resources.analysis_text(*CONFIRMING)))
    return {row["case_hash"]: row for row in rows if row["build"] == release}


@cache
def settled() -> frozenset[str]:
    """Names of cases that are absent from a later release with the CPU capability of their control, too.

    Raises:
        InputError: the file is missing.
    """
    rows = csv.DictReader(io.StringIO(resources.analysis_text(*FORCED)))
    return frozenset(row["case"] for row in rows if row["verdict"] == "absent")


def load(connection: duckdb.DuckDBPyConnection, cases: Iterable[Case]) -> int:
    """Make the shipped verdicts of the database those of this embers; own verdicts stay.

    Args:
        connection: in a transaction of the writer.
        cases: the shipped cases.

    Returns:
        How many verdicts were written: 0 where the database has them already.

    Raises:
        InputError: the matrix is missing or malformed.
    """
    hashes = {case.name: case.hash for case in cases}
    try:
        used = [row for row in matrix() if hashes.get(row["case"]) == row["case_hash"]]
        places = {row["environment"]: _environment(row["environment"]) for row in used}
        verdicts = [_verdict(row, places[row["environment"]]["environment"]) for row in used]
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"analysis/{'/'.join(MATRIX)}: {error!r}; `embers matrix --csv` writes it anew") from error
    if _stored(connection, verdicts):
        return 0
    connection.execute("DELETE FROM verdicts WHERE provenance = ?", [PROVENANCE])
    rows.append(connection, "verdicts", verdicts)
    newest = max(row["decided_at"] for row in verdicts) if verdicts else ""
    releases = sorted({build for row in used for build in (row["build"], row["control_build"]) if build})
    rows.replace(connection, "builds", ("build",), [_build(release) | {"seen_at": newest} for release in releases])
    rows.replace(
        connection, "environments", ("environment",), [place | {"seen_at": newest} for place in places.values()]
    )
    return len(verdicts)


def _stored(connection: duckdb.DuckDBPyConnection, verdicts: list[dict[str, Any]]) -> bool:
    """Whether the database holds exactly these shipped verdicts."""
    known = connection.execute("FROM verdicts WHERE provenance = ?", [PROVENANCE])
    names = [column[0] for column in known.description or ()]
    return set(known.fetchall()) == {
        tuple(datetime.fromisoformat(row[name]) if name == "decided_at" else row.get(name) for name in names)
        for row in verdicts
    }


def _verdict(row: Mapping[str, str], environment: str) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("case_hash", "build", "verdict", "control")},
        **{name: int(row[name]) for name in ("k", "n", "control_k", "control_n")},
        **CONDITIONS,
        "environment": environment,
        "flaky": row["flaky"] == "True",
        "detectable_rate": float(row["detectable_rate"]) if row["detectable_rate"] else None,
        "control_build": row["control_build"] or None,
        "detail": unguarded(row["detail"]),
        "decided_at": datetime.fromisoformat(row["decided_at"]).astimezone(UTC).replace(tzinfo=None).isoformat(),
    }


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


def _environment(text: str) -> dict[str, Any]:
    """Read ``device, processor[, capability], system``, as run/matrix.sql writes it."""
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
