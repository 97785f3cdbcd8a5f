"""GitHub's GraphQL API over a dataset in memory: graphql-core runs the queries over `schema.graphql`.

Everything here is a view of the dataset (its words are described in `dataset.py`).
"""

from __future__ import annotations

import base64
import functools
import json
import operator
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphql

from servers.cost import Price, error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Json = dict[str, Any]
Entries = list[tuple[list[Any], Any]]
SCHEMA = Path(__file__).with_name("schema.graphql")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)")
NO_FIELD = re.compile(r"Cannot query field '(\w+)' on type '(\w+)'\..*", re.DOTALL)
ORDERS = {"CREATED_AT": "createdAt", "UPDATED_AT": "updatedAt"}


# ---- the schema


@functools.cache
def schema(*, older: bool = False) -> graphql.GraphQLSchema:
    """The schema; an older server lacks what `schema.graphql` adds to a type at its end."""
    document = graphql.parse(SCHEMA.read_text("utf-8"))
    if older:
        kept = [one for one in document.definitions if not isinstance(one, graphql.ObjectTypeExtensionNode)]
        document = graphql.DocumentNode(definitions=tuple(kept))
    made = graphql.build_ast_schema(document)
    made.type_map["DateTime"].coerce_input_value = _moment
    return made


def _moment(value: object) -> str:
    if not isinstance(value, str) or not TIME.fullmatch(value):
        raise graphql.GraphQLError(f"{value!r} is not an ISO 8601 DateTime")
    return value


@functools.lru_cache(maxsize=256)
def checked(query: str, *, older: bool) -> tuple[graphql.DocumentNode, list[graphql.GraphQLError]]:
    """A query and what the schema says against it."""
    document = graphql.parse(query)
    return document, graphql.validate(schema(older=older), document)


# ---- connections, identifiers, people


def encoded(key: Sequence[Any]) -> str:
    """A cursor or node id: the place as opaque text."""
    return base64.urlsafe_b64encode(json.dumps(list(key), separators=(",", ":")).encode()).decode().rstrip("=")


def decoded(text: str) -> list[Any]:
    """The place behind a cursor or node id."""
    try:
        return list(json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))
    except (TypeError, ValueError):
        raise error("INVALID_CURSOR_ARGUMENTS", f"`{text}` does not appear to be a valid cursor.") from None


def connection(
    entries: Entries, first: int | None = None, after: str | None = None, *, descending: bool = False
) -> Json:
    """A page of entries `[key, make]`, which are in the order of their keys.

    The cursor holds a key and not an offset, so an item that moves while a client pages neither hides nor repeats its
    neighbours.
    """
    start = 0
    if after is not None:
        key, behind = decoded(after), operator.lt if descending else operator.gt
        start = next((place for place, entry in enumerate(entries) if behind(entry[0], key)), len(entries))
    page = entries[start : None if first is None else start + first]
    return {
        "totalCount": len(entries),
        "nodes": lambda _: [make() for _, make in page],
        "pageInfo": {
            "hasNextPage": start + len(page) < len(entries),
            "endCursor": encoded(page[-1][0]) if page else None,
        },
    }


def listed(values: Sequence[Any], make: Callable[[Any], Any]) -> Callable[..., Json]:
    """The resolver of a connection over values in their own order."""

    def resolve(_: object, first: int | None = None, after: str | None = None) -> Json:
        return connection([([k], functools.partial(make, value)) for k, value in enumerate(values)], first, after)

    return resolve


def actor(login: str | None) -> Json | None:
    """An account; GraphQL names an app without the `[bot]` that REST appends."""
    if not login:
        return None
    number = functools.reduce(lambda total, letter: (total * 31 + ord(letter)) % 100_000_007, login, 7)
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {"__typename": kind, "id": encoded(["U", login]), "login": login.removesuffix("[bot]"), "databaseId": number}


def commit(oid: str | None) -> Json | None:
    """A commit."""
    return {"__typename": "Commit", "id": encoded(["C", oid]), "oid": oid} if oid else None


# ---- the tracker


class Repository:
    """A repository of the dataset; `gone` maps numbers to where a transferred item is now, None where it was deleted."""

    def __init__(self, data: Json) -> None:
        self.name, self.repo_id = data["nameWithOwner"], data["databaseId"]
        self.items: dict[int, Json] = {item["number"]: item for item in data["items"]}
        self.gone: dict[int, tuple[str, int] | None] = {}


class Graph:
    """All repositories of a dataset as GraphQL shows them."""

    def __init__(self, dataset: Json) -> None:
        self.repositories = {data["nameWithOwner"]: Repository(data) for data in dataset["repos"]}
        self.renamed: dict[str, str] = dict(dataset["renamed"])
        self.older = False
        self.most_listed = 100
        """Items of a page of a listing at most; GitHub is free to give fewer than it is asked for."""

    def find(self, name: str) -> Repository | None:
        """A repository by its name or a former one."""
        return self.repositories.get(name) or self.repositories.get(self.renamed.get(name, ""))

    def answer(self, payload: Json, quota: Callable[[int], Json]) -> tuple[Json, Price | None]:
        """Answer a query; `quota` spends points and returns what is left. A refused query has no price."""
        try:
            document, problems = checked(payload["query"], older=self.older)
        except graphql.GraphQLError as problem:
            return {"errors": [_shown(problem)]}, None
        made = schema(older=self.older)
        if not problems:
            operation = next(d for d in document.definitions if isinstance(d, graphql.OperationDefinitionNode))
            variables = graphql.get_variable_values(
                made, operation.variable_definitions or (), payload.get("variables") or {}
            )
            problems = variables if isinstance(variables, list) else []
        if not problems:
            price = Price(made, document, variables)
            problems = price.errors
        if problems:
            return {"errors": [_shown(problem) for problem in problems]}, None
        root = self._root(quota(price.points) | {"cost": price.points})
        result = graphql.execute_sync(made, document, root, variable_values=payload.get("variables") or {})
        errors = {"errors": [_shown(problem) for problem in result.errors]} if result.errors else {}
        return {"data": result.data} | errors, price

    def _root(self, quota: Json) -> Json:
        def repository(_: object, owner: str, name: str) -> Json:
            found = self.find(f"{owner}/{name}")
            if found is None:
                raise error("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
            return self.repository(found)

        return {
            "viewer": {"login": "miner"},
            "rateLimit": quota,
            "repository": repository,
        }

    def repository(self, repository: Repository) -> Json:
        """A repository with its listings."""

        def one(_: object, number: int) -> Json:
            if number not in repository.items:
                raise error("NOT_FOUND", f"Could not resolve to an issue or pull request with the number of {number}.")
            return self.item(repository, repository.items[number])

        def issues(_: object, filterBy: Json | None = None, **page: Any) -> Json:  # noqa: N803 - as in the schema
            return self._items(repository, "issue", **(filterBy or {}), **page)

        return {
            "id": encoded(["R", repository.repo_id]),
            "databaseId": repository.repo_id,
            "nameWithOwner": repository.name,
            "issueOrPullRequest": one,
            "issues": issues,
            "pullRequests": lambda _, **given: self._items(repository, "pull", **given),
        }

    def _items(
        self,
        repository: Repository,
        kind: str,
        *,
        first: int | None = None,
        after: str | None = None,
        orderBy: Json | None = None,  # noqa: N803 - as in the schema
        states: Sequence[str] = (),
        labels: Sequence[str] = (),
        since: str = "",
    ) -> Json:
        order = orderBy or {"field": "CREATED_AT", "direction": "ASC"}
        descending, field = order["direction"] == "DESC", ORDERS.get(order["field"])
        chosen = [
            item
            for item in repository.items.values()
            if item["kind"] == kind
            and item["updatedAt"] >= since
            and (not states or item["state"] in states)
            and (not labels or set(labels) & set(item["labels"]))
        ]
        entries: Entries = [
            ([item[field] if field else len(item["comments"]), item["number"]], item) for item in chosen
        ]
        entries.sort(key=operator.itemgetter(0), reverse=descending)
        made = [(key, functools.partial(self.item, repository, item)) for key, item in entries]
        first = None if first is None else min(first, self.most_listed)
        return connection(made, first, after, descending=descending)

    def item(self, repository: Repository, item: Json) -> Json:
        """An issue or pull request."""
        special = self._issue if item["kind"] == "issue" else self._pull
        return {
            **item,
            "id": encoded(["I" if item["kind"] == "issue" else "PR", repository.repo_id, item["number"]]),
            "author": actor(item["author"]),
            "activeLockReason": item["lockReason"],
            "repository": lambda _: self.repository(repository),
            "milestone": {"title": item["milestone"], **item["milestoneFacts"]} if item["milestone"] else None,
            "labels": listed(item["labels"], lambda name: {"name": name}),
            "reactions": {"totalCount": item["reactions"]},
            "assignees": listed(item["assignees"], actor),
            "comments": lambda _, **page: connection(self._comments(item), **page),
            "timelineItems": lambda _, **given: self._timeline(repository, item, **given),
            **special(repository, item),
        }

    def _known(self, repository: Repository, numbers: Sequence[int], kind: str) -> list[Json]:
        found = (repository.items.get(number) for number in numbers)
        return [item for item in found if item and item["kind"] == kind]

    def _issue(self, repository: Repository, item: Json) -> Json:
        reason, parent = item["stateReason"], repository.items.get(item["parent"])

        def state_reason(_: object, enableDuplicate: bool = False) -> str | None:  # noqa: N803
            return "NOT_PLANNED" if reason == "DUPLICATE" and not enableDuplicate else reason

        def closed_by(_: object, includeClosedPrs: bool = False, **page: Any) -> Json:  # noqa: N803
            pulls = self._known(repository, item["closedBy"], "pull")
            shown = [pull for pull in pulls if includeClosedPrs or pull["state"] != "CLOSED"]
            return listed(shown, functools.partial(self.item, repository))(_, **page)

        return {
            "__typename": "Issue",
            "stateReason": state_reason,
            "issueType": {"name": item["issueType"]} if item.get("issueType") else None,
            "parent": lambda _: self.item(repository, parent) if parent else None,
            "subIssues": listed(
                self._known(repository, item["subIssues"], "issue"), functools.partial(self.item, repository)
            ),
            "closedByPullRequestsReferences": closed_by,
        }

    def _pull(self, repository: Repository, item: Json) -> Json:
        return {
            "__typename": "PullRequest",
            "merged": item["state"] == "MERGED",
            "mergeCommit": commit(item["mergeSha"]),
            "mergedBy": actor(item["mergedBy"]),
            "headRefOid": item["headSha"],
            "statusCheckRollup": item["checks"] and {"state": item["checks"]},
            "files": listed(item["files"], lambda file: file),
            "closingIssuesReferences": listed(
                self._known(repository, item["closes"], "issue"), functools.partial(self.item, repository)
            ),
        }

    def _comments(self, item: Json) -> Entries:
        return [
            ([comment["createdAt"], comment["databaseId"]], functools.partial(self._said, comment))
            for comment in item["comments"]
        ]

    def _said(self, comment: Json) -> Json:
        whole = {"id": encoded(["IssueComment", comment["databaseId"]]), "fullDatabaseId": str(comment["databaseId"])}
        return {"__typename": "IssueComment", **comment, **whole, "author": actor(comment["author"])}

    def _timeline(
        self,
        repository: Repository,
        item: Json,
        first: int | None = None,
        after: str | None = None,
        itemTypes: Sequence[str] = (),  # noqa: N803 - as in the schema
    ) -> Json:
        made: list[tuple[str, str, Callable[[], Any]]] = [
            (event["createdAt"], event["type"], functools.partial(self._event, repository, item, event, place))
            for place, event in enumerate(item["events"])
        ]
        made += [(key[0], "IssueComment", make) for key, make in self._comments(item)]
        entries: Entries = [
            ([at, place], make)
            for place, (at, kind, make) in enumerate(made)
            if re.sub(r"(?<!^)([A-Z])", r"_\1", kind).upper() in itemTypes
        ]
        return connection(sorted(entries, key=operator.itemgetter(0)), first, after)

    def _event(self, repository: Repository, item: Json, event: Json, place: int) -> Json:
        made = {
            **event,
            "__typename": event["type"],
            "id": encoded(["EV", repository.repo_id, item["number"], place]),
            "actor": actor(event["actor"]),
        }
        if "label" in event:
            made["label"] = {"name": event["label"]}
        if "commit" in event:
            made["commit"] = commit(event["commit"])
        if (closer := event.get("closer")) is not None:
            made["closer"] = commit(closer["commit"]) if "commit" in closer else _elsewhere(closer)
        if event.get("fromRepository"):
            made["fromRepository"] = {"nameWithOwner": event["fromRepository"]}
        return made | {name: _elsewhere(event[name]) for name in ("source", "subject", "canonical") if name in event}


def _elsewhere(place: Json | None) -> Json | None:
    """What an event shows of another item: its number and repository."""
    if place is None:
        return None
    kind = "PullRequest" if place["kind"] == "pull" else "Issue"
    return {"__typename": kind, "number": place["number"], "repository": {"nameWithOwner": place["repo"]}}


def _shown(problem: graphql.GraphQLError) -> Json:
    """An error as GitHub words it."""
    kind = (problem.extensions or {}).get("type")
    message = NO_FIELD.sub(r"Field '\1' doesn't exist on type '\2'", problem.message)
    places = [{"line": one.line, "column": one.column} for one in problem.locations or ()]
    return ({"type": kind} if kind else {}) | {"path": problem.path, "locations": places, "message": message}
