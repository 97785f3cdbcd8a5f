"""Statuses and flips of items without a case: what the scripts of their reports do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch_embers.timeline import stored
from torch_embers.timeline.item_script import borders
from torch_embers.timeline.running import Runs
from torch_embers.timeline.sentence import sentence
from torch_embers.verdicts.status import Tracked, status_of_timeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer
    from torch_embers.timeline.model import Timeline
    from torch_embers.verdicts.status import ItemKey, Status

BACKEND = "cpu"
AGAIN = 3
"""Runs of the second batch that a claim needs which is no absence: what is there shows at once."""
_SPOKEN_FOR = "SELECT DISTINCT i.repo, i.number FROM case_items i JOIN cases c USING (case_hash) WHERE c.current"
_AGAIN = """
SELECT DISTINCT script, environment, split_part(version, '+', 1), ending, what FROM observations WHERE batch = 2
"""
_RAN = f"""
SELECT DISTINCT s.repo, s.number FROM scripts s SEMI JOIN observations o USING (script)
ANTI JOIN ({_SPOKEN_FOR}) c USING (repo, number)
"""


@dataclass(frozen=True, slots=True)
class ScriptStatus:
    """What the script of a report says of its item.

    Attributes:
        status: None where it decides nothing.
    """

    timeline: Timeline
    status: Status | None

    @property
    def evidence(self) -> str:
        """What the script does, in one sentence."""
        return sentence(self.timeline)

    def flips_at(self, release: str) -> bool:
        """Whether the script behaves otherwise from this release on, in more than wording.

        That a signal or what was reported is gone is said only where enough runs show it.
        """
        for before, after in borders(self.timeline):
            if after.versions[0] == release:
                return after.confirmed or not before.takes_runs_to_be_gone(after)
        return False


def script_statuses(
    connection: duckdb.DuckDBPyConnection, items: Mapping[ItemKey, Tracked]
) -> dict[ItemKey, ScriptStatus]:
    """What scripts say of the items that no case speaks for."""
    cases = set(connection.execute(_SPOKEN_FOR).fetchall())
    again = set(connection.execute(_AGAIN).fetchall())
    made = {}
    for own in stored.timelines(connection):
        key = own.repo, own.number
        if key in cases or not own.behaviours:
            continue
        newest = own.behaviours[-1]
        shown = (own.script, own.environment, newest.versions[-1], newest.ending, newest.what) in again
        made[key] = ScriptStatus(
            own, status_of_timeline(items.get(key, Tracked(None)), own, shown_again=shown or newest.confirmed)
        )
    return made


def scripts_that_ran(connection: duckdb.DuckDBPyConnection) -> set[ItemKey]:
    """The items that no case speaks for and whose scripts ran before."""
    return set(connection.execute(_RAN).fetchall())


def run_on(
    store: Store,
    writer: Writer,
    machine: Machine,
    wanted: Mapping[ItemKey, Tracked],
    builds: Sequence[Build],
    jobs: int,
    progress: Progress,
) -> dict[ItemKey, ScriptStatus]:
    """Run the scripts of these items, which no case speaks for, where runs are missing.

    The builds come oldest first; the statuses are those of the last one.

    Raises:
        SandboxError, StoreError: as of their makers.
    """
    if not wanted or not builds:
        return {}
    with Runs(store, writer, machine, builds, jobs, progress) as runs:
        runs.complete(sorted(wanted))
        known = _stored(store, wanted)
        claimed = [
            key
            for key, own in known.items()
            if own.timeline.behaviours[-1].match == "as_reported" and wanted[key].was_fixed
        ]
        if claimed:
            runs.repeat(runs.programs(claimed), builds[-1], AGAIN)
            known = _stored(store, wanted)
    release = builds[-1].public_version
    return {
        key: own if release in own.timeline.segments[-1].versions else replace(own, status=None)
        for key, own in known.items()
    }


def _stored(store: Store, wanted: Mapping[ItemKey, Tracked]) -> dict[ItemKey, ScriptStatus]:
    with store.read() as connection:
        return {key: own for key, own in script_statuses(connection, wanted).items() if key in wanted}
