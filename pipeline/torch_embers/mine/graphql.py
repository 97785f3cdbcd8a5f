"""Mining GitHub by GraphQL, which needs a token, through PyGithub's requester (client.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.errors import SourceError
from torch_embers.mine import graphql_records
from torch_embers.mine.cursor import (
    Forward,
    LinkExpiredError,
    Listed,
    Sweep,
    dump,
    keyset,
    load_forward,
    load_sweep,
    sweep,
)
from torch_embers.mine.live import LiveSource, Totals, finish, until_passed
from torch_embers.mine.pages import make_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch_embers.mine.client import Answer
    from torch_embers.store.records import Batch, Page

ISSUE_PAGE, PULL_PAGE = 50, 25
"""Items a GraphQL page: 1 + 50 x 4 connections cost 2 points, 1 + 25 x 5 cost 1."""
COMMENTS, EVENTS = 50, 30
"""Comments and events asked for with each item; longer ones are fetched by further pages."""


@dataclass(slots=True)
class GraphqlSource(LiveSource):
    """Mines by GraphQL: items with comments, events, files and closing references, page by page."""

    name: str = "graphql"
    issue_page: int = ISSUE_PAGE
    pull_page: int = PULL_PAGE

    def _look_up(self) -> tuple[str, Totals]:
        owner, name = self.scope.repo.split("/", 1)
        answer = self.client.graphql(graphql_records.query("repository"), {"owner": owner, "name": name})
        repository = answer.data["data"]["repository"]
        totals = Totals(repository["issues"]["totalCount"], repository["pullRequests"]["totalCount"])
        return str(repository["nameWithOwner"]), totals

    def expected(self) -> Totals:
        """How many items the tracker has now."""
        return Totals() if self.scope.narrowed else self._repository()[1]

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield one batch per page of items, each with everything that belongs to its items."""
        if not self.full_name:
            self.resolve()
        yield from self._issues(state)
        yield from self._pulls(state)
        self.complete = True

    def _issues(self, state: Mapping[str, str]) -> Iterator[Batch]:
        stream = self.scope.stream("issues")
        saved = load_forward(state.get(stream))

        def fetch(since: str | None, link: str | None) -> Listed[Answer]:
            bounds: dict[str, Any] = {"since": since or self.scope.since}
            if self.scope.state != "all":
                bounds["states"] = [self.scope.state.upper()]
            if self.scope.labels:
                bounds["labels"] = list(self.scope.labels)
            variables = {"filter": {k: v for k, v in bounds.items() if v}, "after": link}
            return self._list("issues", "issues", variables, self.issue_page)

        for listed, cursor in keyset(fetch, saved if saved.at else Forward(self.scope.since), steady=True):
            yield self._batch(listed, stream, dump(cursor))
            if until_passed(listed, self.scope.until):
                return

    def _pulls(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Pull requests have no `since`: newest first, down to what is known."""
        stream = self.scope.stream("pulls")
        states = {"open": ["OPEN"], "closed": ["CLOSED", "MERGED"]}.get(self.scope.state)

        def fetch(link: str | None) -> Listed[Answer]:
            variables = {"after": link, "states": states, "labels": list(self.scope.labels) or None}
            try:
                return self._list("pulls", "pullRequests", variables, self.pull_page)
            except SourceError as error:
                if link is not None and "cursor" in str(error).lower():
                    raise LinkExpiredError(str(error)) from error
                raise

        saved = load_sweep(state.get(stream))
        if saved.high is None and self.scope.since:
            saved = Sweep(high=self.scope.since)
        for listed, cursor in sweep(fetch, saved):
            yield self._batch(listed, stream, dump(cursor))

    def _list(self, name: str, connection: str, variables: dict[str, Any], size: int) -> Listed[Answer]:
        """Fetch one page; where the server cannot answer for a large one (timeouts, 502), ask for smaller ones."""
        owner, repo = self.repo.split("/", 1)
        common = {"owner": owner, "name": repo, "comments": COMMENTS, "events": EVENTS}
        while True:
            try:
                answer = self.client.graphql(graphql_records.query(name), common | variables | {"first": size})
                break
            except SourceError as error:
                if type(error) is not SourceError or size == 1 or "HTTP 5" not in str(error):
                    raise
                size = max(size // 4, 1)
        listing = graphql_records.listing(answer.data, connection)
        nodes = [n for n in graphql_records.nodes_of(listing) if n]
        updated, keys = [str(n["updatedAt"]) for n in nodes], [str(n["id"]) for n in nodes]
        return Listed(updated, graphql_records.next_of(listing), answer, keys)

    def _batch(self, listed: Listed[Answer], stream: str, cursor: str) -> Batch:
        answer = listed.payload
        base = make_page(self.repo, self.name, "graphql", stream, answer.text.encode())
        return finish(base, self.overflow_pages(answer), self, stream, cursor)

    def overflow_pages(self, answer: Answer) -> list[Page]:
        """Everything that did not fit beside its item, so that an item is stored whole or not yet."""
        root = (answer.data.get("data") or {}).get("repository") or {}
        pages: list[Page] = []
        todo = [more for node in graphql_records.item_nodes(root) if node for more in graphql_records.overflows(node)]
        while todo:
            connection, node_id, after = todo.pop()
            query = graphql_records.query(f"more_{connection}")
            more = self.client.graphql(query, {"id": node_id, "after": after}, within_budget=False)
            request = f"{connection} of {node_id} after {after}"
            pages.append(make_page(self.repo, self.name, "graphql", request, more.text.encode()))
            rest = ((more.data.get("data") or {}).get("node") or {}).get(connection)
            if (onward := graphql_records.next_of(rest)) is not None:
                todo.append((connection, node_id, onward))
        return pages
