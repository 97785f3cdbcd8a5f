"""What comes with embers, in the shape of the database's tables: cases, and the verdicts of the shipped matrix.

A database that was only mined has neither; the dataset then holds these, and says so.
"""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers.dataset.encode import unguarded
from torch_embers.errors import InputError
from torch_embers.repro.bank import case_row
from torch_embers.repro.case import shipped
from torch_embers.study import sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch_embers.repro.case import Case

MATRIX = ("results", "matrix.csv")
LISTS = ("requires", "known_bad", "signature")


@cache
def _known() -> tuple[Case, ...]:
    """The cases that come with embers; parsing two hundred of them takes a quarter of a second."""
    return tuple(shipped())


def cases() -> dict[str, pa.Table]:
    """Tables ``cases`` and ``case_items`` of the cases in data/cases.

    Raises:
        CaseError: one of them cannot be used.
    """
    known = _known()
    links = [
        {"case_hash": c.hash, "repo": repo, "number": number, "relation": c.relations.get((repo, number))}
        for c in known
        for repo, number in c.issues
    ]
    return {"cases": pa.Table.from_pylist([case_row(c) for c in known], _case_schema()), "case_items": _table(links)}


def matrix() -> dict[str, pa.Table]:
    """Tables ``verdicts``, ``builds`` and ``environments`` of the shipped matrix.

    The matrix names releases, not builds, and no profile, signature or threads: these stay empty. Verdicts of cases
    that no longer come with embers are left out.

    Raises:
        InputError: the matrix is missing or malformed.
    """
    hashes = {c.name: c.hash for c in _known()}
    verdicts, builds, environments = [], {}, {}
    try:
        for row in csv.DictReader(io.StringIO(sql.read(*MATRIX))):
            if row["case"] in hashes:
                verdicts.append(_verdict_row(row, hashes[row["case"]]))
                environments[row["environment"]] = _environment_row(row["environment"])
                for build in filter(None, (row["build"], row["control_build"])):
                    builds[build] = _build_row(build)
    except (KeyError, ValueError) as error:
        raise InputError(f"analysis/{'/'.join(MATRIX)}: {error!r}; `embers matrix --csv` writes it anew") from error
    return {
        "verdicts": pa.Table.from_pylist(verdicts, _verdict_schema()),
        "builds": pa.Table.from_pylist(list(builds.values()), _texts("build", *BUILD_TEXTS)),
        "environments": pa.Table.from_pylist(
            list(environments.values()), _texts("environment", *PLACE_TEXTS).append(pa.field("threads", pa.int32()))
        ),
    }


BUILD_TEXTS = ("version", "git_commit", "channel", "platform", "python")
PLACE_TEXTS = ("device", "device_name", "driver", "system", "processor", "capability")


def _table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows))


def _texts(*names: str) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in names])


def _case_schema() -> pa.Schema:
    texts = ("case_hash", "name", "origin", "code", "summary", "bug_type", "memory_type", "memory_subtype")
    fields = [*_texts(*texts, "consequence", "fixed_in", "oracle")]
    fields += [pa.field(name, pa.list_(pa.string())) for name in LISTS]
    return pa.schema([*fields, ("current", pa.bool_()), ("timeout", pa.float64())])


def _verdict_row(row: Mapping[str, str], case_hash: str) -> dict[str, Any]:
    return {
        "case_hash": case_hash,
        "build": row["build"],
        "environment": row["environment"],
        "profile": None,
        "batch": 0,
        "verdict": row["verdict"],
        "flaky": row["flaky"] == "True",
        **{name: int(row[name]) for name in ("k", "n", "control_k", "control_n")},
        "detectable_rate": float(row["detectable_rate"]) if row["detectable_rate"] else None,
        "control": row["control"],
        "control_build": row["control_build"] or None,
        "signature": None,
        "detail": unguarded(row["detail"]),
        "decided_at": datetime.fromisoformat(row["decided_at"]).astimezone(UTC).replace(tzinfo=None),
    }


def _verdict_schema() -> pa.Schema:
    texts = (
        "case_hash",
        "build",
        "environment",
        "profile",
        "verdict",
        "control",
        "control_build",
        "signature",
        "detail",
    )
    counts = [(name, pa.int32()) for name in ("batch", "k", "n", "control_k", "control_n")]
    rest = [("flaky", pa.bool_()), ("detectable_rate", pa.float64()), ("decided_at", pa.timestamp("us"))]
    return pa.schema([*_texts(*texts), *counts, *rest])


def _build_row(release: str) -> dict[str, Any]:
    return {"build": release, "version": release, "channel": "release"}


def _environment_row(text: str) -> dict[str, Any]:
    """Read ``device, processor[, capability], system``, as run/matrix.sql writes it."""
    device, *middle, system = text.split(", ")
    capability = middle.pop() if len(middle) > 1 else None
    return {
        "environment": text,
        "device": device,
        "processor": ", ".join(middle),
        "capability": capability,
        "system": system,
    }
