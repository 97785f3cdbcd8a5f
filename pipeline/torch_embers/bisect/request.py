"""What `embers bisect` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

Hang = Literal["bad", "skip"]
"""What a run means that does not end in time: the bug, or a build that cannot be tested."""


@dataclass(frozen=True, slots=True)
class BisectRequest:
    """What `embers bisect` is asked for.

    Attributes:
        name: a case or the number of an item; empty with a script or predicate.
        good: version that is said to be without the bug.
        bad: version that is said to show it.
        runs: runs of a script or predicate that measure its rate; 0 for the number of data/bisect.toml.
        validation: builds asked at random outside the range found; None for the number of data/bisect.toml.
        fresh: measure anew, and take no earlier verdict.
        install: install releases of the shipped matrix that are missing.
        evict: remove afterwards what was installed for this.
        index: of nightlies, a folder or an address; empty where no nightlies are wanted.
        clone: of the repository, to list commits from.
        timeout: seconds of one run of a script or predicate; 0 for the number of data/bisect.toml.
        hang_is: what a run of these means that does not end in time.
    """

    name: str = ""
    good: str = ""
    bad: str = ""
    script: Path | None = None
    predicate: str = ""
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

    def check(self) -> None:
        """Make sure that one thing is asked for.

        Raises:
            InputError: it is not so.
        """
        if sum(map(bool, (self.name, self.script, self.predicate))) != 1:
            raise InputError("give one thing to bisect: a case or the number of its item, or --script, or --predicate")
        if self.hang_is == "bad" and self.name:
            raise InputError(
                "--hang-is says what a script or a command means: give it with --script or --predicate; a case about a "
                "hang says so itself"
            )
