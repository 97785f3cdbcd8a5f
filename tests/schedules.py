"""Random faults in the forms in which GitHub really fails, and what a mine makes of them.

A schedule draws a way of mining and some faults: parts of GraphQL answers that are missing at any depth, null nodes,
lost Link headers, empty pages, limits of pages, 5xx; in every query and every list that a mine asks for. All tables that
a mine of a tracker fills are compared. Then:

1. a mine under the faults. It ends equal to a mine without faults, or says that something lacks (an error, or items
   that wait); anything else is a silent loss. After an error a mine without faults must end equal;
2. the tracker changes, other faults are drawn, and the same holds for the changed tracker.

With kills, the mine under faults is a process of its own that is killed with signal 9 at random moments, up to three
times in a row. Whatever it had stored by then, a mine without faults must end equal.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

if __name__ == "__main__":  # the process that is killed
    sys.path.insert(0, str(Path(__file__).resolve().parent))

from servers.dataset import generated_dataset
from servers.github import FAULTS, GitHub, filled
from servers.tracker import Repository, account
from support import client, snapshot
from torch_embers.errors import EmbersError
from torch_embers.mine import runner
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.github.replies import Patience
from torch_embers.mine.github.rest import RestSource
from torch_embers.mine.scope import Scope
from torch_embers.store.store import Store

SCHEDULES = int(os.environ.get("SCHEDULES", "200"))
"""How many are run; `.ci/run` asks for one."""
PATIENCE = Patience(retries=3, max_wait=5, timeout=5, pause=0, backoff=0.005, secondary_wait=0.01)
ALWAYS = 10_000
REPO = "pytorch/pytorch"
REST_REPO = "alice/bugs"
LABEL = "triaged"
KINDS = ("graphql", "graphql", "graphql", "graphql_label", "rest_token", "rest_token", "rest_anonymous", "rest_label")
"""Ways of mining, as often as they are drawn."""
Snapshot = dict[str, list[Any]]
LIMIT = "limit of pages"
"""In the note of a mine whose list of events or of pull requests ended before its end."""
LIMITED = {"list of events": ("events",), "list of pull requests": ("items", "item_people", "users")}
"""By what the note says: the tables that may lack something then, and in no other way."""
OF_PULLS = ("head_sha", "head_ref", "base_ref")
"""Columns of items that only the list of pull requests has by REST."""
TABLES = (
    "items",
    "events",
    "comments",
    "pull_files",
    "stated_links",
    "reviews",
    "review_comments",
    "pull_commits",
    "checks",
    "item_people",
    "reactions",
    "users",
    "rejects",
)
MESSAGES = ("resource_limits", "something_went_wrong", "timeout", "silence")
BEGINS = "mining begins\n"
LONGEST = 3.0
"""Seconds after which a process is killed at the latest: most mines take less on an idle machine."""


@dataclass
class Result:
    """How the schedules ended."""

    schedules: int = 0
    mines: int = 0
    met: dict[str, int] = field(default_factory=dict)
    """Answers that were changed by faults, by query and list; `/graphql` stands for whole answers."""
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


PARTS = {
    "issues": ("comments", "timelineItems", "labels", "assignees", "subIssues", "closedByPullRequestsReferences"),
    "pullRequests": (
        "comments",
        "timelineItems",
        "labels",
        "assignees",
        "files",
        "closingIssuesReferences",
        "reviewRequests",
    ),
}
"""Connections of an item, by its listing."""
FIELDS = ("author", "milestone", "parent", "issueType", "statusCheckRollup", "mergedBy")
"""Fields of an item that are null where there is none: null without an error says so, and is no fault."""
FURTHER = (*PARTS["pullRequests"][:2], "files", "closingIssuesReferences", "closedByPullRequestsReferences")
"""Connections with further pages of their own."""
REACTED = {"comments": 0, "timelineItems": 2}
"""Connections whose nodes have reactions, and a node that has them."""


def _inside(chance: random.Random, name: str) -> list[Any]:
    """A place in a connection, from the connection itself down to the reactions of one of its nodes."""
    inner: list[list[Any]] = [[], ["nodes"], ["pageInfo"], ["nodes", chance.randint(0, 2)]]
    if name in REACTED:
        inner.append(["nodes", REACTED[name], "reactionGroups"])
    return [name, *chance.choice(inner)]


def _in_a_listing(chance: random.Random) -> tuple[str, list[Any], int, bool]:
    """A query for a page of items, a place in its answer, how far null climbs, and whether silence is no fault."""
    listing = chance.choice(("issues", "pullRequests"))
    query = "query issues(" if listing == "issues" else "query pulls("
    connection: list[Any] = ["repository", listing]
    if chance.random() < 0.35:
        tail = chance.choice(([], ["nodes"], ["pageInfo"], ["pageInfo", "endCursor"], ["pageInfo", "hasNextPage"]))
        return query, [*connection, *tail], chance.choice((0, 0, 1)), False
    node = [*connection, "nodes", chance.randint(0, 3)]
    shape = chance.random()
    if shape < 0.1:
        return query, node, 0, False
    if shape < 0.2:
        return query, [*node, "reactionGroups"], 0, False
    if shape < 0.3:
        return query, [*node, chance.choice(FIELDS)], 0, True
    return query, [*node, *_inside(chance, chance.choice(PARTS[listing]))], 0, False


def _in_another_query(chance: random.Random) -> tuple[str, list[Any], int, bool]:
    """The same of the queries that follow: further pages, comments on lines, single items, numbers, counts."""
    shape = chance.random()
    if shape < 0.35:
        name = chance.choice(FURTHER)
        return f"query more_{name}(", ["node", *chance.choice(([], _inside(chance, name)))], 0, False
    if shape < 0.7:
        node = ["nodes", chance.randint(0, 3)]
        below = [[], ["pullRequest"], ["comments", "nodes", 0, "reactionGroups"], _inside(chance, "comments")]
        return "query review_comments(", chance.choice((["nodes"], *([*node, *end] for end in below))), 0, False
    if shape < 0.85:
        listing = chance.choice(("issues", "pullRequests"))
        item: list[Any] = ["repository", "issueOrPullRequest"]
        return "query item(", [*item, *chance.choice(([], _inside(chance, chance.choice(PARTS[listing]))))], 0, False
    query = chance.choice(("query numbers_", "query repository("))
    return query, ["repository", chance.choice(("issues", "pullRequests"))], 0, False


def _graphql_fault(chance: random.Random) -> tuple[str | dict[str, Any], dict[str, Any]]:
    """One fault of the GraphQL API, and which answers it meets."""
    times = chance.choice((1, 1, 1, 2, 3, 5, ALWAYS))
    when: dict[str, Any] = {"at": chance.randint(1, 4), "times": times, "path": "/graphql"}
    shape = chance.random()
    if shape < 0.1:
        broken = chance.choice(("truncated_json_200", "content_length_short", "empty_response"))
        return broken, when | {"times": min(times, 3)}
    if shape < 0.2:
        return chance.choice(("html_502", "no_data", "gateway_timeout_504")), when
    query, path, bubble, silent_is_a_value = _in_a_listing(chance) if shape < 0.65 else _in_another_query(chance)
    if not query.startswith(("query issues", "query pulls")):
        when["at"] = chance.randint(1, 2)  # fewer of these are asked
    error = FAULTS[chance.choice(MESSAGES[:-1] if silent_is_a_value else MESSAGES)]
    return error | {"path": path, "bubble": bubble}, when | {"contains": query}


REST_CHANGES = ("without_link", "without_link", "empty_page", "page_limit_422", "bad_gateway_502")
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
    ("bugs/pulls", {}),
    ("bugs/pulls", {"page": "2"}),
    ("bugs/pulls", {"page": "3"}),
    ("/pulls/comments", {}),
    ("/pulls/comments", {"page": "2"}),
    ("/pulls/comments", {"since": "*"}),
    ("/timeline", {}),
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
    """A server whose trackers have a state before and one after a change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.result = Result()
        self._stack = ExitStack()
        self._wanted: dict[tuple[str, int], Snapshot] = {}

    def __enter__(self) -> Self:
        self.server = self._stack.enter_context(GitHub(generated_dataset(32)))
        self.empty = self.folder / "empty.duckdb"
        with Store(self.empty).writer("schedules", create=True):
            pass
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def _set_state(self, kind: str, state: int) -> None:
        """Put the trackers into their first or their changed state, without faults."""
        self.server.restore()
        self.server.tokens = None
        if kind.startswith("graphql"):
            if state:
                self._change_graphql()
            return
        repository = filled(self.server, 25, 24)
        for number in (*range(1, 20, 2), 30, 40):
            repository.label(number, LABEL)
            repository.event(number, label={"name": LABEL})
        for number in range(26, 50, 3):
            repository.touch(number, assignees=[account("dora")], reactions={"+1": number % 5, "total_count": 0})
            repository.request_review(number, "eve")
            for _ in range(number % 4):
                repository.remark(number)["reactions"] = {"heart": 1}
        if state:
            self._change_rest(repository, labelled=kind == "rest_label")

    def _change_graphql(self) -> None:
        items = self.server.graph.repositories[REPO].items
        for place, number in enumerate(sorted(items)[2::3]):
            changed = {"updatedAt": f"2027-01-01T00:00:{place:02d}Z", "title": f"changed {number}", "milestone": None}
            changed |= {"assignees": ["user-1"], "reactions": 3, "reactionCounts": {"HEART": 3}}
            if items[number]["kind"] == "pull":
                changed |= {"reviewers": ["user-2"], "reviews": items[number]["reviews"][:1]}
            self.server.update(REPO, number, **changed)

    def _change_rest(self, repository: Repository, *, labelled: bool) -> None:
        repository.add(60)
        for number in (3, 7, 30):
            repository.comment(number, "later")["reactions"] = {"eyes": 2}
            repository.event(number)
        if not labelled:
            repository.touch(9, milestone={"title": "2.0"}, user=None)
            repository.touch(38, assignees=[], reactions={"+1": 9, "total_count": 9})
        repository.label(12, LABEL)
        repository.add(61, kind="pull")
        for number in (41, 61):
            repository.request_review(number, "fay")
            repository.push(number)
            repository.remark(number, "later")

    def _mine(self, database: Path, kind: str) -> str:
        """Mine once; what the mine said that lacks, empty where it ended well."""
        self.result.mines += 1
        return mined(database, kind, self.server.url)

    def _whole(self, kind: str, state: int) -> Snapshot:
        """What a mine without faults stores: first of the first state, then also of the changed one."""
        if (kind, state) not in self._wanted:
            database = shutil.copy(self.empty, self.folder / f"whole-{kind}-{state}.duckdb")
            for each in range(state + 1):
                self._set_state(kind, each)
                said = self._mine(database, kind)
                assert not said, f"a mine without faults: {said}"
            self._wanted[kind, state] = _stored(database)
        return self._wanted[kind, state]

    def _arm(self, kind: str, chance: random.Random) -> list[Any]:
        drawn: list[Any] = []
        for _ in range(chance.choice((1, 1, 2, 3))):
            if kind.startswith("graphql"):
                what, when = _graphql_fault(chance)
            else:
                what, (path, query) = chance.choice(REST_CHANGES), chance.choice(REST_PLACES)
                when = {"path": path, "times": chance.choice((1, 1, 2, 3, 6, ALWAYS)), **query}
            self.server.fault(what, **when)
            drawn.append((what, when))
        return drawn

    def _count_met(self) -> None:
        self.result.met = dict(Counter(self.result.met) + self.server.met)

    def run(self, seed: int) -> None:
        """One schedule."""
        chance = random.Random(seed)
        kind = chance.choice(KINDS)
        database = shutil.copy(self.empty, self.folder / f"{seed}.duckdb")
        for state in (0, 1):
            wanted = self._whole(kind, state)
            self._set_state(kind, state)
            faults = self._arm(kind, chance)
            where = f"seed {seed}, {kind}, state {state}, {faults}"
            said = self._mine(database, kind)
            found = _stored(database)
            same = found == wanted
            self._count_met()
            if LIMIT in said and _limited(found, said) == _limited(wanted, said):
                self.result.limited += 1
            elif said:
                self.result.told += 1
                self._set_state(kind, state)
                again = self._mine(database, kind)
                found = _stored(database)
                limited = LIMIT in again and _limited(found, again) == _limited(wanted, again)
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
            self._count_met()
            self._set_state(kind, state)
            again = self._mine(database, kind)
            found = _stored(database)
            if found == wanted and not again:
                self.result.equal += 1
            elif LIMIT in (all_said := "".join([again, *said])) and _limited(found, all_said) == _limited(
                wanted, all_said
            ):
                self.result.limited += 1
            else:
                self.result.unequal.append(f"{where}: after {said!r}: {again or 'ended well, not equal'}")
        self.result.schedules += 1
        database.unlink()

    def _killed(self, database: Path, kind: str, chance: random.Random) -> str:
        """Mine in a process that is killed at a random moment; what it said, where it ended before that."""
        self.result.mines += 1
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
        self.result.told += bool(said)
        assert child.returncode == 0, said
        return said or "ended well"


def _stored(database: Path) -> Snapshot:
    """All rows that are compared; items once more without what only the list of pull requests has."""
    return snapshot(database, TABLES) | {"items alone": snapshot(database, ("items",), OF_PULLS)["items"]}


def _limited(found: Snapshot, said: str) -> Snapshot:
    """What must be equal where a mine says that GitHub listed no further: all but what that list alone has."""
    lacking = {table for words, tables in LIMITED.items() if words in said for table in tables}
    return {table: rows for table, rows in found.items() if table not in lacking}


if __name__ == "__main__":
    sys.stdout.write(BEGINS)
    sys.stdout.flush()
    sys.stdout.write(mined(Path(sys.argv[1]), *sys.argv[2:], link=True))
