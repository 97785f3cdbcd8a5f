"""Random faults in the forms in which GitHub really fails, and what a mine by number makes of them.

A schedule draws a way of mining and some faults: parts of answers that are missing at any depth, null nodes, 5xx, broken
answers; in every query. Then:

1. a mine under the faults. It ends equal to a mine without faults, or says that something lacks; anything else is a silent
   loss. After an error a mine without faults must end equal;
2. the tracker changes, other faults are drawn, and the same holds for the changed tracker.

With kills, the mine under faults is a process of its own that is killed with signal 9 at random moments, up to three
times in a row. Whatever it had stored by then, a mine without faults must end equal.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":  # the process that is killed
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from mines import mined, stored
from servers.github import FAULTS, GitHub, filled
from torch_embers.errors import EmbersError
from torch_embers.mine.github_api import Patience
from torch_embers.mine.tracker import Bounds

if TYPE_CHECKING:
    from servers.tracker import Repository

PATIENCE = Patience(retries=3, max_wait=5, timeout=5, pause=0, backoff=0.005, secondary_wait=0.01)
ALWAYS = 10_000
REPO, REST_REPO = "pytorch/pytorch", "alice/bugs"
LABEL = "triaged"
KINDS = ("graphql", "graphql", "graphql", "graphql", "graphql_label", "rest")
"""Ways of mining, as often as they are drawn."""
ITEMS = 32
ASKED_FIRST = range(9, ITEMS, 3)
"""Numbers of the first query for items, in both states of the tracker."""
MESSAGES = ("resource_limits", "something_went_wrong", "timeout", "silence")
BROKEN = (
    *("truncated_json_200", "content_length_short", "empty_response", "html_502", "no_data", "gateway_timeout_504"),
    *("malformed_chunk", "reset_by_peer", "secondary429_no_header", "graphql_quota_spent"),
)
PARTS = ("comments", "timelineItems", "labels", "assignees", "subIssues", "closedByPullRequestsReferences", "files",
         "closingIssuesReferences")  # fmt: skip
FIELDS = ("author", "milestone", "parent", "issueType", "statusCheckRollup", "mergedBy")
"""Fields of an item that are null where there is none: null without an error says so, and is no fault."""
REST_CHANGES = ("empty_page", "page_limit_422", "bad_gateway_502", "truncated_json_200", "redirect_301")
BEGINS = "mining begins\n"
LONGEST = 3.0
"""Seconds after which a process is killed at the latest."""


@dataclass
class Result:
    """How the schedules ended."""

    schedules: int = 0
    met: Counter[str] = field(default_factory=Counter)
    """Answers that were changed by faults, by query; `/graphql` stands for whole answers."""
    equal: int = 0
    told: int = 0
    silent: list[str] = field(default_factory=list)
    """Mines that ended well and not equal: silent losses."""
    unequal: list[str] = field(default_factory=list)
    """Mines after an error or a kill, without faults, that did not end equal."""
    kills: int = 0


def _inside(chance: random.Random, name: str) -> list[Any]:
    inner: list[list[Any]] = [[], ["nodes"], ["pageInfo"], ["nodes", chance.randint(0, 2)]]
    return [name, *chance.choice(inner)]


def _place(chance: random.Random) -> tuple[str, list[Any], int, bool]:
    """A query, a place in its answer, how far null climbs, and whether silence is no fault."""
    shape = chance.random()
    if shape < 0.5:
        node = ["repository", f"n{chance.choice(ASKED_FIRST)}"]
        if (inner := chance.random()) < 0.15:
            return "query items(", node, 0, False
        if inner < 0.3:
            return "query items(", [*node, chance.choice(FIELDS)], 0, True
        return "query items(", [*node, *_inside(chance, chance.choice(PARTS))], chance.choice((0, 0, 0, 1)), False
    if shape < 0.65:
        name, listing = chance.choice((("query list_issues(", "issues"), ("query list_pulls(", "pullRequests")))
        tails: tuple[list[Any], ...] = ([], ["nodes"], ["pageInfo"], ["pageInfo", "endCursor"], ["nodes", 2])
        return name, ["repository", listing, *chance.choice(tails)], chance.choice((0, 0, 1)), False
    if shape < 0.8:
        return "query numbers(", ["repository", *chance.choice(([], [f"n{chance.randint(1, ITEMS)}"]))], 0, False
    if shape < 0.95:
        name = chance.choice(("comments", "timelineItems", "files"))
        at = ["repository", "issueOrPullRequest", *chance.choice(([], _inside(chance, name)))]
        return f"query more_{name}(", at, 0, False
    return "query repository(", ["repository", *chance.choice(([], ["issues"], ["issues", "nodes"]))], 0, False


def _graphql_fault(chance: random.Random) -> tuple[str | dict[str, Any], dict[str, Any]]:
    """One fault of the GraphQL API, and which answers it meets."""
    times = chance.choice((1, 1, 1, 2, 3, 5, ALWAYS))
    when: dict[str, Any] = {"at": chance.randint(1, 4), "times": times, "path": "/graphql"}
    if chance.random() < 0.25:
        return chance.choice(BROKEN), when | {"times": min(times, 3)}
    query, path, bubble, silent_is_a_value = _place(chance)
    when["at"] = 1 if "items" in query else chance.randint(1, 2)
    error = FAULTS[chance.choice(MESSAGES[:-1] if silent_is_a_value else MESSAGES)]
    return error | {"path": path, "bubble": bubble}, when | {"contains": query}


def mine(database: Path, kind: str, url: str) -> str:
    """Mine once; what the mine said that lacks, empty where it ended well."""
    try:
        if kind == "rest":
            report = mined(database, url, token="", repo=REST_REPO, patience=PATIENCE)
        else:
            bounds = Bounds(labels=(LABEL,)) if kind == "graphql_label" else None
            report = mined(database, url, bounds=bounds, patience=PATIENCE)
    except EmbersError as error:
        return str(error) or "an error without words"
    lasting = [note for note in report.notes if "incomplete" in note or "lag behind" in note]
    return report.stopped or "".join(lasting)


class Attack:
    """A server whose trackers have a state before and one after a change."""

    def __init__(self, folder: Path, server: GitHub) -> None:
        self.folder, self.server = folder, server
        self.result = Result()
        self._wanted: dict[tuple[str, int], Any] = {}

    def _set_state(self, kind: str, state: int) -> None:
        """Put the trackers into their first or their changed state, without faults."""
        self.server.restore()
        self.server.graph.most_listed = 8
        if kind == "rest":
            repository = filled(self.server, 120, 30)
            if state:
                self._change_rest(repository)
        elif state:
            for place, number in enumerate(sorted(self.server.graph.repositories[REPO].items)[2::3]):
                changed = {"updatedAt": f"2027-01-01T00:00:{place:02d}Z", "title": f"changed {number}"}
                self.server.update(REPO, number, **changed, milestone=None, reactions=3)

    def _change_rest(self, repository: Repository) -> None:
        repository.add(160)
        for number in (3, 7, 30):
            repository.comment(number, "later")
        repository.touch(9, milestone={"title": "2.0"}, user=None)
        repository.add(161, kind="pull")

    def _whole(self, kind: str, state: int) -> Any:
        """What a mine without faults stores: first of the first state, then also of the changed one."""
        if (kind, state) not in self._wanted:
            database = self.folder / f"whole-{kind}-{state}.duckdb"
            for each in range(state + 1):
                self._set_state(kind, each)
                said = mine(database, kind, self.server.url)
                assert not said, f"a mine without faults: {said}"
            self._wanted[kind, state] = stored(database)
        return self._wanted[kind, state]

    def _arm(self, kind: str, chance: random.Random) -> list[Any]:
        drawn: list[Any] = []
        for _ in range(chance.choice((1, 1, 2, 3))):
            if kind == "rest":
                what = chance.choice(REST_CHANGES)
                when = {"path": chance.choice(("1/issues", "alice/bugs")), "times": chance.choice((1, 1, 2, 3, ALWAYS)),
                        "at": chance.randint(1, 2)}  # fmt: skip
            else:
                what, when = _graphql_fault(chance)
            self.server.fault(what, **when)
            drawn.append((what, when))
        return drawn

    def run(self, seed: int) -> None:
        """One schedule."""
        chance = random.Random(seed)
        kind = chance.choice(KINDS)
        database = self.folder / f"{seed}.duckdb"
        for state in (0, 1):
            wanted = self._whole(kind, state)
            self._set_state(kind, state)
            where = f"seed {seed}, {kind}, state {state}, {self._arm(kind, chance)}"
            said = mine(database, kind, self.server.url)
            self.result.met += self.server.met
            if said:
                self.result.told += 1
                self._ends_equal(database, kind, state, f"{where}: after {said!r}")
            elif stored(database) == wanted:
                self.result.equal += 1
            else:
                self.result.silent.append(where)
        self.result.schedules += 1
        database.unlink()

    def _ends_equal(self, database: Path, kind: str, state: int, where: str) -> None:
        self._set_state(kind, state)
        again = mine(database, kind, self.server.url)
        if again or stored(database) != self._whole(kind, state):
            self.result.unequal.append(f"{where}: {again or 'ended well, not equal'}")

    def run_with_kills(self, seed: int) -> None:
        """One schedule whose mines under faults are killed at random moments."""
        chance = random.Random(seed)
        kind = chance.choice(KINDS)
        database = self.folder / f"{seed}.duckdb"
        for state in (0, 1):
            self._whole(kind, state)
            self._set_state(kind, state)
            where = f"seed {seed}, {kind}, state {state}, {self._arm(kind, chance)}"
            said = [self._killed(database, kind, chance) for _ in range(chance.randint(1, 3))]
            self.result.met += self.server.met
            self._ends_equal(database, kind, state, f"{where}: after {said!r}")
        self.result.schedules += 1
        database.unlink()

    def _killed(self, database: Path, kind: str, chance: random.Random) -> str:
        """Mine in a process that is killed at a random moment; what it said, where it ended before that."""
        command = [sys.executable, __file__, str(database), kind, self.server.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == BEGINS
            time.sleep(chance.uniform(0, LONGEST))
            child.send_signal(signal.SIGKILL)
            said = child.stdout.read()
        if child.returncode == -signal.SIGKILL:
            self.result.kills += 1
            return f"killed {said}"
        assert child.returncode == 0, said
        return said or "ended well"


if __name__ == "__main__":
    sys.stdout.write(BEGINS)
    sys.stdout.flush()
    sys.stdout.write(mine(Path(sys.argv[1]), *sys.argv[2:]))
