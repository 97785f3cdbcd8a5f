"""Rows of scripts and timelines as their stages write them, for tests of what acts on them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torch_embers.extract.script import Script
from torch_embers.store import rows
from torch_embers.store.store import Store
from torch_embers.timeline.model import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REPO = "pytorch/pytorch"
NOON = "2026-11-01T12:00:00"
CODE = "import torch\nprint(torch.ones(2).sum())\n"


def crashed(*versions: str, match: str | None = "as_reported", **more: Any) -> Segment:
    """A segment on which the script is ended by a signal."""
    return Segment(versions, "signal", "SIGSEGV", match=match, runs=3, **more)  # type: ignore[arg-type]


def ended(*versions: str, match: str | None = "as_expected", confirmed: bool = True, **more: Any) -> Segment:
    """A segment on which it prints and ends."""
    return Segment(versions, "ok", "", "4.0", 11, confirmed, match, flip="ending", **more)  # type: ignore[arg-type]


def put(
    database: Path,
    number: int,
    segments: Sequence[Segment] = (),
    *,
    state: str = "open",
    disposition: str = "",
    code: str = CODE,
    device: str = "",
    provenance: str = "own",
) -> str:
    """An issue with its script and timeline; the hash of the script is returned."""
    script = Script(code, device=device)
    key = {"repo": REPO, "number": number}
    item = key | {"kind": "issue", "title": f"Report {number}", "state": state, "labels": []}
    row = key | {
        "script": script.hash, "code": code, "environment": "{}", "device": device or None, "found_in": "body",
        "changes": json.dumps([]), "content_hash": "c", "rules": "r", "made_at": NOON,
    }  # fmt: skip
    made = segment_rows(number, script.hash, segments, provenance)
    store = Store(database)
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        rows.append(connection, "items", [item])
        rows.append(connection, "scripts", [row])
        rows.append(connection, "timelines", made)
        if disposition:
            read = {"disposition": disposition, "evidence": "e", "annotator_kind": "human", "annotator": "a"}
            rows.append(connection, "dispositions", [key | read | {"confidence": 1.0, "source": "test"}])
    return script.hash


def segment_rows(
    number: int, script: str, segments: Sequence[Segment], provenance: str = "own"
) -> list[dict[str, Any]]:
    """Rows of the table ``timelines``."""
    own = {"repo": REPO, "number": number, "script": script, "environment": "e", "provenance": provenance}
    return [
        own | {"decided_at": NOON, "place": place} | asdict(segment) | {"versions": list(segment.versions)}
        for place, segment in enumerate(segments)
    ]


def observe(database: Path, script: str, version: str, *, batch: int = 1) -> None:
    """A run of a script that a signal ended."""
    row = {
        "script": script, "build": f"{version}@c", "version": version, "environment": "e", "seed": 0, "batch": batch,
        "attempt": 0, "ending": "signal", "what": "SIGSEGV", "message": "", "frame": "", "printed": "", "threads": 2,
        "zygote": "", "duration": 1.0, "guarantees": [], "ran_at": NOON,
    }  # fmt: skip
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        rows.append(connection, "observations", [row])
