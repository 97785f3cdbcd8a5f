"""Ranges of releases in words: what is published of an advisory, what was executed, and how the two differ."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from torch_embers.verdicts.matrix import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.audit.advisories import Advisories, Deviation, Executed, Published


def published(entry: Published) -> str:
    """A published range as its database has it, or the versions that are named."""
    if entry.versions:
        return f"{' and '.join(entry.versions)} named"
    begin = "" if entry.introduced == "0" else f"{entry.introduced} to "
    return f"{begin}before {entry.fixed}" if entry.fixed else f"{begin}up to {entry.last_affected}"


def spans(wanted: Iterable[str], measured: Sequence[str]) -> str:
    """Releases as ranges over those that were measured: neighbours there are told as one; "none" where empty."""
    chosen = set(wanted)
    runs = [list(group) for is_in, group in groupby(measured, key=lambda name: name in chosen) if is_in]
    return ", ".join(span(run) for run in runs) or "none"


def deviation(done: Executed, of: Deviation) -> str:
    """How the executed releases differ from one published range, as a sentence; "none" where they agree."""
    measured = list(done.verdicts)
    told = []
    if of.unexpected:
        told.append(f"occurs outside it: {spans(of.unexpected, measured)}")
    if of.missing:
        told.append(f"absent inside it: {spans(of.missing, measured)}")
    inside = [release for release in done.run if of.published.holds(release)]
    if done.run and not inside:
        told.append("no release inside it was run")
    elif inside and set(inside) <= set(done.undecided):
        told.append("nothing was decided inside it")
    if of.published.odd_end:
        lists = ", and the record lists no release" if of.published.listed == 0 else ""
        told.append(f"its end {of.published.end} is no version{lists}")
    return "; ".join(told) or ("none" if done.run else "not run")


def coverage(done: Executed) -> str:
    """On how many releases the case ran, and on which it could not run or decided nothing."""
    measured = list(done.verdicts)
    told = [f"run on {len(done.run)} releases"]
    if done.untestable:
        told.append(f"cannot run on {spans(done.untestable, measured)}")
    if done.undecided:
        told.append(f"not decided on {spans(done.undecided, measured)}")
    return "; ".join(told)


def lines(done: Sequence[Executed], about: Advisories) -> list[str]:
    """All advisories for people."""
    made = []
    for one in done:
        advisory = one.advisory
        made += [f"{advisory.id}  {advisory.summary} ({advisory.status})"]
        for of in one.deviations:
            entry = of.published
            made += [
                f"  {entry.database} ({entry.day}): {published(entry)}" + (f"; {entry.note}" if entry.note else ""),
                f"    deviation: {deviation(one, of)}",
            ]
        made += [
            f"  occurs on: {spans(one.occurs, list(one.verdicts))} ({coverage(one)})",
            f"  case: {advisory.relation}",
            f"  upstream: {advisory.upstream}",
            "",
        ]
    made += [f"{entry.id}  not executed: {entry.reason}" for entry in about.not_executed]
    return [*made, "", f"A crash of a script of one's own is not by itself a vulnerability. {about.policy}"]
