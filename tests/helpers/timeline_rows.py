"""Rows of scripts and timelines as their stages write them, for tests of what reads them and acts on them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from torch_embers.extract.script import NoScript, Script, ScriptChange
from torch_embers.store import rows
from torch_embers.store.store import Store
from torch_embers.timeline.model import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

REPO = "pytorch/pytorch"
NOON = "2026-11-01T12:00:00"
SCRIPT = Script(
    "import torch\nx = torch.ones(3).to(device)\nprint(x.sum())\n",
    (
        ScriptChange(1, "", "import torch", "a usual import is added"),
        ScriptChange(2, "x = torch.ones(3).cuda()", "x = torch.ones(3).to(device)", "the device is a variable"),
    ),
)


def crashed(*versions: str, match: str | None = "as_reported", **more: Any) -> Segment:
    """A segment on which the script is ended by a signal."""
    return Segment(versions, "signal", "SIGSEGV", match=match, runs=3, **more)  # type: ignore[arg-type]


def ended(*versions: str, match: str | None = "as_expected", confirmed: bool = True, **more: Any) -> Segment:
    """A segment on which it prints and ends."""
    return Segment(versions, "ok", "", "4.0", 11, confirmed, match, **{"flip": "ending", **more})  # type: ignore[arg-type]


def raised(*versions: str, confirmed: bool = True, **more: Any) -> Segment:
    """A segment on which it raises an error that the report does not mention."""
    segment = Segment(versions, "exception", "ValueError", "expected 2 dimensions", 11, confirmed, "other", **more)
    return segment if segment.flip else replace(segment, flip="ending")


GAP = Segment(("2.15.1",), "lacks_api", "torch.compile")
CRASH = (crashed("1.13.1", "2.0.1", "2.6.0", evidence="its signal: body"), raised("2.7.1", "2.15.0", at_fix=True))
VALUE = (ended("1.13.1", "2.9.1", match="as_reported"), ended("2.15.0", flip="value", confirmed=False))


def add_script(connection: duckdb.DuckDBPyConnection, repo: str, number: int, script: Script | NoScript) -> None:
    """Give an item a script, or the reason why it has none."""
    row: dict[str, Any] = {"repo": repo, "number": number, "content_hash": "c", "rules": "r", "made_at": NOON}
    if isinstance(script, NoScript):
        row |= {"reason": script.reason, "detail": script.detail}
    else:
        row |= {"script": script.hash, "code": script.code, "device": script.device or None}
        row |= {"environment": json.dumps(dict(script.environment)), "found_in": script.found_in}
        row |= {"changes": json.dumps([asdict(change) for change in script.changes])}
    rows.append(connection, "scripts", [row])


def add_timeline(
    connection: duckdb.DuckDBPyConnection,
    repo: str,
    number: int,
    segments: Sequence[Segment],
    script: Script = SCRIPT,
    provenance: str = "own",
    environment: str = "e",
) -> None:
    """Write the segments of an item."""
    same = {"repo": repo, "number": number, "script": script.hash, "device": script.device or None}
    same |= {"environment": environment, "provenance": provenance, "decided_at": NOON}
    made = [asdict(one) | {"versions": list(one.versions), "place": place} for place, one in enumerate(segments)]
    rows.append(connection, "timelines", [one | same for one in made])


def put(
    database: Path,
    number: int,
    segments: Sequence[Segment] = (),
    *,
    state: str = "open",
    disposition: str = "",
    code: str = SCRIPT.code,
    device: str = "",
    provenance: str = "own",
) -> str:
    """An issue with its script and timeline; the hash of the script is returned."""
    script = Script(code, device=device)
    key = {"repo": REPO, "number": number}
    item = key | {"kind": "issue", "title": f"Report {number}", "state": state, "labels": []}
    with Store(database).writer("test", create=True) as writer, writer.transaction() as connection:
        rows.append(connection, "items", [item])
        add_script(connection, REPO, number, script)
        add_timeline(connection, REPO, number, segments, script, provenance)
        if disposition:
            read = {"disposition": disposition, "evidence": "e", "annotator_kind": "human", "annotator": "a"}
            rows.append(connection, "dispositions", [key | read | {"confidence": 1.0, "source": "test"}])
    return script.hash


def observe(database: Path, script: str, version: str, *, batch: int = 1) -> None:
    """A run of a script that a signal ended."""
    row = {
        "script": script, "build": f"{version}@c", "version": version, "environment": "e", "seed": 0, "batch": batch,
        "attempt": 0, "ending": "signal", "what": "SIGSEGV", "message": "", "frame": "", "printed": "", "threads": 2,
        "zygote": "", "duration": 1.0, "guarantees": [], "ran_at": NOON,
    }  # fmt: skip
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        rows.append(connection, "observations", [row])
