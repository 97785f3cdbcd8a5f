"""GitHub by number: which numbers there are, when they changed last, and everything that belongs to an item.

The number of an item is the truth, a listing is a hint. Every number is asked for under an alias of its own, so that an
answer says of each whether it is there. What lacks in an answer is asked for again: nothing absent is taken for an end.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_embers import resources
from torch_embers.errors import ShortListingError, UnknownRepositoryError
from torch_embers.mine.github_api import (
    HIDDEN,
    CursorRefusedError,
    NotFoundError,
    UnansweredError,
    UnknownFieldError,
)
from torch_embers.mine.raw import Said, part_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from datetime import datetime

    from torch_embers.mine.github_api import GitHubApi, HttpAnswer

NUMBERS = 100
"""Numbers of one query without connections, which costs one point however many it asks for: an answer of 20 kB."""
ITEMS = 24
"""Items of one query, the most for one point: 24 x 6 connections are less than 150."""
MOST_BYTES = 8_000_000
"""An answer that is larger makes the next batches smaller."""
HASTE = 1
"""Retries of a query that can be made smaller instead."""
MOST_FURTHER = 500
"""Further pages of one part of an item: GitHub allows 2,500 comments, 3,000 files. What seems endless is an error."""
END_TRIES = 3
"""Times that a listing is read which ends before its end."""
LIMITED = "RESOURCE_LIMITS_EXCEEDED"
"""The error of a query that is too heavy: a smaller one is answered."""
YOUNG = frozenset({"issueType"})
"""Fields that an older GitHub Enterprise Server does not have; a query goes without them there."""
KINDS = {"Issue": "issue", "PullRequest": "pull"}
LISTS = {"issue": ("list_issues", "issues"), "pull": ("list_pulls", "pullRequests")}
"""By kind: the query of a listing, and its connection."""
PARTS = {"comments": "comments", "timelineItems": "events", "files": "files"}
"""Connections that go on in further pages, and the part of an item that each fills."""
CONNECTIONS = {
    "Issue": ("comments", "timelineItems", "assignees", "labels", "subIssues", "closedByPullRequestsReferences"),
    "PullRequest": ("comments", "timelineItems", "files", "assignees", "labels", "closingIssuesReferences"),
}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which part of the tracker is listed; times are ISO 8601 text in UTC."""

    since: str | None = None
    until: str | None = None
    state: str = "all"
    labels: tuple[str, ...] = ()

    @property
    def narrowed(self) -> bool:
        """Whether anything is left out."""
        return self != Bounds()


class Seen(NamedTuple):
    """What a listing says of an item."""

    number: int
    kind: str
    updated_at: str
    comments: int


class Absent(NamedTuple):
    """GitHub says that there is no item of this number."""

    number: int
    at: datetime
    moved_to: str | None = None
    """owner/name#number of a transferred one."""


class Whole(NamedTuple):
    """An item with everything that belongs to it, as raw objects."""

    seen: Seen
    objects: list[Said]

    @property
    def number(self) -> int:
        """Its number."""
        return self.seen.number


class _Found(NamedTuple):
    node: Json
    at: datetime


class Failed(NamedTuple):
    """An item that GitHub does not answer whole."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class About:
    """The repository."""

    name: str
    repo_id: int | None
    newest: int
    """The highest number of the items that were created last."""
    counts: dict[str, int]
    """Items by kind, as GitHub counts them."""


@dataclass(slots=True)
class Tracker:
    """One repository on GitHub, by GraphQL."""

    api: GitHubApi
    repo: str
    sizes: dict[str, int] = field(default_factory=dict)
    """Numbers of a query that the server answers now, by query; they grow back."""
    notes: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    """Parts of items that this token may not see, with the reason."""
    _lacking: set[str] = field(default_factory=set)

    # -- which numbers there are ------------------------------------------------------------------------------

    def look_up(self) -> About:
        """Ask for the repository; what follows uses its present name.

        Raises:
            UnknownRepositoryError: it does not exist or cannot be seen.
        """

        def check(answer: HttpAnswer) -> str | None:
            if _unknown(answer):
                raise UnknownRepositoryError(
                    f"{self.api.api_url} has no repository {self.repo!r}, or the token cannot see it: check --repo"
                )
            found = _at(answer, "repository") or {}
            whole = all(_is_counted(found.get(name)) for _, name in LISTS.values()) and found.get("nameWithOwner")
            return None if whole else _problem(answer) or "the repository has no counts"

        found = _at(self._ask("repository", {}, check), "repository")
        lists = {kind: found[name] for kind, (_, name) in LISTS.items()}
        newest = max((node["number"] for listed in lists.values() for node in listed["nodes"]), default=0)
        name = str(found["nameWithOwner"])
        if name.lower() != self.repo.lower():
            self.notes.append(f"{self.repo} is now called {name}: stored under the new name")
        self.repo = name
        counts = {kind: listed["totalCount"] for kind, listed in lists.items()}
        return About(name, found.get("databaseId"), newest, counts)

    def top(self, kind: str) -> list[Seen]:
        """The items of a kind that changed last, newest first: one page."""
        return self._page(kind, {"after": None}, ())[0]

    def listed(self, kind: str, bounds: Bounds, down_to: str | None = None) -> list[Seen]:
        """All items of a kind within bounds, newest change first.

        Args:
            kind: issue or pull.
            bounds: which part.
            down_to: time of change (ISO 8601, UTC) at which the listing stops; None reads to its end.

        Raises:
            ShortListingError: the listing ends before its end, again and again.
        """
        states = {"open": ["OPEN"], "closed": ["CLOSED"] if kind == "issue" else ["CLOSED", "MERGED"]}.get(bounds.state)
        given: Json = {"states": states, "labels": list(bounds.labels) or None}
        since = max(filter(None, (down_to, bounds.since)), default="")
        if kind == "issue":
            given = {"filter": {name: value for name, value in given.items() if value}}
        found: dict[int, Seen] = {}
        for _ in range(END_TRIES):
            more, lacking = self._walk(kind, given, since)
            found |= more
            if lacking and more:  # what changed meanwhile moved to the top
                moved, _ = self._walk(kind, given, max(one.updated_at for one in more.values()))
                found |= moved
                lacking -= len(moved.keys() - more.keys())
            if lacking <= 0:
                return [one for one in found.values() if bounds.until is None or one.updated_at <= bounds.until]
        raise ShortListingError(
            f"{self.repo}: the list of {kind}s ended {END_TRIES} times with {lacking} of them missing. "
            "What was read is kept; run `embers mine` again later"
        )

    def _walk(self, kind: str, given: Json, since: str) -> tuple[dict[int, Seen], int]:
        """Items of a listing down to a time, and how many more it counts than it shows."""
        found: dict[int, Seen] = {}
        followed: set[str] = set()
        after: str | None = None
        while True:
            try:
                page, total, after = self._page(kind, given | {"after": after}, followed)
            except CursorRefusedError:
                if not followed:
                    raise
                return found, 1  # from the top again
            found |= {one.number: one for one in page if one.updated_at >= since}
            if page and page[-1].updated_at < since:
                return found, 0
            if after is None:
                return found, max(0, total - len(found))
            followed.add(after)

    def _page(self, kind: str, given: Json, followed: Collection[str]) -> tuple[list[Seen], int, str | None]:
        name, connection = LISTS[kind]

        def check(answer: HttpAnswer) -> str | None:
            listed = _at(answer, "repository", connection)
            hidden = _hiding(answer, ["repository", connection, "nodes"])
            wrong = _gap(listed, followed, shown=hidden is None)
            wrong = wrong or (None if _is_counted(listed) else "has nodes without number")
            return _problem(answer) or (f"{connection} of the answer {wrong}" if wrong else None)

        listed = _at(self._ask(name, given, check), "repository", connection)
        page = [_seen(node) for node in listed["nodes"] if node]
        return page, listed["totalCount"], _onward(listed)

    def seen(self, numbers: Iterable[int]) -> Iterator[Seen | Absent | Failed]:
        """Which of these numbers there are."""
        lines = {"issue": "issueSeen", "pull": "pullSeen"}
        wanted = [(number, "") for number in numbers]
        for found in self._each("numbers", wanted, lines, NUMBERS):
            yield _seen(found.node) if isinstance(found, _Found) else found

    def items(self, wanted: Iterable[tuple[int, str]]) -> Iterator[Whole | Absent | Failed]:
        """Items by number and kind, each with everything that belongs to it."""
        lines = {"issue": "issueFields", "pull": "pullFields"}
        for found in self._each("items", wanted, lines, ITEMS):
            if not isinstance(found, _Found):
                yield found
                continue
            try:
                self._complete(found.node)
            except (UnansweredError, CursorRefusedError, NotFoundError) as error:
                yield Failed(found.node["number"], str(error))
                continue
            objects = said(self.repo, found.node, found.at)
            yield Whole(_seen(found.node), [one._replace(json_text=self.api.hidden(one.json_text)) for one in objects])

    def confirmed(self, absent: Absent) -> Absent | Failed:
        """A number that was there before and is not now: REST says where a transferred item went, or shows it still."""
        if absent.moved_to:
            return absent
        try:
            found = self.api.get(f"/repos/{self.repo}/issues/{absent.number}").data
        except NotFoundError:
            return absent
        if elsewhere := place_of(found, self.repo, absent.number):
            return absent._replace(moved_to=elsewhere)
        return Failed(absent.number, "GraphQL says that it is not there, REST shows it")

    # -- by alias ---------------------------------------------------------------------------------------------

    def _each(
        self, name: str, wanted: Iterable[tuple[int, str]], lines: dict[str, str], most: int
    ) -> Iterator[_Found | Absent | Failed]:
        """Ask for each number; fewer at once where the server fails. What lacks is asked for last, each alone."""
        todo, alone = deque(wanted), deque[tuple[int, str]]()
        while todo or alone:
            size = min(self.sizes.get(name, most), most)
            batch = [todo.popleft() for _ in range(min(size, len(todo)))] or [alone.popleft()]
            single = len(batch) == 1
            try:
                answer = self._ask_each(name, batch, lines)
            except UnansweredError as error:
                if single:
                    yield Failed(batch[0][0], str(error))
                else:
                    self.sizes[name] = max(len(batch) // 4, 1)
                    todo.extendleft(reversed(batch))
                continue
            is_heavy = any(problem.get("type") == LIMITED for problem in answer.problems)
            if is_heavy or (name == "items" and len(json.dumps(answer.data)) > MOST_BYTES):
                self.sizes[name] = max(len(batch) // 2, 1)
            else:
                self.sizes[name] = min(size * 2, most)
            for number, kind in batch:
                if self._defect(answer, number, alone=single):
                    alone.append((number, kind))  # others can be the reason
                else:
                    yield self._found(answer, number)

    def _found(self, answer: HttpAnswer, number: int) -> _Found | Absent:
        """A number of which nothing lacks in an answer."""
        node = _at(answer, "repository", f"n{number}")
        if node is None:
            return Absent(number, answer.at)
        if self._is_elsewhere(node, number):
            return Absent(number, answer.at, f"{_of(node.get('repository'), 'nameWithOwner')}#{node['number']}")
        return _Found(self._without_hidden(node, answer, number), answer.at)

    def _without_hidden(self, node: Json, answer: HttpAnswer, number: int) -> Json:
        """The node without those null fields that an error explains: they are unknown, not empty."""
        reasons = {name: _hiding(answer, ["repository", f"n{number}", name]) for name in node if node[name] is None}
        hidden = {name: reason for name, reason in reasons.items() if reason}
        self.hidden += [f"{name} of #{number} ({reason})" for name, reason in hidden.items()]
        return {name: value for name, value in node.items() if name not in hidden}

    def _ask_each(self, name: str, batch: list[tuple[int, str]], lines: dict[str, str]) -> HttpAnswer:
        def check(answer: HttpAnswer) -> str | None:
            if not isinstance(_at(answer, "repository"), dict):
                return _problem(answer) or "the repository is missing in the answer"
            return self._defect(answer, batch[0][0], alone=True) if len(batch) == 1 else None

        while True:
            text = _by_alias(name, batch, lines, frozenset(self._lacking))
            try:
                return self._send(text, {}, check, HASTE if len(batch) > 1 else None)
            except UnknownFieldError as error:
                if error.name not in YOUNG - self._lacking:
                    raise
                self._lacking.add(error.name)
                self.notes.append(
                    f"{self.api.api_url} does not know the field {error.name} (an older GitHub Enterprise Server?): "
                    "what is stored of it stays as it is"
                )

    def _defect(self, answer: HttpAnswer, number: int, *, alone: bool) -> str | None:
        """What lacks of an item in an answer; None where it is whole, or where the answer says that there is none."""
        place = ["repository", f"n{number}"]
        node = _at(answer, *place)
        failed = [problem for problem in _below(answer, place) if problem.get("type") not in HIDDEN]
        if failed:
            return str(failed[0].get("message"))
        if node is None:
            is_absent = any(one.get("type") == "NOT_FOUND" and one.get("path") == place for one in answer.problems)
            return None if is_absent else _hiding(answer, place) or "it is null in the answer"
        if not isinstance(node, dict) or not _is_numbered(node):
            return "it has no number or time of change"
        if self._is_elsewhere(node, number) or "title" not in node:
            return None
        for name in CONNECTIONS[node["__typename"]]:
            part = node.get(name)
            if part is None and _hiding(answer, [*place, name]):
                continue
            wrong = _gap(part, shown=_hiding(answer, [*place, name]) is None)
            if not wrong and not alone and _lacks_rows(part):
                wrong = "has fewer rows than GitHub counts"  # also those that it hides, so that this is asked for once
            if wrong:
                return f"{name} {wrong}"
        return None

    def _is_elsewhere(self, node: Json, number: int) -> bool:
        """Whether the number leads to another item: a transferred one."""
        home = str(_of(node.get("repository"), "nameWithOwner"))
        return node["number"] != number or home.lower() != self.repo.lower()

    def _complete(self, node: Json) -> None:
        """Read the further pages of an item's parts into it."""
        for name in PARTS:
            part: Any = node.get(name)
            followed: set[str] = set()
            while (after := _onward(part)) is not None:
                if len(followed) >= MOST_FURTHER:
                    raise UnansweredError(f"{name} has more than {MOST_FURTHER} pages")
                followed.add(after)
                more = self._more(name, node["number"], after, followed)
                part["nodes"] += more["nodes"]
                part |= {key: more[key] for key in ("pageInfo", "totalCount") if key in more}

    def _more(self, name: str, number: int, after: str, followed: Collection[str]) -> Json:
        place = ["repository", "issueOrPullRequest"]

        def check(answer: HttpAnswer) -> str | None:
            if any(one.get("type") == "NOT_FOUND" and one.get("path") == place for one in answer.problems):
                raise NotFoundError(f"#{number} is gone")
            wrong = _gap(_at(answer, *place, name), followed)
            return _problem(answer) or (f"{name} {wrong}" if wrong else None)

        answer = self._ask(f"more_{name}", {"number": number, "after": after}, check, begun=True)
        found: Json = _at(answer, *place, name)
        return found

    def _ask(
        self, name: str, given: Json, check: Callable[[HttpAnswer], str | None], *, begun: bool = False
    ) -> HttpAnswer:
        return self._send(_with_fragments(_queries()[name]), given, check, None, begun=begun)

    def _send(
        self,
        text: str,
        given: Json,
        check: Callable[[HttpAnswer], str | None],
        retries: int | None,
        *,
        begun: bool = False,
    ) -> HttpAnswer:
        owner, name = self.repo.split("/", 1)

        def checked(answer: HttpAnswer) -> str | None:
            return check(answer) or ("the repository is not found" if _unknown(answer) else None)

        variables = {"owner": owner, "name": name} | given
        return self.api.query(text, variables, check=checked, retries=retries, within_budget=not begun)


# ---- texts of queries ------------------------------------------------------------------------------------------------


@cache
def _queries() -> dict[str, str]:
    """Queries and fragments of queries.graphql by name."""
    text = resources.package_file("mine", "queries.graphql").read_text(encoding="utf-8")
    found = re.split(r"(?m)^(?=query |fragment )", re.sub(r"(?m)^#.*\n", "", text))[1:]
    return {re.split(r"\W+", part, maxsplit=2)[1]: part for part in found}


def _with_fragments(text: str) -> str:
    """A query together with the fragments that it uses; GraphQL refuses others."""
    known, used, todo = _queries(), dict[str, str](), [text]
    while todo:
        for name in re.findall(r"\.\.\.(\w+)", todo.pop()):
            if name not in used:
                used[name] = known[name]
                todo.append(known[name])
    return text + "\n" + "".join(used.values())


def _by_alias(name: str, batch: list[tuple[int, str]], lines: dict[str, str], without: Collection[str]) -> str:
    """Text of a query that asks for each number; both kinds where it is not known."""
    asked = "\n".join(
        f"    n{number}: issueOrPullRequest(number: {number}) {{ "
        + " ".join(f"...{lines[one]}" for one in ([kind] if kind else lines))
        + " }"
        for number, kind in batch
    )
    text = _with_fragments(
        f"query {name}($owner: String!, $name: String!) {{\n  rateLimit {{ cost remaining resetAt }}\n"
        f"  repository(owner: $owner, name: $name) {{\n{asked}\n  }}\n}}\n"
    )
    for young in without:
        text = re.sub(rf"(?m)^ *{young} \{{[^{{}}]*\}}\n", "", text)
    return text


# ---- reading answers -------------------------------------------------------------------------------------------------


def _of(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _at(answer: HttpAnswer, *place: str) -> Any:
    """What stands at a place of an answer; None where there is nothing."""
    value = answer.data
    for step in place:
        value = _of(value, step)
    return value


def _below(answer: HttpAnswer, place: list[str]) -> Iterator[Json]:
    """The errors about what stands at a place or inside of it."""
    for problem in answer.problems:
        path = problem.get("path")
        if isinstance(path, list) and path[: len(place)] == place:
            yield problem


def _hiding(answer: HttpAnswer, place: list[str]) -> str | None:
    """The error that says that this token may not see something at a place."""
    return next((str(one.get("message")) for one in _below(answer, place) if one.get("type") in HIDDEN), None)


def _problem(answer: HttpAnswer) -> str | None:
    """The first error of an answer that is not about what this token may not see."""
    return next((str(one.get("message")) for one in answer.problems if one.get("type") not in HIDDEN), None)


def _unknown(answer: HttpAnswer) -> bool:
    return any(one.get("type") == "NOT_FOUND" and one.get("path") == ["repository"] for one in answer.problems)


def _is_numbered(node: object) -> bool:
    count = _of(_of(node, "comments"), "totalCount")
    return isinstance(node, dict) and (
        isinstance(_of(node, "number"), int)
        and isinstance(_of(node, "updatedAt"), str)
        and _of(node, "__typename") in KINDS
        and (isinstance(count, int) or "title" in node)
    )


def _is_counted(listed: object) -> bool:
    nodes = _of(listed, "nodes")
    return (
        isinstance(_of(listed, "totalCount"), int)
        and isinstance(nodes, list)
        and all(isinstance(_of(node, "number"), int) for node in nodes if node)
        and all(_is_numbered(node) for node in nodes if node and "updatedAt" in node)
    )


def _gap(connection: object, followed: Collection[str] = (), *, shown: bool = True) -> str | None:
    """Why a page of a connection cannot be used; None where it can."""
    nodes, info = _of(connection, "nodes"), _of(connection, "pageInfo")
    if not isinstance(nodes, list):
        return "is absent" if connection is None else "has no nodes"
    if not isinstance(_of(info, "hasNextPage"), bool):
        return "does not say whether it goes on"
    if info["hasNextPage"] and not isinstance(info.get("endCursor"), str):
        return "goes on without a cursor"
    if info["hasNextPage"] and info["endCursor"] in followed:
        return "goes on where it was before"
    return "has null nodes" if shown and None in nodes else None


def _lacks_rows(part: Any) -> bool:
    """Whether a connection that does not go on is shorter than its count."""
    count = part.get("totalCount")
    return isinstance(count, int) and _onward(part) is None and count > len(part["nodes"])


def _onward(connection: object) -> str | None:
    """End cursor of a connection that goes on."""
    info = _of(connection, "pageInfo")
    return info.get("endCursor") if _of(info, "hasNextPage") else None


def _seen(node: Json) -> Seen:
    count = _of(node.get("comments"), "totalCount")
    return Seen(node["number"], KINDS[node["__typename"]], node["updatedAt"], count if isinstance(count, int) else -1)


def said(repo: str, node: Json, at: datetime) -> list[Said]:
    """The raw objects of an item that was read whole at a time."""
    number, whole = node["number"], [part for name, part in PARTS.items() if name in node]
    parts = {name: [one for one in node[name]["nodes"] if one] for name in PARTS if name in node}
    counts = {name: {"totalCount": node[name].get("totalCount", len(rows))} for name, rows in parts.items()}
    item = {**node, **counts, "whole": whole}

    def one(kind: str, name: str, stated: str | None, value: Json) -> Said:
        text = json.dumps(value, separators=(",", ":"))
        return Said(repo, kind, name, "graphql", stated, None, at, text)

    objects = [one("item", str(number), node["updatedAt"], item)]
    objects += [
        one("comment", part_id(number, value.get("fullDatabaseId") or value["id"]), value.get("updatedAt"), value)
        for value in parts.get("comments", ())
    ]
    objects += [
        one("event", part_id(number, value["id"]), value.get("createdAt"), value)
        for value in parts.get("timelineItems", ())
    ]
    objects += [one("file", part_id(number, value["path"]), None, value) for value in parts.get("files", ())]
    return objects


def place_of(found: object, repo: str, number: int) -> str | None:
    """Where an item is that REST gives for this one (owner/name#number), if that is elsewhere."""
    place = re.fullmatch(r"https?://[^/]+/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)", str(_of(found, "html_url")))
    if place is None or (place[1].lower(), place[2]) == (repo.lower(), str(number)):
        return None
    return f"{place[1]}#{place[2]}"


def said_absent(repo: str, absent: Absent) -> Said:
    """The statement that there is no item of a number any more."""
    value = {"absent": True, "transferred_to": absent.moved_to}
    return Said(repo, "item", str(absent.number), "graphql", None, None, absent.at, json.dumps(value))
