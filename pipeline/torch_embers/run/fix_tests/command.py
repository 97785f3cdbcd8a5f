"""What `embers fix-tests` does: choose builds and tests, run, class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.builds.registry import Registry
from torch_embers.errors import InputError
from torch_embers.normalize import iso_utc
from torch_embers.run.command import chosen_builds
from torch_embers.run.fix_tests.trial import TrialRequest, run_trials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """What `embers fix-tests` is asked for; see ``TrialRequest``."""

    builds: Sequence[str]
    jobs: int = 1
    sample: int | None = None
    seed: int = 0
    since: str | None = None
    until: str | None = None


def run(store: Store, settings: Settings, options: TrialOptions, progress: Progress) -> int:
    """Run what is missing; return how many runs were made.

    Raises:
        InputError, BuildError, SandboxError, StoreError: as of their makers.
    """
    registry = Registry(settings.builds_dir)
    request = TrialRequest(
        settings.repo,
        chosen_builds(registry, options.builds),
        options.jobs,
        options.sample,
        options.seed,
        day(options.since),
        day(options.until),
    )
    with store.writer("fix-tests") as writer:
        return run_trials(store, writer, registry, request, progress)


def day(text: str | None) -> str | None:
    """A day as ISO text in UTC.

    Raises:
        InputError: it is none.
    """
    found = iso_utc(text)
    if text is not None and found is None:
        raise InputError(f"{text!r} is no date: write it as 2023-01-31")
    return found
