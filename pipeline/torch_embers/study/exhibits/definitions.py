"""Which tables and figures there are: data/exhibits.toml read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch_embers import resources
from torch_embers.errors import InputError

DEFINITIONS = "exhibits.toml"
KINDS = {"table": "tables", "figure": "figures"}
"""Kinds of exhibits, and the folder of their queries."""
COUNTS = ("samples", "candidates", "cases", "labels", "nobody")
DERIVED = ("plain", "shares", "kappa", "corrected", "differences", "trends", "survival")
DRAWN = ("", "shares", "stacked", "breakdown", "heat", "lines", "sizes", "curves")


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One table or figure."""

    id: str
    kind: str
    counts: str
    paper: str
    title: str
    question: str
    derive: str
    draw: str
    group: str
    event: str
    printed: dict[str, float]
    empty: str
    reason: str

    @property
    def query(self) -> tuple[str, str]:
        """Its query: folder and file below analysis/."""
        return KINDS[self.kind], f"{self.id}.sql"

    @property
    def heading(self) -> str:
        """Title with its place in the paper."""
        return f"{self.paper}: {self.title}" if self.paper else self.title


def _exhibit(entry: dict[str, Any]) -> Exhibit:
    name = entry.get("id", "?")
    needed = ("id", "kind", "title", "question", "derive", "empty", "reason")
    faults = [f"`{key}` is missing" for key in needed if not entry.get(key)]
    faults += [] if entry.get("kind") in KINDS else [f"`kind` is none of {', '.join(KINDS)}"]
    faults += [] if entry.get("counts") in COUNTS else [f"`counts` is none of {', '.join(COUNTS)}"]
    faults += [] if entry.get("derive") in DERIVED else [f"`derive` is none of {', '.join(DERIVED)}"]
    faults += [] if entry.get("draw", "") in DRAWN else [f"`draw` is none of {', '.join(DRAWN[1:])}"]
    faults += (
        [] if (entry.get("kind") == "figure") == bool(entry.get("draw")) else ["figures, and only they, are drawn"]
    )
    faults += [] if entry.get("derive") != "survival" or entry.get("event") else ["`event` is missing"]
    if faults:
        raise InputError(f"data/{DEFINITIONS}: exhibit {name!r}: {'; '.join(faults)}")
    return Exhibit(
        id=str(name),
        kind=str(entry["kind"]),
        counts=str(entry["counts"]),
        paper=str(entry.get("paper", "")),
        title=str(entry["title"]),
        question=str(entry["question"]),
        derive=str(entry["derive"]),
        draw=str(entry.get("draw", "")),
        group=str(entry.get("group", "")),
        event=str(entry.get("event", "")),
        printed={str(k): float(v) for k, v in entry.get("printed", {}).items()},
        empty=str(entry["empty"]),
        reason=str(entry["reason"]),
    )


def load() -> tuple[Exhibit, ...]:
    """Read data/exhibits.toml.

    Raises:
        InputError: the file is malformed, or two entries have one id.
    """
    found = tuple(_exhibit(entry) for entry in resources.load_toml(DEFINITIONS).get("exhibit", []))
    names = [exhibit.id for exhibit in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"data/{DEFINITIONS}: more than one exhibit is called {', '.join(twice)}")
    return found
