"""Random faults in the forms in which GitHub really fails, and what a mine makes of them.

A schedule draws a way of mining and some faults: parts of GraphQL answers that are missing at any depth, null nodes,
lost Link headers, empty pages, limits of pages, 5xx. Then:

1. a mine under the faults. It ends equal to a mine without faults, or says that something lacks (an error, or items
   that wait); anything else is a silent loss. After an error a mine without faults must end equal;
2. the tracker changes, other faults are drawn, and the same holds for the changed tracker.

With kills, the mine under faults is a process of its own that is killed with signal 9 at random moments, up to three
times in a row. Whatever it had stored by then, a mine without faults must end equal.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if __name__ == "__main__":  # the process that is killed
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from servers import stand_ins, tracker
from support import client, snapshot
from torch_embers.errors import EmbersError
from torch_embers.mine import runner
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.github.replies import Patience
from torch_embers.mine.github.rest import RestSource
from torch_embers.mine.scope import Scope
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = Patience(retries=3, max_wait=5, timeout=5, pause=0, backoff=0.005, secondary_wait=0.01)
ALWAYS = 10_000
REPO = "pytorch/pytorch"
REST_REPO = "alice/bugs"
LABEL = "triaged"
KINDS = ("graphql", "graphql", "graphql", "graphql_label", "rest_token", "rest_token", "rest_anonymous", "rest_label")
"""Ways of mining, as often as they are drawn."""
Snapshot = dict[str, list[Any]]
LIMIT = "limit of pages"
"""In the note of a mine whose list of events ended before its end."""
TABLES = ("items", "events", "comments", "pull_files", "stated_links", "rejects")
MESSAGES: tuple[dict[str, Any], ...] = (
    {"type": "RESOURCE_LIMITS_EXCEEDED", "message": "Resource limits for this query exceeded."},
    {"message": "Something went wrong while executing your query. Please include 0000 when reporting this issue."},
    {"message": "Something went wrong while executing your query. This may be the result of a timeout."},
    {"silent": True},
)
BEGINS = "mining begins\n"
LONGEST = 3.0
"""Seconds after which a process is killed at the latest: most mines take less on an idle machine."""
NULL = {"data": None, "errors": [{"message": "Something went wrong while executing your query."}]}


@dataclass
class Result:
    """How the schedules ended."""

    schedules: int = 0
    mines: int = 0
    met: int = 0
    """Faults that were met."""
    equal: int = 0
    """Mines under faults that ended equal to one without."""
    told: int = 0
    """Mines under faults that ended in an error or with items that wait."""
    limited: int = 0
    """Mines that lack events alone and say so: GitHub refused deeper pages of its list, and gives no others."""
    silent: list[str] = field(default_factory=list)
    """Mines that ended well and not equal: silent losses."""
    unequal: list[str] = field(default_factory=list)
    """Mines after an error or a kill, without faults, that did not end equal."""
    kills: int = 0
    """Mines under faults that were killed before they ended."""


def _graphql_fault(chance: random.Random) -> dict[str, Any]:
    """One fault of the GraphQL stand-in."""
    times = chance.choice((1, 1, 1, 2, 3, 5, ALWAYS))
    when = {"at": chance.randint(1, 4), "times": times}
    listing = chance.choice(("issues", "pullRequests"))
    query = "query issues(" if listing == "issues" else "query pulls("
    shape = chance.random()
    if shape < 0.1:
        return {"kind": chance.choice(("truncated", "short_body", "drop"))} | when | {"times": min(times, 3)}
    if shape < 0.2:
        status, body = chance.choice(((502, "<html>502</html>"), (200, json.dumps(NULL)), (504, "{}")))
        return {"kind": "response", "status": status, "body": body, **when}
    connection = ["repository", listing]
    if shape < 0.4:
        tail = chance.choice(([], ["nodes"], ["pageInfo"], ["pageInfo", "endCursor"], ["pageInfo", "hasNextPage"]))
        path, bubble = [*connection, *tail], chance.choice((0, 0, 1))
    elif shape < 0.75:
        part = ["comments", "timelineItems", "labels"]
        part += ["closedByPullRequestsReferences"] if listing == "issues" else ["files", "closingIssuesReferences"]
        name = chance.choice(part)
        inner = chance.choice(([], [name], [name, "nodes"], [name, "pageInfo"], [name, "nodes", 0]))
        path, bubble = [*connection, "nodes", chance.randint(0, 3), *inner], 0
    else:
        name = chance.choice(("comments", "timelineItems", "files"))
        query, bubble = f"query more_{name}(", 0
        path = ["node", *chance.choice(([], [name], [name, "nodes"], [name, "pageInfo"], [name, "nodes", 1]))]
        if chance.random() < 0.3:
            query, path = chance.choice(
                (
                    ("query item(", ["repository", "issueOrPullRequest"]),
                    ("query item(", ["repository", "issueOrPullRequest", "comments"]),
                    ("query numbers_", ["repository", listing]),
                    ("query repository(", ["repository", listing]),
                )
            )
    error = chance.choice(MESSAGES)
    return {"kind": "partial", "contains": query, "path": path, "bubble": bubble, **when, **error}


def _bad_gateway(_answered: tracker.Answered) -> tracker.Answered:
    return tracker.Answered({"message": "Server Error"}, 502)


REST_CHANGES: tuple[Callable[[tracker.Answered], tracker.Answered], ...] = (
    tracker.without_link,
    tracker.without_link,
    tracker.empty,
    tracker.refused,
    _bad_gateway,
)
REST_PLACES: tuple[tuple[str, dict[str, str | None]], ...] = (
    ("bugs/issues", {}),  # not the search, which ends so, too
    ("bugs/issues", {"page": "2"}),
    ("bugs/issues", {"page": None}),
    ("bugs/issues", {"since": "*"}),
    ("/issues/comments", {}),
    ("/issues/comments", {"page": "2"}),
    ("/issues/events", {}),
    ("/issues/events", {"page": "2"}),
    ("/issues/events", {"page": "3"}),
    ("/search/issues", {}),
)


def _source(kind: str, url: str) -> GraphqlSource | RestSource:
    labels = (LABEL,) if kind.endswith("label") else ()
    if kind.startswith("graphql"):
        made = client(url, "token-one", patience=PATIENCE)
        return GraphqlSource(made, Scope(REPO, labels=labels), issue_page=8, pull_page=4)
    tokens = [] if kind == "rest_anonymous" else ["a-token"]
    return RestSource(client(url, *tokens, patience=PATIENCE), Scope(REST_REPO, labels=labels), page_size=10)


def mined(database: Path, kind: str, url: str, *, link: bool = False) -> str:
    """Mine once; what the mine said that lacks, empty where it ended well."""
    try:
        report = runner.mine(Store(database), _source(kind, url), link=link, sleep=lambda _: None)
    except EmbersError as error:
        return str(error) or "an error without words"
    limits = [note for note in report.notes if LIMIT in note]
    return f"{len(report.waiting)} items wait" if report.waiting else "".join(limits)


class Attack:
    """Both stand-ins with the states of their trackers, before and after a change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.result = Result()
        self._stack = ExitStack()
        self._wanted: dict[tuple[str, int], Snapshot] = {}

    def __enter__(self) -> Self:
        self.graphql = self._stack.enter_context(stand_ins.GraphQLStandIn(stand_ins.synthetic_dataset(32)))
        self.rest = self._stack.enter_context(tracker.Tracker())
        self.empty = self.folder / "empty.duckdb"
        with Store(self.empty).writer("schedules", create=True):
            pass
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def _set_state(self, kind: str, state: int) -> None:
        """Put the tracker into its first or its changed state, without faults."""
        if kind.startswith("graphql"):
            self.graphql.restore()
            if state:
                items = {
                    i["number"]: i
                    for r in self.graphql.dataset["repos"]
                    for i in r["items"]
                    if r["nameWithOwner"] == REPO
                }
                for place, number in enumerate(sorted(items)[::5]):
                    at = f"2027-01-01T00:00:{place:02d}Z"
                    self.graphql.update(REPO, number, updatedAt=at, title=f"changed {number}", milestone=None)
            return
        self.rest.repositories.clear()
        self.rest.heal()
        repository = tracker.filled(self.rest, 25, 9)
        for number in range(1, 20, 2):
            repository.label(number, LABEL)
        if state:
            repository.add(40)
            for number in (3, 7, 30):
                repository.comment(number, "later")
                repository.event(number)
            if kind != "rest_label":
                repository.touch(9, milestone={"title": "2.0"}, user=None)
            repository.label(12, LABEL)

    def _url(self, kind: str) -> str:
        return self.graphql.url if kind.startswith("graphql") else self.rest.url

    def _mine(self, database: Path, kind: str) -> str:
        """Mine once; what the mine said that lacks, empty where it ended well."""
        self.result.mines += 1
        return mined(database, kind, self._url(kind))

    def _whole(self, kind: str, state: int) -> Snapshot:
        """What a mine without faults stores: first of the first state, then also of the changed one."""
        if (kind, state) not in self._wanted:
            database = shutil.copy(self.empty, self.folder / f"whole-{kind}-{state}.duckdb")
            for each in range(state + 1):
                self._set_state(kind, each)
                said = self._mine(database, kind)
                assert not said, f"a mine without faults: {said}"
            self._wanted[kind, state] = snapshot(database, TABLES)
        return self._wanted[kind, state]

    def _arm(self, kind: str, chance: random.Random) -> list[Any]:
        count = chance.choice((1, 1, 2, 3))
        if kind.startswith("graphql"):
            faults = [_graphql_fault(chance) for _ in range(count)]
            self.graphql.faults(*faults)
            return faults
        drawn = []
        for _ in range(count):
            change, (path, query) = chance.choice(REST_CHANGES), chance.choice(REST_PLACES)
            times = chance.choice((1, 1, 2, 3, 6, ALWAYS))
            self.rest.fault(change, path, times, **query)
            drawn.append((change.__name__, path, query, times))
        return drawn

    def run(self, seed: int) -> None:
        """One schedule."""
        chance = random.Random(seed)
        kind = chance.choice(KINDS)
        database = shutil.copy(self.empty, self.folder / f"{seed}.duckdb")
        for state in (0, 1):
            wanted = self._whole(kind, state)
            self._set_state(kind, state)
            self.rest.met = 0
            faults = self._arm(kind, chance)
            where = f"seed {seed}, {kind}, state {state}, {faults}"
            said = self._mine(database, kind)
            found = snapshot(database, TABLES)
            same = found == wanted
            self.result.met += self.graphql.counters()["faults"] if kind.startswith("graphql") else self.rest.met
            self.rest.met = 0
            if LIMIT in said and _but_events(found) == _but_events(wanted):
                self.result.limited += 1
            elif said:
                self.result.told += 1
                self._set_state(kind, state)
                again = self._mine(database, kind)
                found = snapshot(database, TABLES)
                limited = LIMIT in again and _but_events(found) == _but_events(wanted)
                if not limited and (again or found != wanted):
                    self.result.unequal.append(f"{where}: after {said!r}: {again or 'ended well, not equal'}")
            elif same:
                self.result.equal += 1
            else:
                self.result.silent.append(where)
        self.result.schedules += 1
        database.unlink()

    def run_with_kills(self, seed: int) -> None:
        """One schedule whose mines under faults are killed at random moments."""
        chance = random.Random(seed)
        kind = chance.choice(KINDS)
        database = shutil.copy(self.empty, self.folder / f"{seed}.duckdb")
        for state in (0, 1):
            wanted = self._whole(kind, state)
            self._set_state(kind, state)
            where = f"seed {seed}, {kind}, state {state}, {self._arm(kind, chance)}"
            said = [self._killed(database, kind, chance) for _ in range(chance.randint(1, 3))]
            self.result.met += self.graphql.counters()["faults"] if kind.startswith("graphql") else self.rest.met
            self.rest.met = 0
            self._set_state(kind, state)
            again = self._mine(database, kind)
            found = snapshot(database, TABLES)
            if found == wanted and not again:
                self.result.equal += 1
            elif LIMIT in "".join([again, *said]) and _but_events(found) == _but_events(wanted):
                self.result.limited += 1
            else:
                self.result.unequal.append(f"{where}: after {said!r}: {again or 'ended well, not equal'}")
        self.result.schedules += 1
        database.unlink()

    def _killed(self, database: Path, kind: str, chance: random.Random) -> str:
        """Mine in a process that is killed at a random moment; what it said, where it ended before that."""
        self.result.mines += 1
        command = [sys.executable, __file__, str(database), kind, self._url(kind)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == BEGINS
            time.sleep(chance.uniform(0, LONGEST))
            child.send_signal(signal.SIGKILL)
            said = child.stdout.read()
        if child.returncode == -signal.SIGKILL:
            self.result.kills += 1
            return f"killed {said}"
        self.result.told += bool(said)
        assert child.returncode == 0, said
        return said or "ended well"


def _but_events(found: Snapshot) -> Snapshot:
    return {table: rows for table, rows in found.items() if table != "events"}


if __name__ == "__main__":
    sys.stdout.write(BEGINS)
    sys.stdout.flush()
    sys.stdout.write(mined(Path(sys.argv[1]), *sys.argv[2:], link=True))
