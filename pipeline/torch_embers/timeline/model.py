"""What a timeline is made of: observations, segments, and the match of each segment with the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Sequence

Ending = Literal["ok", "exit", "exception", "signal", "timeout", "out_of_memory", "lacks_api", "cannot_run"]
Match = Literal["as_reported", "as_expected", "other"]
Flip = Literal["ending", "class", "value", "wording"]
ENDINGS: tuple[Ending, ...] = get_args(Ending)
MIXED = "mixed"
GAPS: frozenset[str] = frozenset({"lacks_api", "cannot_run"})
"""Endings that say nothing about the behaviour: the build is left out of the segments."""
LOUD: frozenset[str] = frozenset({"signal", "timeout"})
"""Endings that are wrong whatever the report says."""

JUDGED = "judged by"
"""How the evidence of a reader begins."""


@dataclass(frozen=True, slots=True)
class Observation:
    """How one run of a script ended.

    Attributes:
        ending: how.
        what: exit code, class of the exception, name of the signal (``SIGSEGV``), names that are missing, or why it
            cannot run; empty for ``ok``.
        message: of the exception.
        frame: last frame of the traceback inside torch, as ``torch/functional.py:einsum``.
        printed: the end of the standard output.
        threads: that the script was given.
        seed: of the script and its zygote.
    """

    ending: Ending
    what: str = ""
    message: str = ""
    frame: str = ""
    printed: str = ""
    threads: int = 1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring builds on which the script behaves equally.

    Attributes:
        versions: releases, the oldest first.
        ending: of its observations, or ``mixed``.
        what: as in an observation; for ``mixed``: k of n of each ending.
        shown: message or printed text, bounded; empty for shipped facts.
        runs: on the newest build of the segment.
        confirmed: whether these runs, with a second batch, are enough to say that what the one before showed is gone.
        match: with the report; None where the report is about another device.
        evidence: what of the observation stands where in the report; for ``other``, the error that the report quotes.
        flip: kind of the border to the segment before; None for the first.
        at_fix: whether the border is at the release that has the known fix; None where no fix is known.
    """

    versions: tuple[str, ...]
    ending: str
    what: str
    shown: str = ""
    runs: int = 0
    confirmed: bool = False
    match: Match | None = None
    evidence: str = ""
    flip: Flip | None = None
    at_fix: bool | None = None

    @property
    def is_flip(self) -> bool:
        """Whether the script behaves otherwise than on the segment before, in more than wording."""
        return self.flip not in (None, "wording")

    @property
    def is_judged(self) -> bool:
        """Whether a reader said what it is for the report, from more than what it printed."""
        return self.evidence.startswith(JUDGED)

    @property
    def crashes(self) -> bool:
        """Whether a signal ends the script, in some runs at least."""
        return self.ending in ("signal", MIXED) and "SIG" in self.what

    def takes_runs_to_be_gone(self, later: Segment) -> bool:
        """Whether only enough runs show that it is gone later: a crash, a hang, the reported, what varies."""
        is_reported = self.match == "as_reported" and later.match != "as_reported"
        return is_reported or self.ending in (*LOUD, MIXED)


@dataclass(frozen=True, slots=True)
class Timeline:
    """What the script of a report does on the builds of one environment.

    Attributes:
        script: hash of the script.
        environment: key of it.
        segments: the oldest builds first; those whose ending is one of ``GAPS`` are gaps between the others.
        device: the accelerator that the report is about, where the script ran on the CPU instead; else empty.
        provenance: ``own`` or ``shipped``.
    """

    repo: str
    number: int
    script: str
    environment: str
    segments: Sequence[Segment]
    device: str = ""
    provenance: str = "own"

    @property
    def behaviours(self) -> list[Segment]:
        """The segments without gaps."""
        return [segment for segment in self.segments if segment.ending not in GAPS]
