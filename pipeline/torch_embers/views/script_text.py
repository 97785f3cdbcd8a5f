"""The script of a report and what it does, as commands and pages show it. Pure."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from torch_embers.escaping import visible
from torch_embers.extract.script import NoScript, Script
from torch_embers.timeline.sentence import sentence
from torch_embers.verdicts.script_excerpt import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.timeline.model import Segment, Timeline

SHOWN_CHANGES = 24
"""Lines of what differs from the report that are shown."""
LONGEST_ENDING = 24
UNCONFIRMED = "?"
MATCHES = {"as_reported": "as reported", "as_expected": "as expected", "other": "no match", None: ""}
"""What a segment shows, beside the report."""


def answer(number: int, script: Script | NoScript | None, timeline: Timeline | None) -> str:
    """The sentence about the script of a report; empty where nobody looked for one."""
    if timeline:
        return sentence(timeline)
    if isinstance(script, NoScript):
        return f"No script: {script.detail}"
    about = f"The report is about {script.device}. " if script and script.device else ""
    return f"{about}The report's script has not run yet: `embers run {number}`" if script else ""


def command(script: Script) -> str:
    """How the report runs it, in one line: the variables that it sets, and the command."""
    variables = [f"{name}={value}" for name, value in sorted(script.environment.items())]
    return " ".join(" ".join([*variables, "python script.py"]).split())


def changes(script: Script) -> list[str]:
    """What differs from the report: for each reason the lines of the report (``-``) and of the script (``+``)."""
    lines = []
    for reason, same in groupby(script.changes, key=lambda change: change.reason):
        lines.append(f"{reason.rstrip('.')}:")
        for change in same:
            lines += [f"- {line}" for line in change.before.splitlines()]
            lines += [f"+ {line}" for line in change.after.splitlines()]
    return _bounded(lines, SHOWN_CHANGES)


def ending(segment: Segment) -> str:
    """How a segment ends, in a word or two; of one that ends well, whether it prints what the report quotes."""
    if segment.ending == "lacks_api":
        return f"lacks {segment.what}"
    if segment.ending == "exit":
        return f"exit {segment.what}"
    if segment.ending == "ok" and segment.match in ("as_reported", "as_expected"):
        return MATCHES[segment.match] if segment.is_judged else f"{segment.match.removeprefix('as_')} value"
    return segment.what or segment.ending.replace("_", " ")


def last_change(segments: Sequence[Segment], *, crash_gone: bool = False) -> tuple[str, str]:
    """From what to what a script changed last, and on which release; without a change what it does, and since when.

    Behind the release ``UNCONFIRMED`` says that something was not seen again, but in too few runs to call it gone.

    Args:
        segments: of a timeline, without gaps, at least one.
        crash_gone: take the end of its last crash.
    """
    borders = [(before, after) for before, after in pairwise(segments) if after.flip != "wording"]
    if crash_gone:
        borders = [pair for pair in borders if pair[0].crashes and not pair[1].crashes]
    if not borders:
        return _short(segments[-1]), segments[0].versions[0]
    before, after = borders[-1]
    was, now = _short(before), _short(after)
    if was == now:
        now = "another message" if after.flip == "class" else "other output"
    is_open = before.takes_runs_to_be_gone(after) and not after.confirmed
    return f"{was} -> {now}", after.versions[0] + UNCONFIRMED * is_open


def _short(segment: Segment) -> str:
    """The ending; of a mixed one the first way."""
    return ending(segment).partition(";")[0][:LONGEST_ENDING]


def _bounded(lines: Sequence[str], most: int) -> list[str]:
    shown = [visible(line)[:LONGEST_LINE].rstrip() for line in lines[:most]]
    more = len(lines) - len(shown)
    return [*shown, f"... {more} more line{'s' * (more != 1)}"] if more else shown
