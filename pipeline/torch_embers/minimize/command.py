"""What `embers research minimize` does for one report."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from torch_embers.builds.registry import Registry
from torch_embers.errors import InputError
from torch_embers.minimize import reduction
from torch_embers.run.cases import chosen_builds
from torch_embers.timeline import item_script, stored

if TYPE_CHECKING:
    from torch_embers.minimize.reduction import Reduction
    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store


def minimize_script(store: Store, settings: Settings, number: int, build: str | None, progress: Progress) -> Reduction:
    """Make the script of a report small, and keep the result.

    Raises:
        InputError: the report has no script, or its script no flip and no build is named.
        MinimizeError: there is nothing to keep here, or the small text does not keep it.
    """
    registry = Registry(settings.builds_dir)
    named = chosen_builds(registry, [build])[-1:] if build else []
    with store.writer("minimize") as writer:
        with store.read() as connection:
            item = item_script.of_report(connection, settings.repo, number)
            timeline = stored.timeline_of(connection, settings.repo, number)
        builds = named or reduction.sides_of(timeline, registry.installed())
        if not builds:
            raise InputError(
                f"{item.name} has no known flip with a build on each side here: `embers run {number}` looks for one, "
                "--build NAME keeps what the script does on one build"
            )
        with ExitStack() as held:
            for one in builds:
                held.enter_context(registry.using(one))
            made = reduction.reduce_on(item, builds, progress)
        with writer.transaction() as connection:
            reduction.write(connection, made)
    return made
