"""Neighbouring builds on which a script behaves equally, joined into the segments of its timeline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.version import Version

from torch_embers.timeline.behaviour import behaviour, kind_of_flip
from torch_embers.timeline.model import GAPS, MIXED, Segment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.timeline.behaviour import Behaviour
    from torch_embers.timeline.model import Observation

LONGEST = 2000
"""Characters of a printed text or a message that a segment keeps."""
_INSTALLED = re.compile(r"(?:/[\w.+@-]{1,100}){1,20}/(?=(?:site|dist)-packages/)")
"""Where this machine keeps a build."""


def segments(by_version: Mapping[str, Sequence[Observation]]) -> list[Segment]:
    """The segments of a timeline, without their match with the report.

    A gap stands between two segments and separates neither: what is behind it is compared with what is before it.

    Args:
        by_version: the runs on each release, all in one environment.
    """
    made: list[Segment] = []
    last: Behaviour | None = None
    for version in sorted(by_version, key=Version):
        runs = [run for run in by_version[version] if run.ending not in GAPS]
        if not runs:
            first = by_version[version][0]
            is_same = bool(made) and (made[-1].ending, made[-1].what) == (first.ending, first.what)
            versions = (*made.pop().versions, version) if is_same else (version,)
            made.append(Segment(versions, first.ending, first.what, shown(first), len(by_version[version])))
            continue
        now = behaviour(runs)
        flip = kind_of_flip(last, now) if last else None
        before = made[-1] if made and made[-1].ending not in GAPS and last and flip is None else None
        ending, what = _ending(now)
        versions = (*before.versions, version) if before else (version,)
        segment = Segment(versions, ending, what, shown(runs[0]), len(runs), flip=before.flip if before else flip)
        made[len(made) - bool(before) :] = [segment]
        last = now
    return made


def _ending(now: Behaviour) -> tuple[str, str]:
    """How a segment ends and what that is; of a mixed one: k of n of each way."""
    first = now.ways[0]
    if not now.is_mixed:
        return first.ending, first.what
    runs = sum(way.runs for way in now.ways)
    parts = [
        f"{way.what or way.ending} {way.runs} of {runs}" + ", with values that vary from run to run" * way.varies
        for way in now.ways
    ]
    return MIXED, "; ".join(parts)


def shown(run: Observation) -> str:
    """What a run printed and raised, bounded."""
    raised = f"{run.what}: {run.message}" if run.message else run.what if run.ending == "exception" else ""
    text = "\n".join(filter(None, (run.printed[-LONGEST:].rstrip("\n"), raised[:LONGEST])))
    return _INSTALLED.sub("", text)
