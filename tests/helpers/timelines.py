"""Rows of the tables scripts and timelines as tests write them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mini_study import insert
from torch_embers.timeline.model import Segment, Timeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

DAY = "2026-11-20"
SCRIPT: Mapping[str, Any] = {
    "script": "a1b2", "code": "import torch\nx = torch.ones(3).to(device)\nprint(x.sum())\n", "environment": "{}",
    "found_in": "body", "changes": json.dumps([
        {"line": 1, "before": "", "after": "import torch", "reason": "a usual import is added"},
        {"line": 2, "before": "x = torch.ones(3).cuda()", "after": "x = torch.ones(3).to(device)", "reason": "the device is a variable"},
    ]),
}  # fmt: skip


GAP = {"versions": "2.15.1", "ending": "lacks_api", "what": "torch.compile", "match": None}
FOLDS = (
    "<details><summary>On which releases</summary>", "</details>",
    "<details><summary>The script, and what differs from the report</summary>", "</details>",
)  # fmt: skip
"""The only HTML in a text to paste, in order."""


def add_script(connection: duckdb.DuckDBPyConnection, repo: str, number: int, **row: Any) -> None:
    """Give an item a script (of ``SCRIPT``), or with ``reason`` and ``detail`` none."""
    values = {"repo": repo, "number": number, "content_hash": "c", "rules": "r", "made_at": DAY}
    insert(connection, "scripts", "", [()], **values | ({} if "reason" in row else SCRIPT) | row)


def add_timeline(
    connection: duckdb.DuckDBPyConnection, repo: str, number: int, segments: Sequence[Mapping[str, Any]], **more: Any
) -> None:
    """Write a timeline; a segment has versions (separated by blanks) and ending, and what differs from the rest."""
    same = {"script": "a1b2", "environment": "e", "provenance": "own", "decided_at": DAY, **more}
    rest = {"what": "", "shown": "", "runs": 2, "confirmed": False, "match": "other", "evidence": "", "flip": None}
    for place, segment in enumerate(segments):
        row = {"repo": repo, "number": number, "place": place, "at_fix": None, **rest, **same, **segment}
        insert(connection, "timelines", "", [()], **row | {"versions": segment["versions"].split()})


CRASH = [
    {"versions": "1.13.1 2.0.1 2.6.0", "ending": "signal", "what": "SIGSEGV", "match": "as_reported",
     "evidence": "SIGSEGV: \"Segmentation fault\" in the body"},
    {"versions": "2.7.1 2.15.0", "ending": "exception", "what": "ValueError", "shown": "expected 2 dimensions",
     "runs": 11, "confirmed": True, "flip": "ending", "at_fix": True},
]  # fmt: skip
VALUE = [
    {"versions": "1.13.1 2.9.1", "ending": "ok", "what": "", "shown": "432.0", "match": "as_reported"},
    {"versions": "2.15.0", "ending": "ok", "what": "", "shown": "390.0", "match": "as_expected", "flip": "value"},
]  # fmt: skip


def timeline_of_rows(repo: str, number: int, segments: Sequence[Mapping[str, Any]], **more: Any) -> Timeline:
    """The same timeline as an object, without a database."""
    made = [Segment(**segment | {"versions": tuple(segment["versions"].split())}) for segment in segments]
    return Timeline(repo, number, "a1b2", "cpu, X, AVX2, Linux", made, **more)
