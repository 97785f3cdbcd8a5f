"""A timeline in words: one sentence, one line of releases, and its details."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from difflib import unified_diff
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from packaging.version import Version

from torch_embers.timeline.model import GAPS, MIXED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.timeline.model import Segment, Timeline

SUBJECT = "The report's script"
WIDTH = 80
LAST_OF_1 = (1, 13)
"""The minor release before 2.0."""
_DIFF_LINES = 30
_SHOWN_LINES = 5
_KIND = {"as_reported": "reported", "as_expected": "expected"}


def sentence(timeline: Timeline) -> str:
    """What the script of the report does on the releases, in one sentence without a full stop.

    What a script that crashed or did as reported no longer does is called gone only where enough runs say so.
    """
    groups = _groups(timeline.segments)
    subject = f"The report is about {timeline.device}; on the CPU its script" if timeline.device else SUBJECT
    if any(segment.is_judged and segment.match is None for segment in timeline.segments):
        subject = "The script, which a reader says is about something other than the report,"
    if not groups:
        count, why = len(_versions(timeline.segments)), _why_not(timeline.segments)
        where = f"runs on none of {count} releases" if count > 1 else f"does not run on {_span(timeline.segments)}"
        return f"{subject} {where}: {why}"
    if len(groups) == 1:
        return f"{subject} {_alike(groups[0], timeline)}"
    behind = list(takewhile(lambda segment: segment.ending in GAPS, reversed(timeline.segments)))[::-1]
    unable = f"; it cannot run on {_span(behind)} ({_gap(behind[0])})" if behind else ""
    first = groups[0][-1]
    opening = f"{subject}: {first.what}" if first.ending == "signal" else f"{subject} {does(first)}"
    if len(groups) > 3:
        crash = next((group[-1] for group in reversed(groups[1:-1]) if group[-1].crashes), None)
        middle = f"{does(crash)} on {_span([crash])}; ..." if crash else "..."
        times = f"changes its behaviour {len(groups) - 1} times"
        newest = _since(groups[-1], groups[-2])
        return f"{subject} {times}: it {_on(does(first), groups[0])}; {middle}; {newest}{unable}"
    clauses = [_on(opening, groups[0])]
    clauses += [_on(_does_now(group, before), group) for before, group in pairwise(groups[:-1])]
    return "; ".join((*clauses, _since(groups[-1], groups[-2]))) + unable


def _groups(segments: Sequence[Segment]) -> list[list[Segment]]:
    """The segments without gaps; those together that differ in nothing but wording."""
    made: list[list[Segment]] = []
    for segment in segments:
        if segment.ending in GAPS:
            continue
        known = made[-1][-1].match if made else None
        if made and not segment.is_flip and {known, segment.match} != set(_KIND):
            is_lost = segment.match == "other" and known in _KIND  # in other words it is still what it was
            made[-1].append(replace(segment, match=known) if is_lost else segment)
        else:
            made.append([segment])
    return made


def _alike(group: Sequence[Segment], timeline: Timeline) -> str:
    """The sentence where nothing changes, without its subject."""
    last = group[-1]
    count = sum(len(segment.versions) for segment in group)
    gaps = [segment for segment in timeline.segments if segment.ending in GAPS]
    versions = _versions(timeline.segments)
    ran = "" if all(_neighbours(*pair) for pair in pairwise(versions)) else " that were run"
    where = f"on all {count} releases{ran}" if count > 1 else f"on {last.versions[0]}"
    if gaps:
        where += " that can run it" if count > 1 else ", the only release that can run it"
        where += f" ({_span(gaps[:1])}: {_gap(gaps[0])})"
    not_found = f"; {last.evidence or 'it could not be matched with the report'}" if last.match == "other" else ""
    return f"{_closed(does(last))} {where}{not_found}"


def _since(group: Sequence[Segment], before: Sequence[Segment]) -> str:
    """The clause of the newest releases."""
    last, bad = group[-1], before[-1]
    first = group[0].versions[0]
    now = f"since {first}{' at the latest' * (not _neighbours(bad.versions[-1], first))} it {_does_now(group, before)}"
    gone = "crash" if bad.crashes else "hang" if bad.ending == "timeout" else "do as reported"
    if not bad.takes_runs_to_be_gone(last):
        return now
    if last.ending == MIXED:
        return f"on {_span(group)} it {_does_now(group, before)}"
    if not last.confirmed:
        what = {"crash": "the crash", "hang": "the hang"}.get(gone, "what was reported")
        return f"{now} ({what} was not seen again in {last.runs} run{'s' * (last.runs != 1)})"
    return f"{now} (0 of {last.runs} runs {gone})"


def _does_now(group: Sequence[Segment], before: Sequence[Segment]) -> str:
    """What the script does on some releases, told apart from what it did before."""
    last, now = group[-1], does(group[-1])
    both_end_well = last.ending == before[-1].ending == "ok" and last.match not in _KIND
    if now != does(before[-1]) and not both_end_well:
        return now
    if last.ending == "exception" and group[0].flip == "class":
        return f"{now} with another message"
    return "prints something else" if both_end_well else f"{now} with other output"


def does(segment: Segment) -> str:
    """What the script does on a segment, as a verb."""
    kind = _KIND.get(segment.match or "")
    as_said = f", as {kind}" if kind else ""
    match segment.ending:
        case "ok" if kind:
            return f"does as {kind}" if segment.is_judged else f"prints the {kind} value"
        case "ok":
            return "ends without an error"
        case "exception":
            return f"raises the {kind} {segment.what}" if kind else f"raises {segment.what}"
        case "signal":
            return f"dies by the {kind} {segment.what}" if kind else f"dies by {segment.what}"
        case "exit":
            return f"exits with the {kind} code {segment.what}" if kind else f"exits with code {segment.what}"
        case "timeout":
            return f"does not end in time{as_said}"
        case "out_of_memory":
            return f"needs too much memory{as_said}"
        case _:
            return f"does not always do the same ({segment.what}){as_said}"


def _gap(segment: Segment) -> str:
    return f"lacks {segment.what}" if segment.ending == "lacks_api" else f"cannot run: {segment.what}"


def _why_not(segments: Sequence[Segment]) -> str:
    """Why releases cannot run the script; where the reasons differ, that of the oldest ones."""
    first = segments[0]
    if first.ending != "lacks_api":
        why = f"it {first.what}" if first.what.startswith("needs ") else first.what
        return why if len(segments) == 1 else f"{why} on {_span([first])}"
    them = ("it" if len(first.versions) == 1 else "they") if len(segments) == 1 else _span([first])
    return f"{them} {'lacks' if len(first.versions) == 1 else 'lack'} {first.what}"


def _on(clause: str, group: Sequence[Segment]) -> str:
    return f"{_closed(clause)} on {_span(group)}"


def _closed(clause: str) -> str:
    """A clause that goes on: what stands between commas is closed."""
    return f"{clause}{',' * (', as ' in clause)}"


def _versions(segments: Sequence[Segment]) -> list[str]:
    return [version for segment in segments for version in segment.versions]


def _span(segments: Sequence[Segment]) -> str:
    """The releases of segments; how many, where releases between the first and the last did not run."""
    versions = _versions(segments)
    first, last = versions[0], versions[-1]
    if len(versions) == 1:
        return first
    if all(_neighbours(*pair) for pair in pairwise(versions)):
        return f"{first} to {last}"
    return f"{first} and {last}" if len(versions) == 2 else f"{len(versions)} releases from {first} to {last}"


def _neighbours(one: str, other: str) -> bool:
    """Whether no minor release lies between two."""
    (major, minor), after = Version(one).release[:2], Version(other).release[:2]
    return after <= (major, minor + 1) or ((major, minor), after) == (LAST_OF_1, (2, 0))


def strip(timeline: Timeline) -> str:
    """A line with a letter for each release and a bar at each flip; below it, in at most 80 columns, what they mean.

    ``R`` is as reported, ``E`` as expected, ``-`` a gap; other behaviours are ``a``, ``b``, ...
    """
    letters, others = "", iter("abcdfghijklmnopqrstuvwxyz")
    legend: dict[str, str] = {}
    last = ""
    for segment in timeline.segments:
        name = _gap(segment) if segment.ending in GAPS else _named(segment)
        if segment.ending in GAPS:
            letter = "-"
        elif segment.match in _KIND:
            letter = segment.match[3].upper()
        else:
            letter = last if last and not segment.is_flip else next(others, "z")
        if segment.ending not in GAPS:
            letters += "|" * segment.is_flip
            last = letter
        letters += letter * len(segment.versions)
        if letter not in legend:
            legend[letter] = f"{name}, other output" if name in legend.values() else name
    versions = _versions(timeline.segments)
    meaning = ", ".join(f"{letter} {name}" for letter, name in legend.items())
    legend_lines = textwrap.wrap(meaning, WIDTH, initial_indent="  ", subsequent_indent="  ", max_lines=4)
    return "\n".join((f"{versions[0]} {letters} {versions[-1]}", *legend_lines))


def _named(segment: Segment) -> str:
    """How a behaviour is called in few words."""
    if segment.ending == "ok":
        kind = _KIND.get(segment.match or "")
        return (f"as {kind}" if segment.is_judged else f"{kind} value") if kind else "no error"
    return f"exit {segment.what}" if segment.ending == "exit" else segment.what or segment.ending.replace("_", " ")


def details(timeline: Timeline) -> list[str]:
    """A line for each segment, with the evidence of its match or what it shows, and what changes at each flip."""
    lines: list[str] = []
    before: Segment | None = None
    for segment in timeline.segments:
        if segment.ending in GAPS:
            lines.append(f"{_span([segment])}: {_gap(segment)}")
            continue
        if before is not None and segment.flip:
            is_at = (
                "" if segment.at_fix is None else f",{' not' * (not segment.at_fix)} at the release of the known fix"
            )
            lines.append(f"  {segment.flip} changes{is_at}")
            lines += [f"  {line}" for line in _difference(before.shown, segment.shown)]
        evidence = f" ({segment.evidence})" if segment.evidence else ""
        lines.append(f"{_span([segment])}: {does(segment)}{evidence}")
        if segment.match not in _KIND and not segment.flip:
            shown = segment.shown.split("\n") if segment.shown else []
            lines += [f"  {line}" for line in shown[-_SHOWN_LINES:]]
        before = segment
    return lines


def _difference(before: str, after: str) -> Iterator[str]:
    if not before and not after:
        return
    changed = list(unified_diff(before.split("\n"), after.split("\n"), n=1, lineterm=""))[2:]
    yield from changed[:_DIFF_LINES]
    if len(changed) > _DIFF_LINES:
        yield f"... and {len(changed) - _DIFF_LINES} more lines"
