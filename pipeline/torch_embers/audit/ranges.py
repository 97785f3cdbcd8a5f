"""Ranges of releases in words: what an advisory publishes, what was executed, and how the two differ."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from torch_embers.run.matrix import span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.audit.advisories import Advisories, Executed, Published


def published(entry: Published) -> str:
    """The published range, or the versions that are named."""
    if entry.versions:
        return f"{' and '.join(entry.versions)} named"
    begin = "" if entry.introduced == "0" else f"{entry.introduced} to "
    return f"{begin}before {entry.fixed}" if entry.fixed else f"{begin}up to {entry.last_affected}"


def spans(wanted: Iterable[str], measured: Sequence[str]) -> str:
    """Releases as ranges over those that were measured: neighbours there are told as one; "none" where empty."""
    chosen = set(wanted)
    runs = [list(group) for is_in, group in groupby(measured, key=lambda name: name in chosen) if is_in]
    return ", ".join(span(run) for run in runs) or "none"


def deviation(done: Executed) -> str:
    """How the executed releases differ from the published range, as a sentence; "none" where they agree."""
    measured = list(done.verdicts)
    told = []
    if done.unexpected:
        told.append(f"occurs outside the published range: {spans(done.unexpected, measured)}")
    if done.missing:
        told.append(f"not seen inside it: {spans(done.missing, measured)}")
    if done.undecided:
        told.append(f"not decided: {spans(done.undecided, measured)}")
    return "; ".join(told) or ("none" if measured else "not run")


def lines(done: Sequence[Executed], about: Advisories) -> list[str]:
    """All advisories for people."""
    made = []
    for one in done:
        advisory = one.advisory
        made += [
            f"{advisory.id}  {advisory.summary}",
            f"  published: {published(advisory.published)} ({advisory.status})",
            f"  occurs on: {spans(one.occurs, list(one.verdicts))} of {len(one.verdicts)} releases that were run",
            f"  deviation: {deviation(one)}",
            f"  case: {advisory.relation}",
            f"  upstream: {advisory.upstream}",
            "",
        ]
    made += [f"{entry.id}  not executed: {entry.reason}" for entry in about.not_executed]
    return [*made, "", f"A crash of a script of one's own is not by itself a vulnerability. {about.policy}"]
