"""What extraction gives: the script of a report, or the reason why there is none."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class ReportText:
    """The texts of an item; anything may stand in them."""

    title: str
    body: str
    comments: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ScriptChange:
    """What differs from the text of the report.

    Attributes:
        line: in the script, from 1; 0 for what concerns all of it.
        before: what the report has; empty for an added line.
        after: what the script has; empty for a line left out.
        reason: why, in one sentence.
    """

    line: int
    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True)
class Script:
    """The code of a report.

    Attributes:
        code: a standalone program.
        changes: everything that differs from the report.
        environment: variables that the report sets for the command.
        device: the accelerator that the report is about where the script runs on the CPU instead; else empty.
        found_in: ``body``, or ``comment n`` (from 1).
    """

    code: str
    changes: tuple[ScriptChange, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    device: str = ""
    found_in: str = "body"

    @property
    def hash(self) -> str:
        """Of all that decides what a run does."""
        text = repr((self.code, sorted(self.environment.items())))
        return blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class NoScript:
    """Why there is none.

    Attributes:
        reason: one word of data/extract.toml.
        detail: one sentence; names what is missing.
    """

    reason: str
    detail: str


def from_row(row: Mapping[str, Any]) -> Script | NoScript:
    """What a row of the table ``scripts`` holds."""
    if row["code"] is None:
        return NoScript(row["reason"] or "", row["detail"] or "")
    changes = tuple(ScriptChange(**change) for change in json.loads(row["changes"] or "[]"))
    environment = json.loads(row["environment"] or "{}")
    return Script(row["code"], changes, environment, row["device"] or "", row["found_in"] or "")
