"""The part of bench/RESULTS.md about random fault schedules, without kills and with them (bench/schedules.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PLAIN, KILLS = (Path(__file__).with_name(name) for name in ("schedules.json", "schedule_kills.json"))
ENDS = {
    "equal": "equal to one without faults",
    "told": "in an error or with items that wait, and equal after the next mine",
    "limited": "with the note that GitHub refuses a list beyond a page",
}


def part() -> str:
    """What was measured last; kills are left out where they never ran."""
    plain = json.loads(PLAIN.read_text(encoding="utf-8"))
    lines = ["## Fault schedules", "", *_plain(plain)]
    if KILLS.exists():
        lines += ["", *_kills(json.loads(KILLS.read_text(encoding="utf-8")))]
    return "\n".join(lines) + "\n"


def _run(made: dict[str, Any], call: str) -> str:
    first, count = made["first_seed"], made["schedules"]
    begin, end = made["load"]
    return (
        f"`python bench/schedules.py {call}{count} {first}` on {made['date']} (load {begin:.0f} to {end:.0f}, {made['seconds'] / 60:.0f} minutes): "
        f"{count} schedules, {made['mines']} mines, {sum(made['met'].values())} answers changed by faults."
    )


def _plain(made: dict[str, Any]) -> list[str]:
    lost = len(made["silent"]) + len(made["unequal"])
    *tables, last = made["tables"]
    met = ", ".join(f"`{place.strip()}` {count}" for place, count in made["met"].items())
    return [
        _run(made, ""),
        f"tests/schedules.py says what a schedule is. Compared are {len(made['tables'])} tables: {', '.join(tables)} and {last}.",
        f"Where the faults were met (`any`: whole answers): {met}.",
        "",
        "| a mine under faults ended | mines |",
        "|---|---:|",
        *(f"| {said} | {made[end]} |" for end, said in ENDS.items()),
        f"| well and not equal: a silent loss | {lost} |",
    ]


def _kills(made: dict[str, Any]) -> list[str]:
    lost = len(made["silent"]) + len(made["unequal"])
    return [
        "The same with kills, signal 9 at a random moment of the first three seconds of a mine, one to three times in a row, and a mine without faults behind:",
        f"{_run(made, '--kills ')} {made['kills']} kills; {made['equal']} mines that followed ended equal to one that met neither faults nor kills, {lost} well and not equal.",
    ]
