"""Findings in SARIF 2.1.0, which code hosts and editors show at their lines.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Level = Literal["error", "warning", "note"]


def document(
    tool: str,
    results: Sequence[Mapping[str, Any]],
    rules: Mapping[str, str] | None = None,
    properties: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole file.

    Args:
        tool: the command that found them.
        results: made by ``result``.
        rules: what a rule is about, by its id; rules without an entry are named alone.
        properties: what else a reader of the run must know, as a property bag.
    """
    told = rules or {}
    ids = sorted({result["ruleId"] for result in results})
    driver = {
        "name": tool,
        "version": __version__,
        "rules": [{"id": rule} | ({"shortDescription": {"text": told[rule]}} if rule in told else {}) for rule in ids],
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "results": list(results)}
            | ({"properties": dict(properties)} if properties else {})
        ],
    }


def result(rule: str, level: Level, text: str, place: tuple[Path, int] | None) -> dict[str, Any]:
    """One finding; ``place`` is a file and a line from 1."""
    made: dict[str, Any] = {"ruleId": rule, "level": level, "message": {"text": text}}
    if place:
        path, line = place
        where = {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": line}}
        made["locations"] = [{"physicalLocation": where}]
    return made


def _uri(path: Path) -> str:
    """A file as a reference that readers resolve from the working folder; one outside of it whole."""
    here = Path.cwd()
    if path.is_relative_to(here):
        path = path.relative_to(here)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
