"""What `embers bisect` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.bisect.measuring import Hang


@dataclass(frozen=True, slots=True)
class BisectRequest:
    """What `embers bisect` is asked for.

    Attributes:
        name: a case or the number of an item; empty with a script, predicate or call.
        good: version that is said to be without the bug.
        bad: version that is said to show it.
        call: one of data/perf.toml whose time is searched.
        margin: with a call, the relative difference that is not called one; None for the number of data/perf.toml.
        runs: runs of a script or predicate that measure its rate; processes per build where time is searched.
        validation: builds asked at random outside the range found; None for the number of data/bisect.toml.
        fresh: measure anew, and take no earlier verdict.
        install: install releases of the shipped matrix that are missing.
        evict: remove afterwards what was installed for this.
        index: of nightlies, a folder or an address; empty where no nightlies are wanted.
        clone: of the repository, to list commits from.
        timeout: seconds of one run of a script or predicate.
        hang_is: what a run of these means that does not end in time.
    """

    name: str = ""
    good: str = ""
    bad: str = ""
    script: Path | None = None
    predicate: str = ""
    call: str = ""
    margin: float | None = None
    runs: int = 0
    validation: int | None = None
    fresh: bool = False
    install: bool = False
    evict: bool = False
    index: str = ""
    clone: Path | None = None
    jobs: int = 1
    timeout: float = 0
    hang_is: Hang = "skip"
    unsandboxed: bool = False


def check(request: BisectRequest) -> None:
    """Make sure that one thing is asked for.

    Raises:
        InputError: it is not so.
    """
    given = [word for word in (request.name, request.script, request.predicate, request.call) if word]
    if len(given) != 1:
        raise InputError(
            "give one thing to bisect: a case or the number of its item, or --script, or --predicate, or --call"
        )
    if request.margin is not None and not request.call:
        raise InputError("--margin goes with --call: a case about time has a limit of its own")
    if request.hang_is == "bad" and not (request.script or request.predicate):
        raise InputError(
            "--hang-is says what a script or a command means: give it with --script or --predicate; a case about a "
            "hang says so itself"
        )
    if request.good and request.good == request.bad:
        raise InputError(f"--good and --bad are both {request.good}: a bisection needs two builds that differ")
