"""docs/extraction.md, docs/commands/link-repros.md: rules of extraction; what they gave, from bench/extraction.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.run import verdict

from .markdown import cell, code, table
from .places import measured

if TYPE_CHECKING:
    from collections.abc import Mapping


def reasons() -> str:
    """Why no script can be made of an item."""
    found = resources.load_toml("extraction.toml")["reason"]
    return table(
        ("reason", "what it says", "why"), [(code(e["id"]), cell(e["text"]), cell(e["reason"])) for e in found]
    )


def edits() -> str:
    """Everything that is done to a reported script."""
    found = resources.load_toml("extraction.toml")["action"]
    return table(("edit", "why"), [(code(e["id"]), cell(e["reason"])) for e in found])


def _extraction() -> dict[str, Any]:
    found: dict[str, Any] = measured("extraction.json")
    return found


def _share(part: int, whole: int) -> str:
    """``77 of 99 (78 %)``."""
    return f"{part:,} of {whole:,} ({100 * part / whole:.0f} %)" if whole else "none"


def shares() -> str:
    """What share of the texts gives a script, and what share of the scripts shows what was reported."""
    sets = _extraction()["sets"]
    lines: tuple[tuple[str, str, str], ...] = (
        ("items with a runnable script", "runnable", "items"),
        ("of the items with code", "runnable_with_code", "with_code"),
        ("scripts that need no accelerator, and were run", "ran", "runnable"),
        ("run, and the report states what to see", "tells", "ran"),
        ("of these, some run could be compared with it", "comparable", "tells"),
        ("the reported failure shows on some build, of all that were run", "shown", "ran"),
        ("the same, of those that could be compared", "comparable_shown", "comparable"),
    )
    rows = [(what, *(_share(own[part], own[whole]) for own in sets.values())) for what, part, whole in lines]
    return table(("", *(code(name) for name in sets)), rows)


def reasons_counted() -> str:
    """How often each reason is given."""
    sets = _extraction()["sets"]
    meaning = {e["id"]: e["text"] for e in resources.load_toml("extraction.toml")["reason"]}
    names = sorted(
        {n for own in sets.values() for n in own["reasons"]}, key=lambda n: (-_summed(sets, "reasons", n), n)
    )
    rows = [(code(n), cell(meaning[n]), *(_with_code(own, n) for own in sets.values())) for n in names]
    return table(("reason", "what it says", *(f"{code(name)}:" for name in sets)), rows)


def _summed(sets: Mapping[str, Any], group: str, name: str) -> int:
    return sum(own[group].get(name, 0) for own in sets.values())


def _with_code(own: Mapping[str, Any], name: str) -> str:
    return f"{own['reasons'].get(name, 0)} ({own['reasons_with_code'].get(name, 0)})"


def edits_counted() -> str:
    """How many scripts each edit action touched."""
    sets = _extraction()["sets"]
    rows = [
        (code(e["id"]), cell(e["reason"]), *(str(own["edits"].get(e["id"], 0)) for own in sets.values()))
        for e in resources.load_toml("extraction.toml")["action"]
    ]
    return table(("edit", "why", *(f"{code(name)}:" for name in sets)), rows)


def outcomes() -> str:
    """Outcomes by data set and build."""
    sets = _extraction()["sets"]
    names = [*verdict.OUTCOMES, "flaky"]
    seen = [n for n in names if any(found.get(n) for own in sets.values() for found in own["outcomes"].values())]
    rows = [
        (code(name), cell(build), *(str(found.get(n, 0)) for n in seen))
        for name, own in sets.items()
        for build, found in own["outcomes"].items()
    ]
    return table(("data set", "build", *(f"{n}:" for n in seen)), rows)


def silent() -> str:
    """Best outcome of the scripts that did not show what was reported."""
    sets = _extraction()["sets"]
    names = sorted({n for own in sets.values() for n in own["silent"]}, key=lambda n: (-_summed(sets, "silent", n), n))
    rows = [(n.replace("_", " "), *(str(own["silent"].get(n, 0)) for own in sets.values())) for n in names]
    return table(("best outcome on any build", *(f"{code(name)}:" for name in sets)), rows)
