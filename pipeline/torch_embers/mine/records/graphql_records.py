"""GitHub's GraphQL answers as records. Pure; the fields are those of queries/*.graphql."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.mine.pages import reject
from torch_embers.mine.records import graphql_answers, graphql_fields
from torch_embers.mine.records.accounts import account, users
from torch_embers.mine.records.answers import printed
from torch_embers.mine.records.graphql_fields import NO_EVENTS
from torch_embers.mine.records.rest_records import BadRecordError, flag, number_of, stated, text, whole, word
from torch_embers.normalize import clean_text, iso_utc
from torch_embers.store.readings import ITEM
from torch_embers.store.records import Batch, Comment, Event, Item, PullFile, Reading, StatedLink

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from torch_embers.mine.records.graphql_answers import Place, Problem
    from torch_embers.store.records import Page

_CAMEL = re.compile(r"(?<!^)(?=[A-Z])")
OVERFLOWING = ("comments", "timelineItems", "files", "closingIssuesReferences", "closedByPullRequestsReferences")
"""Connections of an item that can be longer than one page; each has a query more_<name>.graphql."""
YOUNG = frozenset({"issueType"})
"""Fields that an older GitHub Enterprise Server does not have; a query goes without them there."""
_FURTHER = re.compile(r"(?P<name>\w+) of #(?P<number>\d+) ")
"""How the request of such a query begins; it ends with the page that began the reading."""
_ALONE = re.compile(r"item (?P<number>\d+)")
"""The request of the query of one item."""


def query(name: str, without: Collection[str] = ()) -> str:
    """Text of a query together with the fragments it uses (GraphQL refuses unused ones).

    Args:
        name: of its file.
        without: fields of ``YOUNG`` that the server does not have.
    """
    body = resources.package_file("mine", "records", "queries", f"{name}.graphql").read_text(encoding="utf-8")
    fragments = resources.package_file("mine", "records", "queries", "fragments.graphql").read_text(encoding="utf-8")
    known = {part.split()[1]: part for part in re.split(r"(?m)^(?=fragment )", fragments)[1:]}
    wanted: list[str] = []
    todo = [body]
    while todo:
        for fragment in re.findall(r"\.\.\.(\w+)", todo.pop()):
            if fragment in known and fragment not in wanted:
                wanted.append(fragment)
                todo.append(known[fragment])
    whole = body + "\n" + "\n".join(known[w] for w in sorted(wanted))
    for young in without:
        whole = re.sub(rf"(?m)^ *{young} \{{[^{{}}]*\}}\n", "", whole)
    return whole


def nodes_of(connection: object) -> list[Any]:
    """Nodes of a connection; an absent one has none."""
    return list(connection.get("nodes") or []) if isinstance(connection, dict) else []


def next_of(connection: object) -> str | None:
    """End cursor of a connection that goes on."""
    info = connection.get("pageInfo") if isinstance(connection, dict) else None
    return info.get("endCursor") if isinstance(info, dict) and info.get("hasNextPage") else None


def listing(data: dict[str, Any], name: str) -> dict[str, Any]:
    """The connection ``issues`` or ``pullRequests`` of an answer; empty where the server left it out."""
    repository = (data.get("data") or {}).get("repository") or {}
    return repository.get(name) or {}


def item_nodes(repository: dict[str, Any]) -> list[Any]:
    """All issues and pull requests below a repository, listed or asked for by number."""
    nodes = [*nodes_of(repository.get("issues")), *nodes_of(repository.get("pullRequests"))]
    return [*nodes, repository["issueOrPullRequest"]] if repository.get("issueOrPullRequest") else nodes


def _name(repository: object) -> str | None:
    return text(repository.get("nameWithOwner")) if isinstance(repository, dict) else None


def _lower(value: object) -> str | None:
    return clean_text(value).lower() if isinstance(value, str) else None


def _reason(node: dict[str, Any], state: str | None) -> str | None:
    if node.get("merged"):
        return "merged"
    reason = _lower(node.get("stateReason"))
    return "" if reason is None and state == "closed" else reason


def item(node: dict[str, Any], repo: str, page: Page) -> Item:
    """Turn an Issue or PullRequest node into a record.

    Raises:
        BadRecordError: no usable number.
    """
    pull = node.get("__typename") == "PullRequest"
    state = "open" if "OPEN" in (node.get("state"), node.get("pullState")) else "closed"
    milestone = node.get("milestone") or {}
    rollup = node.get("statusCheckRollup") or {}
    labels = {clean_text(n["name"]) for n in nodes_of(node.get("labels")) if n and isinstance(n.get("name"), str)}
    return Item(
        repo=repo,
        number=number_of(node),
        kind="pull" if pull else "issue",
        title=text(node.get("title")),
        body=text(node.get("body")) or "",
        author=stated(node, "author", account(node.get("author"))),
        author_association=text(node.get("authorAssociation")),
        state=state,
        state_reason=_reason(node, state),
        is_draft=node.get("isDraft") if pull else None,
        merged_at=iso_utc(node.get("mergedAt")),
        merge_sha=text((node.get("mergeCommit") or {}).get("oid")),
        base_ref=text(node.get("baseRefName")),
        head_ref=text(node.get("headRefName")),
        milestone=stated(node, "milestone", text(milestone.get("title"))),
        created_at=iso_utc(node.get("createdAt")),
        updated_at=iso_utc(node.get("updatedAt")),
        closed_at=iso_utc(node.get("closedAt")),
        comment_count=whole((node.get("comments") or {}).get("totalCount")),
        reaction_count=whole((node.get("reactions") or {}).get("totalCount")),
        labels=tuple(sorted(labels)),
        history=True,
        milestone_number=whole(milestone.get("number")),
        milestone_due_at=iso_utc(milestone.get("dueOn")),
        locked=flag(node.get("locked")),
        lock_reason=word(node.get("activeLockReason")),
        issue_type=stated(node, "issueType", text((node.get("issueType") or {}).get("name"))),
        merged_by=account(node.get("mergedBy")),
        head_sha=text(node.get("headRefOid")),
        check_state=stated(node, "statusCheckRollup", _lower(rollup.get("state"))),
        **page.stamp,
    )


def _comment(node: dict[str, Any], repo: str, number: int, page: Page) -> Comment:
    return Comment(
        repo=repo,
        number=number,
        comment_id=clean_text(str(node.get("fullDatabaseId") or node["id"])),
        author=account(node.get("author")),
        author_association=text(node.get("authorAssociation")),
        created_at=iso_utc(node.get("createdAt")),
        updated_at=iso_utc(node.get("updatedAt")),
        body=text(node.get("body")) or "",
        **page.stamp,
    )


def event_type(typename: str) -> str:
    """``MarkedAsDuplicateEvent`` -> ``marked_as_duplicate``; a renamed title is ``renamed`` as in REST."""
    name = _CAMEL.sub("_", typename.removesuffix("Event")).lower()
    return "renamed" if name == "renamed_title" else name


def _event(node: dict[str, Any], repo: str, number: int, page: Page) -> Event:
    closer = node.get("closer") or {}
    other = node.get("canonical") or node.get("source") or node.get("subject") or closer
    commit = node.get("commit") or {}
    from_repository = node.get("fromRepository")
    return Event(
        repo=repo,
        number=number,
        event_id=clean_text(str(node["id"])),
        type=event_type(clean_text(str(node.get("__typename")))),
        created_at=iso_utc(node.get("createdAt")),
        actor=account(node.get("actor")),
        label=text((node.get("label") or {}).get("name")),
        state_reason=_lower(node.get("stateReason")),
        title_from=text(node.get("previousTitle")),
        title_to=text(node.get("currentTitle")),
        other_repo=_name(other.get("repository")) or _name(from_repository),
        other_number=whole(other.get("number")),
        commit_sha=text(closer.get("oid") or commit.get("oid")),
        will_close=flag(node.get("willCloseTarget")),
        **page.stamp,
    )


def _file(node: dict[str, Any], repo: str, number: int, page: Page) -> PullFile:
    return PullFile(
        repo=repo,
        number=number,
        path=clean_text(str(node["path"])),
        change=_lower(node.get("changeType")),
        additions=whole(node.get("additions")),
        deletions=whole(node.get("deletions")),
        **page.stamp,
    )


def _links(node: dict[str, Any], repo: str, number: int, page: Page) -> Iterator[StatedLink]:
    """Fixing relations that GitHub itself states, always from the pull request to the issue."""
    for name, outward in (("closedByPullRequestsReferences", False), ("closingIssuesReferences", True)):
        for other in nodes_of(node.get(name)):
            there = (_name(other.get("repository")) or repo, whole(other.get("number"))) if other else (repo, None)
            if there[1] is None:
                continue
            pull, issue = ((repo, number), there) if outward else (there, (repo, number))
            yield StatedLink(
                repo=pull[0],
                number=pull[1] or 0,
                relation="fixes",
                target_repo=issue[0],
                target_number=issue[1] or 0,
                evidence="closing_reference",
                **page.stamp,
            )


def _parts(node: dict[str, Any], repo: str, number: int, page: Page, batch: Batch) -> None:
    """Comments, events and files below an item; a null among them stands for an error of the server."""
    batch.comments += [_comment(n, repo, number, page) for n in nodes_of(node.get("comments")) if n]
    happened = [n for n in nodes_of(node.get("timelineItems")) if n and n.get("id")]
    batch.events += [_event(n, repo, number, page) for n in happened if str(n["__typename"]) not in NO_EVENTS]
    batch.pull_files += [_file(n, repo, number, page) for n in nodes_of(node.get("files")) if n]
    batch.stated_links += _links(node, repo, number, page)
    graphql_fields.add(node, repo, number, page, batch)


def _rejected(found: Sequence[Problem]) -> list[str]:
    """What the server could not answer inside an answer that is otherwise good."""
    return [f"{'/'.join(map(str, problem.path))}: {problem.message}" for problem in found]


def _places(repository: dict[str, Any]) -> Iterator[tuple[Place, Any]]:
    """Each node of ``item_nodes`` with its place in the answer."""
    for name in ("issues", "pullRequests"):
        for index, node in enumerate(nodes_of(repository.get(name))):
            yield ("repository", name, "nodes", index), node
    if repository.get("issueOrPullRequest"):
        yield ("repository", "issueOrPullRequest"), repository["issueOrPullRequest"]


def read(data: dict[str, Any], page: Page, *, checked: bool = False) -> Batch:
    """Turn an answer of any of the queries into records.

    Args:
        data: the answer.
        page: where it came from.
        checked: say how completely it holds each item; answers that an earlier version stored lack what this needs.
    """
    batch = Batch()
    root = data.get("data") or {}
    repository = root.get("repository") or {}
    repo = _name(repository) or page.repo
    batch.users += users(root, repo, page)
    graphql_fields.add_review_comments(data, page, batch)
    found = graphql_answers.problems(data)
    for order, (place, given) in enumerate(_places(repository), start=1):
        if given is None:
            if not checked:  # else it waits in the queue
                batch.rejects.append(reject(page, order, "the server could not answer for this item", ""))
            continue
        if checked and (other := _other_item(given, page, repo)):
            batch.readings.append(other)
            continue
        node = graphql_answers.stated_fields(given, place, found)
        try:
            record = item(node, repo, page)
        except BadRecordError as error:
            batch.rejects.append(reject(page, order, str(error), printed(node)))
            continue
        stated = list(graphql_answers.readings(node, place, found, page, repo, record.number)) if checked else []
        batch.items.append(replace(record, **_unknown(stated)))
        batch.readings += stated
        for timeline in (reading for reading in stated if reading.part == "events"):
            batch.readings += graphql_fields.readings(node, timeline)
        _parts(node, repo, record.number, page, batch)
    if checked and page.request.startswith(graphql_fields.REVIEW_COMMENTS):
        batch.readings += graphql_fields.review_comment_readings(data, page)
    _read_further(root.get("node"), repo, page, found, batch, checked=checked)
    lasting = [problem for problem in found if problem.hides or not checked]
    batch.rejects += [reject(page, None, message, "") for message in _rejected(lasting)]
    return batch


def _other_item(node: object, page: Page, repo: str) -> Reading | None:
    """A gap, where an item was asked for alone and the answer is about another one."""
    if (asked := _ALONE.fullmatch(page.request)) is None:
        return None
    number = int(asked["number"])
    other = graphql_answers.other_item(node, number, repo)
    why = {"reason": f"the answer is about {other}", **page.stamp}
    return Reading(repo, number, ITEM, page.page_id, sound=False, **why) if other else None


def _unknown(stated: Sequence[Reading]) -> dict[str, Any]:
    """Columns of an item that a reading with gaps cannot state."""
    broken = {reading.part for reading in stated if not reading.sound}
    return ({"labels": None} if "labels" in broken else {}) | ({"history": False} if "events" in broken else {})


def _read_further(
    node: object, repo: str, page: Page, found: Sequence[Problem], batch: Batch, *, checked: bool
) -> None:
    """Read the answer of a query more_<name>: the rest of one part of an item."""
    asked = _FURTHER.match(page.request) if checked else None
    number = whole(node.get("number")) if isinstance(node, dict) else None
    if asked is not None and number not in (None, int(asked["number"])):
        node = number = None  # about another item than was asked for
    if isinstance(node, dict) and number is not None:
        repo = _name(node.get("repository")) or repo
        _parts(node, repo, number, page, batch)
    if asked is not None:
        connection = node.get(asked["name"]) if isinstance(node, dict) else None
        number = int(asked["number"])
        reading = graphql_answers.further(asked["name"], connection, found, page, repo, number)
        batch.readings.append(reading)
        if reading.part == "events" and isinstance(node, dict):
            batch.readings += graphql_fields.readings(node, reading)
        if reading.part == "events" and not reading.sound and isinstance(node, dict):
            at = iso_utc(node.get("updatedAt"))
            batch.items.append(Item(repo, number, updated_at=at, history=False, **page.stamp))


def overflows(node: dict[str, Any]) -> Iterator[tuple[str, str, int, str]]:
    """(connection, node id, number, end cursor) of every part of an item that goes on."""
    for name in OVERFLOWING:
        cursor = next_of(node.get(name))
        if cursor is not None and isinstance(node.get("id"), str) and isinstance(node.get("number"), int):
            yield name, node["id"], node["number"], cursor
