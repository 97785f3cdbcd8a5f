"""`embers run N` and `embers run --reports`: the scripts of reports on all builds, and what their timelines say."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_embers.builds.registry import Registry
from torch_embers.builds.work import Machine
from torch_embers.errors import InputError
from torch_embers.extract import update_scripts as scripts
from torch_embers.normalize import item_of
from torch_embers.run import state as states
from torch_embers.run.cases import RunRequest, chosen_builds
from torch_embers.timeline import stored
from torch_embers.timeline.running import Runs
from torch_embers.timeline.sentence import sentence

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store
    from torch_embers.timeline.model import Timeline

_ITEMS = """
SELECT repo, number, script IS NOT NULL, coalesce(detail, '') FROM scripts
WHERE repo = $repo AND ($numbers IS NULL OR list_contains($numbers, number)) ORDER BY number DESC
"""
_CASES = """
SELECT DISTINCT name FROM cases JOIN case_items USING (case_hash)
WHERE current AND repo = $repo AND list_contains($numbers, number) ORDER BY name
"""


class Told(NamedTuple):
    """What is to be said of a report.

    Attributes:
        timeline: None where no run is known.
        why: there is no script; empty where there is one.
    """

    number: int
    timeline: Timeline | None
    why: str

    def row(self) -> dict[str, Any]:
        """As plain data."""
        segments = [asdict(segment) for segment in self.timeline.segments] if self.timeline else []
        said = sentence(self.timeline) if self.timeline else self.why
        return {"number": self.number, "sentence": said, "segments": segments}


@dataclass(frozen=True, slots=True)
class Summary:
    """What came of the scripts of all reports.

    Attributes:
        reports: issues that were read.
        scripts: of them, those with a script.
        runnable: of them, those that run on one of these builds at least.
        endings: of the newest build on which each runs, most frequent first.
        matches: with the report, in any segment.
        flips: reports whose script changes its behaviour, but for wording.
    """

    reports: int
    scripts: int
    runnable: int
    endings: Counter[str]
    matches: Counter[str]
    flips: int


def numbers_of(names: Sequence[str], repo: str) -> list[int]:
    """The numbers of the items that are among these names: 7, #7, owner/name#7 or an address.

    Raises:
        InputError: one is of another repository.
    """
    items = {name: item for name in names if (item := item_of(name, repo)) is not None}
    for name, (home, _) in items.items():
        if home != repo:
            raise InputError(f"{name}: the scripts of one repository run at a time; add --repo {home}")
    return [number for _, number in items.values()]


def cases_of(store: Store, names: Sequence[str], repo: str) -> list[str]:
    """The cases that these names mean, those of an item by their own names; an item without any has none."""
    numbers = numbers_of(names, repo)
    with store.read() as connection:
        found = connection.execute(_CASES, {"repo": repo, "numbers": numbers}).fetchall()
    named = [name for name in names if item_of(name, repo) is None]
    return named + [name for (name,) in found]


def run_reports(
    store: Store, settings: Settings, request: RunRequest, numbers: Collection[int] | None, progress: Progress
) -> list[Told]:
    """Make scripts, run what is missing, and derive timelines; resumable.

    Args:
        store: the database.
        settings: where builds are, and which repository is meant.
        request: builds (all where none is named), jobs, shard and state.
        numbers: of the items; None for all of the repository.
        progress: is told how far the runs are.

    Returns:
        Each of the items; those with a script in this shard only.

    Raises:
        InputError: an item is unknown.
        BuildError, SandboxError, StoreError: as of their makers; without a complete sandbox no script runs.
    """
    registry = Registry(settings.builds_dir)
    builds = chosen_builds(registry, request.builds or ["all"])
    scripts.refresh(store, settings.repo, progress, numbers)
    with store.read() as connection:
        asked = {"repo": settings.repo, "numbers": None if numbers is None else sorted(numbers)}
        found = connection.execute(_ITEMS, asked).fetchall()
    if missing := set(numbers or ()) - {number for _, number, *_ in found}:
        raise InputError(
            f"no issue {settings.repo}#{min(missing)} here: `embers mine --refresh {min(missing)}` fetches it"
        )
    wanted = [(repo, number) for repo, number, has_script, _ in found if has_script]
    machine = Machine(registry, progress=progress)
    with (
        states.kept(store, "run", request.state) as writer,
        Runs(store, writer, machine, builds, request.jobs, progress) as runs,
    ):
        runs.complete(wanted, request.shard)
    with store.read() as connection:
        if numbers is None:
            known = {(one.repo, one.number): one for one in stored.timelines(connection)}
        else:
            known = {item: one for item in wanted if (one := stored.timeline_of(connection, *item)) is not None}
    return [Told(number, known.get((repo, number)), why) for repo, number, _, why in found]


def summary(told: Sequence[Told]) -> Summary:
    """Count what came of reports."""
    timelines = [one.timeline for one in told if one.timeline is not None]
    ran = [own for timeline in timelines if (own := timeline.behaviours)]
    return Summary(
        reports=len(told),
        scripts=sum(not one.why for one in told),
        runnable=len(ran),
        endings=Counter(own[-1].ending for own in ran),
        matches=Counter(match for own in ran for match in {segment.match for segment in own} if match is not None),
        flips=sum(any(segment.is_flip for segment in own) for own in ran),
    )
