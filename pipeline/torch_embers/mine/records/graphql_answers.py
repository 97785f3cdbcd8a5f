"""What is missing in a GraphQL answer. Pure.

GitHub answers with HTTP 200 even where it could not find everything out: null stands for what is missing, and
``errors`` may name it. So nothing absent is taken for an end: a listing must have its nodes and say whether it goes on
(``defect``), and each part of an item must be there, without nulls and as long as GitHub counts it (``readings``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from torch_embers.mine.records.rest_records import whole
from torch_embers.normalize import clean_text
from torch_embers.store.readings import FIELDS, ITEM
from torch_embers.store.records import Batch, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from torch_embers.store.records import Page

KIND = "graphql.2"
"""Kind of the pages whose parts are checked; pages of the kind ``graphql`` were read by an earlier version."""
NUMBERS_KIND = "graphql.numbers"
"""Kind of the pages that give the numbers behind null nodes of a listing."""
HIDDEN = frozenset({"FORBIDDEN", "NOT_FOUND", "INSUFFICIENT_SCOPES"})
"""Errors that say that this token may not see something: to ask again gives the same."""
LIMITED = "RESOURCE_LIMITS_EXCEEDED"
"""The error of a query that is too heavy: a smaller page is answered."""
LISTINGS = {"issues": ("repository", "issues"), "pulls": ("repository", "pullRequests")}
"""Where the connection of each listing stands in an answer."""
CONNECTIONS: dict[str, dict[str, str]] = {
    "Issue": {
        "labels": "labels",
        "comments": "comments",
        "timelineItems": "events",
        "closedByPullRequestsReferences": "closed_by",
        "assignees": "assignees",
        "subIssues": "sub_issues",
    },
    "PullRequest": {
        "labels": "labels",
        "comments": "comments",
        "timelineItems": "events",
        "files": "pull_files",
        "closingIssuesReferences": "closing_references",
        "assignees": "assignees",
        "reviewRequests": "reviewers",
    },
}
"""Connections that are asked for with an item, and the part (``store.readings.PARTS``) that each fills."""
FAILURE_KIND = "graphql.failure"
"""Kind of the pages of our own that note that an incomplete item was asked for in vain."""

Place = tuple[str | int, ...]
"""Where something stands in an answer: names of fields and places in lists."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One entry of ``errors``."""

    path: Place
    kind: str
    message: str

    @property
    def hides(self) -> bool:
        """Whether it says that this token may not see something."""
        return self.kind in HIDDEN

    def below(self, place: Place) -> bool:
        """Whether it concerns something inside of what stands at ``place``."""
        return len(self.path) > len(place) and self.path[: len(place)] == place


def problems(data: object) -> list[Problem]:
    """All errors of an answer."""
    listed = data.get("errors") if isinstance(data, dict) else None
    found = []
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict):
            path = tuple(p for p in entry.get("path") or () if isinstance(p, str | int))
            found.append(Problem(path, str(entry.get("type") or ""), clean_text(str(entry.get("message")))))
    return found


def at(data: object, place: Place) -> Any:
    """What stands at a place of an answer's ``data``; ``None`` where there is nothing."""
    value = data.get("data") if isinstance(data, dict) else None
    for step in place:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def gap(connection: object) -> str | None:
    """Why a connection cannot be read, apart from single nodes; ``None`` where it can."""
    if not isinstance(connection, dict):
        return "is absent"
    if not isinstance(connection.get("nodes"), list):
        return "has no nodes"
    info = connection.get("pageInfo")
    if not isinstance(info, dict) or not isinstance(info.get("hasNextPage"), bool):
        return "does not say whether it goes on"
    if info["hasNextPage"] and not info.get("endCursor"):
        return "goes on without a cursor"
    return None


def defect(
    *place: str, partial: bool = False, followed: Collection[str] = frozenset()
) -> Callable[[object], str | None]:
    """A check whether the connection at ``place`` is what was asked for.

    Args:
        place: the fields from the root of the answer to the connection.
        partial: accept nodes that a limit of resources left out, because there is no smaller page to ask for.
        followed: cursors that led here; a page that goes on at one of them would be asked for for ever.

    Returns:
        A function of the answer that says what is wrong with it, or ``None``.
    """

    def check(data: object) -> str | None:
        for problem in problems(data):
            listed = not problem.below((*place, "nodes"))
            if listed or (problem.kind == LIMITED and not partial):
                return problem.message
        connection = at(data, place)
        wrong = gap(connection)
        if wrong is None and connection["pageInfo"]["hasNextPage"] and connection["pageInfo"]["endCursor"] in followed:
            wrong = "goes on where it was before"
        return f"{place[-1]} of the answer {wrong}" if wrong else None

    return check


def absent(*place: str) -> Callable[[object], str | None]:
    """A check whether there is anything at ``place``, unless the answer says that it cannot be found."""

    def check(data: object) -> str | None:
        if at(data, place) is not None or any(p.kind == "NOT_FOUND" and p.path == place for p in problems(data)):
            return None
        return next((p.message for p in problems(data)), f"{place[-1]} is missing in the answer")

    return check


def other_item(node: object, number: int, repo: str) -> str | None:
    """Which item a node is of, where it is not the one that was asked for: the number of a transferred one leads on."""
    if not isinstance(node, dict):
        return None
    home = node.get("repository")
    name = home.get("nameWithOwner") if isinstance(home, dict) else None
    found, place = node.get("number", number), name if isinstance(name, str) else repo
    return None if found == number and place.lower() == repo.lower() else clean_text(f"{place}#{found}")


def counted(*names: str) -> Callable[[object], str | None]:
    """A check whether a repository is there with the length of its connections."""

    def check(data: object) -> str | None:
        whole = all(isinstance(at(data, ("repository", name, "totalCount")), int) for name in names)
        return None if whole else next((p.message for p in problems(data)), "the repository has no counts")

    return check


def nulls(data: object, place: Place) -> int:
    """How many nodes of a listing are null although nothing says that this token may not see them."""
    listed = at(data, place)
    nodes = listed.get("nodes") if isinstance(listed, dict) else None
    found = problems(data)
    return sum(n is None and not _hidden(found, (*place, "nodes", i)) for i, n in enumerate(nodes or []))


def _hidden(found: Sequence[Problem], place: Place) -> bool:
    return any(p.hides and (p.path == place or p.below(place)) for p in found)


def stated_fields(node: dict[str, Any], place: Place, found: Sequence[Problem]) -> dict[str, Any]:
    """The node without those null fields that an error explains: they are unknown, not empty."""
    unknown = {p.path[len(place)] for p in found if p.below(place)}
    return {name: value for name, value in node.items() if value is not None or name not in unknown}


def without_reactions(node: object) -> bool:
    """Whether the reactions to something were asked for, and null came: GitHub lists all kinds, also unused ones."""
    return isinstance(node, dict) and "reactionGroups" in node and node["reactionGroups"] is None


def _uncounted(node: dict[str, Any]) -> str | None:
    """What is wrong with the reactions to an item, of which GitHub also gives the number."""
    counted = node.get("reactions")
    count = counted.get("totalCount") if isinstance(counted, dict) else None
    return f"reactionGroups is null, of {count} reactions" if without_reactions(node) and count != 0 else None


def readings(
    node: dict[str, Any], place: Place, found: Sequence[Problem], page: Page, repo: str, number: int
) -> Iterator[Reading]:
    """How completely the answer holds an item and each of its parts.

    What lacks in a page that asked for this item alone is not waited for: counts include comments that GitHub hides.
    """
    failed = [p for p in found if p.below(place) and not p.hides]
    reasons = {p.message for p in failed} | {wrong for wrong in (_uncounted(node),) if wrong}
    stated = {"sound": not reasons, "reason": "; ".join(sorted(reasons)) or None, **page.stamp}
    yield Reading(repo, number, ITEM, page.page_id, **stated)
    yield Reading(repo, number, FIELDS, page.page_id, hidden=_hidden(found, place), **stated)
    alone = page.request.startswith("item ")
    for name, part in CONNECTIONS.get(str(node.get("__typename")), {}).items():
        inner = (*place, name)
        if _hidden(found, inner) and node.get(name) is None:
            continue
        total = node[name].get("totalCount") if isinstance(node.get(name), dict) else None
        reading = part_reading(node.get(name), name, part, inner, found, page, repo, number, page.page_id, total)
        yield replace(reading, excused=alone)


def further(name: str, connection: object, found: Sequence[Problem], page: Page, repo: str, number: int) -> Reading:
    """How completely a further page holds a part; its request names the page that began the reading."""
    part = next(parts[name] for parts in CONNECTIONS.values() if name in parts)
    begun = page.request.rsplit(" ", 1)[-1]
    return part_reading(connection, name, part, ("node", name), found, page, repo, number, begun, None)


def part_reading(
    connection: object,
    name: str,
    part: str,
    place: Place,
    found: Sequence[Problem],
    page: Page,
    repo: str,
    number: int,
    begun: str,
    total: object,
) -> Reading:
    """How completely a page holds a connection of an item.

    Args:
        connection: what stands in the answer.
        name: its name in the query.
        part: the part of the item that it fills.
        place: where it stands in the answer.
        found: the errors of the answer.
        page: the page of the answer.
        repo: repository of the item.
        number: number of the item.
        begun: page that began the reading.
        total: how many there are by GitHub's count; not a number where that is not compared.
    """
    wrong = gap(connection)
    nodes = connection["nodes"] if isinstance(connection, dict) and wrong is None else []
    if any(n is None and not _hidden(found, (*place, "nodes", i)) for i, n in enumerate(nodes)):
        wrong = "has null nodes"
    elif any(map(without_reactions, nodes)):
        wrong = "has nodes whose reactionGroups is null"
    failed = [p.message for p in found if (p.path == place or p.below(place)) and not p.hides]
    if wrong is None and failed:
        wrong = f"came with an error ({failed[0]})"
    ends = isinstance(connection, dict) and gap(connection) is None and not connection["pageInfo"]["hasNextPage"]
    reason = f"{name} {wrong}" if wrong else None
    count = whole(total)
    return Reading(
        repo,
        number,
        part,
        begun,
        sound=wrong is None,
        ends=ends or wrong is not None,
        nodes=len(nodes),
        total=count,
        hidden=_hidden(found, place),
        reason=reason,
        **page.stamp,
    )


def place_of(
    listing: str, variables: dict[str, Any], answer: object, at: str, settled: str, above: str | None = None
) -> str:
    """Where null nodes stand in a page of a listing: what is asked to learn their numbers, and later to try again.

    Args:
        listing: issues or pulls.
        variables: those of the page.
        answer: the page.
        at: its time.
        settled: what changed up to this time was in its place in the page.
        above: when the last record before the page changed; ``None`` where that is not known.
    """
    nodes = at_listing(answer, listing)["nodes"]
    answered = [n for n in nodes if n]
    known = [n["number"] for n in answered]
    asked = variables | {"first": len(nodes)}
    last = str(answered[-1].get("updatedAt")) if answered else None
    place = {"listing": listing, "variables": asked, "known": known, "missing": len(nodes) - len(known)}
    return json.dumps(place | {"last": last, "at": at, "settled": settled, "above": above}, sort_keys=True)


def place_name(place: str) -> str:
    """What a user reads of an item that waits: its number, or the place in a listing where nothing came of it."""
    if not place.startswith("{"):
        return place
    walk = json.loads(place)
    kind = "pull request" if walk["listing"] == "pulls" else "issue"
    times = [str(time) for time in (walk.get("last"), walk.get("above")) if time]
    return f"{kind} of unknown number" + (f" that changed near {times[0]}" if times else "")


def from_the_top(place: str, size: int) -> str | None:
    """What to ask for where GitHub refuses the cursor of a place: its listing from the top, down to the same records.

    ``None`` where the place does not say when they begin; then only the whole listing read again tells.
    """
    walk = json.loads(place)
    if walk.get("above") is None or walk["variables"].get("after") is None:
        return None
    return json.dumps(walk | {"variables": walk["variables"] | {"after": None, "first": size}, "place": place})


def at_listing(answer: object, listing: str) -> Any:
    """The connection of a listing in an answer."""
    return at(answer, LISTINGS[listing])


def unanswered(data: object, page: Page) -> Batch:
    """Read the numbers of a page of a listing that had null nodes: the items behind these wait to be read again.

    Until the numbers reach beyond that page, or the listing ended, its place goes on waiting, too.
    """
    walk = json.loads(page.request)
    connection = at_listing(data, walk["listing"])
    nodes = connection.get("nodes") if isinstance(connection, dict) else None
    numbers, left, _ = _left_out(nodes or [], walk, page.fetched_at)
    ends = nodes is not None and (left == 0 or not _goes_on(connection))
    sound = nodes is not None and not nulls(data, LISTINGS[walk["listing"]])
    why = {"reason": "the listing had no answer for it", **page.stamp}
    lost = [Reading(page.repo, number, ITEM, page.page_id, sound=False, **why) for number in numbers]
    begun = str(walk.get("begun") or page.page_id)
    waits = Reading(page.repo, None, ITEM, begun, sound=sound, ends=ends, place=_place(walk), **why)
    return Batch(readings=[*lost, waits])


def further_numbers(data: object, page: Page, size: int) -> str | None:
    """What to ask for behind a page of numbers; ``None`` where it was the last.

    Args:
        data: the answer.
        page: its page; the request is a place, or what this function gave for the page before it.
        size: numbers of a page.
    """
    walk = json.loads(page.request)
    connection = at_listing(data, walk["listing"])
    _, left, passed = _left_out(connection["nodes"], walk, page.fetched_at)
    if left == 0 or not _goes_on(connection):
        return None
    asked = walk["variables"] | {"after": connection["pageInfo"]["endCursor"], "first": size}
    begun = walk.get("begun") or page.page_id
    further = {"variables": asked, "place": _place(walk), "left": left, "passed": passed, "begun": begun}
    return json.dumps(walk | further, sort_keys=True)


def _place(walk: dict[str, Any]) -> str:
    return str(walk.get("place") or json.dumps(walk, sort_keys=True))


def _goes_on(connection: dict[str, Any]) -> bool:
    info = connection.get("pageInfo")
    return isinstance(info, dict) and info.get("hasNextPage") is True


def _left_out(nodes: Sequence[Any], walk: dict[str, Any], now: str) -> tuple[list[int], int, bool]:
    """Numbers that the page at a place may have left out, how many are still to be read, and whether its end was met.

    Behind its last known item as many are read as were missing, because these can have stood at its end. What changed
    after that page stands elsewhere in the listing now, and the mine meets it there.
    """
    known, last, above = set(walk["known"]), walk.get("last"), walk.get("above")
    passed = bool(walk.get("passed", last is None))
    left = whole(walk.get("left", walk.get("missing"))) or 0
    found = set()
    for node in nodes:
        if passed and left == 0:
            break
        number = whole(node.get("number")) if isinstance(node, dict) else None
        changed = str(node.get("updatedAt") or "") if isinstance(node, dict) else ""
        if above and changed and (changed < above if walk["listing"] == "issues" else changed > above):
            continue
        if last is not None and not passed and changed:
            is_behind = changed > last if walk["listing"] == "issues" else changed < last
            passed = is_behind or (changed == last and number in known)
        if number in known:
            continue
        # of the second of the record above the page, others can have stood above it, too
        if passed and left and changed <= walk.get("settled", now) and changed != above:
            left -= 1
        if number is not None and number > 0 and not walk.get("at", now) < changed <= now:
            found.add(number)
    return sorted(found), left if passed else max(left, 1), passed


def failure(data: dict[str, Any], page: Page) -> Batch:
    """Read the note that an incomplete item was asked for in vain."""
    number = data["number"]
    place = None if number is not None else data["place"]
    lost = Reading(
        page.repo, number, ITEM, page.page_id, sound=False, reason=data["message"], place=place, **page.stamp
    )
    return Batch(readings=[lost])
