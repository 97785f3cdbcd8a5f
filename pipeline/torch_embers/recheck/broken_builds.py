"""A sweep that goes on without the builds that cannot be used: each is left out with its reason.

A build is only asked whether it still is what it was when it has runs to make; so a sweep ends in the middle where one
is gone. What was reached is kept, and the sweep is asked for again without that build.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch_embers.builds.registry import Build, BuildError, look

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_embers.progress import Progress
    from torch_embers.verdicts.executor import Executor, SweepRequest
    from torch_embers.verdicts.ledger import Cell


class Usable:
    """Sweeps over those builds that can be used.

    Args:
        executor: makes the sweeps.
        progress: is told of each build that is left out.

    Attributes:
        left_out: why a build cannot be used, by its identity; it grows with each sweep.
    """

    def __init__(self, executor: Executor, progress: Progress) -> None:
        self.executor = executor
        self._progress = progress
        self.left_out: dict[str, tuple[Build, str]] = {}

    def sweep(self, request: SweepRequest) -> list[Cell]:
        """Verdicts as far as they can be had; a build that is left out has those that were known.

        Raises:
            BuildError: something is wrong, and no build of this machine is it; or no build is left.
            SandboxError, StoreError: as ``Executor.sweep``.
        """
        asked = {build.identity: build for build in (*request.builds, *request.controls)}
        fresh: set[tuple[str, str]] = set()
        while True:
            cells = {}
            try:
                for cell in self.executor.sweep(replace(request, unusable=frozenset(self.left_out))):
                    key = cell.case.hash, cell.build.identity
                    fresh |= {key} if cell.fresh else set()
                    cells[key] = replace(cell, fresh=key in fresh)
            except BuildError:
                found = unusable(build for key, build in asked.items() if key not in self.left_out)
                if not found or len(found) + len(self.left_out) >= len(asked):
                    raise
                for build, reason in found:
                    self.left_out[build.identity] = build, reason
                    self._progress.said(f"build {build.name} is left out: {reason}")
            else:
                return list(cells.values())


def unusable(builds: Iterable[Build]) -> list[tuple[Build, str]]:
    """Builds that do not answer, or are others than they were, each with what is wrong."""
    found = []
    for build in builds:
        try:
            fresh = look(build.python, build.name)
        except BuildError as error:
            found.append((build, str(error)))
            continue
        if fresh.identity != build.identity:
            found.append((build, f"it was {build.identity} and is {fresh.identity} now"))
    return found
