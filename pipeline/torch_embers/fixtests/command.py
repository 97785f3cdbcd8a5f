"""What `embers research fix-tests` does: choose builds and tests, run, class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.builds.registry import Registry
from torch_embers.builds.work import WHOLE, Machine
from torch_embers.fixtests.trial import TrialRequest, run_trials
from torch_embers.run import state as states
from torch_embers.run.cases import chosen_builds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.builds.work import Shard
    from torch_embers.fixtests.trial import Draw
    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store


def run(
    store: Store,
    settings: Settings,
    builds: Sequence[str],
    draw: Draw,
    progress: Progress,
    jobs: int = 1,
    shard: Shard = WHOLE,
    state: Path | None = None,
) -> int:
    """Run what is missing; return how many runs were made.

    Raises:
        InputError, BuildError, SandboxError, StoreError: as of their makers.
    """
    registry = Registry(settings.builds_dir)
    request = TrialRequest(settings.repo, chosen_builds(registry, builds), draw, jobs, shard)
    with states.kept(store, "fix-tests", state) as writer:
        return run_trials(store, writer, Machine(registry), request, progress)
