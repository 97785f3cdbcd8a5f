"""Mining GitHub itself: GraphQL with a token, REST without one. Both through PyGithub's requester (client.py)."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from torch_embers.errors import ShortListingError, SourceError, UnknownRepositoryError
from torch_embers.mine import graphql_records, readers
from torch_embers.mine.client import Answer, DeepPageError, GoneError, MovedError, NotFoundError
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
    whole_second,
)
from torch_embers.mine.pages import make_page
from torch_embers.mine.source import read_cursor
from torch_embers.normalize import now_utc
from torch_embers.store.records import Batch, Page, SyncState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch_embers.mine.client import GitHubClient
    from torch_embers.mine.scope import Scope
    from torch_embers.mine.source import Source

REST_PAGE = 100
"""Largest page GitHub gives."""
ISSUE_PAGE, PULL_PAGE = 50, 25
"""Items a GraphQL page: 1 + 50 x 4 connections cost 2 points, 1 + 25 x 5 cost 1."""
COMMENTS, EVENTS = 50, 30
"""Comments and events asked for with each item; longer ones are fetched by further pages."""
EMPTY_TRIES = 3
"""How often a page that cannot be empty is asked for again."""


@dataclass(frozen=True, slots=True)
class Totals:
    """How many items the tracker has by its own count; ``None`` where it gives none."""

    issues: int | None = None
    pulls: int | None = None

    @property
    def all(self) -> int | None:
        """Both together."""
        known = [n for n in (self.issues, self.pulls) if n is not None]
        return sum(known) if known else None


def until_passed(listed: Listed[Any], until: str | None) -> bool:
    """Whether an ascending listing has gone beyond the upper bound."""
    return until is not None and any(whole_second(u) > until for u in listed.updated)


@dataclass(slots=True)
class _LiveSource(ABC):
    """What both ways of asking GitHub know of the repository and of the run."""

    client: GitHubClient
    scope: Scope
    full_name: str = ""
    complete: bool = False
    """Set when the listing of items was read to its end in this run."""
    notes: list[str] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)

    @property
    def repo(self) -> str:
        """The repository's present name (after renames), once known."""
        return self.full_name or self.scope.repo

    @abstractmethod
    def _look_up(self) -> tuple[str, Totals]:
        """Ask for the repository: its full name and, where the answer has them, its totals."""

    def _repository(self) -> tuple[str, Totals]:
        try:
            return self._look_up()
        except (NotFoundError, GoneError, KeyError, TypeError) as error:
            raise UnknownRepositoryError(
                f"{self.client.api_url} has no repository {self.scope.repo!r}, or the token cannot see it: check --repo"
            ) from error

    def resolve(self) -> None:
        """Ask for the repository itself: follows a rename and fails early on an unknown one.

        Raises:
            UnknownRepositoryError: it does not exist or cannot be seen.
        """
        self.full_name, self.totals = self._repository()
        if self.full_name.lower() != self.scope.repo.lower():
            self.notes.append(f"{self.scope.repo} is now called {self.full_name}: stored under the new name")


@dataclass(slots=True)
class RestSource(_LiveSource):
    """Mines by REST: items always; comments and events too where there is a token to pay for them."""

    name: str = "rest"
    page_size: int = REST_PAGE

    def _look_up(self) -> tuple[str, Totals]:
        answer = self.client.get(f"/repos/{self.scope.repo}").data
        return str((answer.get("full_name") if isinstance(answer, dict) else None) or self.scope.repo), Totals()

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield one batch per page."""
        if not self.full_name:
            self.resolve()
        if self.client.authenticated or self.scope.since or self.scope.until:
            yield from self._items_forward(state)
        else:
            yield from self._items_newest_first(state)
        self.complete = True
        if self.client.authenticated:
            yield from self._comments(state)
            yield from self._events(state)

    def expected(self) -> Totals:
        """Ask the search how many issues there are; unknown where it does not answer.

        Pull requests are not compared: they stand in the same listing, so what cuts one cuts the other.
        """
        if self.scope.narrowed:
            return Totals()
        try:
            answer = self.client.get("/search/issues", {"q": f"repo:{self.repo} is:issue", "per_page": 1})
        except SourceError:
            return Totals()
        count = answer.data.get("total_count") if isinstance(answer.data, dict) else None
        return Totals(issues=count if isinstance(count, int) else None)

    # -- streams ----------------------------------------------------------------------------------------------

    def _items_forward(self, state: Mapping[str, str]) -> Iterator[Batch]:
        stream = self.scope.stream("items")
        saved = load_forward(state.get(stream))
        first = saved if saved.at else Forward(self.scope.since)
        known = saved.at

        def fetch(since: str | None, link: str | None) -> Listed[Answer]:
            suspicious = link is not None or (since is not None and known is not None)
            return self._list("issues", self._item_query(since), link, never_empty=suspicious)

        for listed, cursor in keyset(fetch, first):
            known = cursor.at if listed.updated else known
            yield self._batch("rest.items", listed, stream, dump(cursor))
            if until_passed(listed, self.scope.until):
                return

    def _items_newest_first(self, state: Mapping[str, str]) -> Iterator[Batch]:
        stream = self.scope.stream("items_newest_first")
        query = self._item_query(None) | {"direction": "desc"}

        def fetch(link: str | None) -> Listed[Answer]:
            return self._list("issues", query, link, never_empty=link is not None)

        for listed, cursor in sweep(_expiring(fetch), load_sweep(state.get(stream))):
            yield self._batch("rest.items", listed, stream, dump(cursor))

    def _comments(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Repository-wide comments; a server that has no such listing is noted, not an error."""
        stream = self.scope.stream("comments")

        def fetch(since: str | None, link: str | None) -> Listed[Answer]:
            query = {"sort": "updated", "direction": "asc", "per_page": self.page_size}
            if bound := since or self.scope.since:
                query["since"] = bound
            return self._list("issues/comments", query, link)

        try:
            for listed, cursor in keyset(fetch, load_forward(state.get(stream))):
                yield self._batch("rest.comments", listed, stream, dump(cursor))
        except NotFoundError:
            self.notes.append("this server has no repository-wide list of comments: none were read")

    def _events(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Repository-wide events, newest first."""
        stream = "events"

        def fetch(link: str | None) -> Listed[Answer]:
            return self._list("issues/events", {"per_page": self.page_size}, link, time_key="created_at")

        try:
            for listed, cursor in sweep(_expiring(fetch), load_sweep(state.get(stream))):
                yield self._batch("rest.events", listed, stream, dump(cursor))
        except NotFoundError:
            self.notes.append("this server has no repository-wide list of events: none were read")

    def _item_query(self, since: str | None) -> dict[str, Any]:
        query: dict[str, Any] = {
            "state": self.scope.state,
            "sort": "updated",
            "direction": "asc",
            "per_page": self.page_size,
        }
        if since:
            query["since"] = since
        if self.scope.labels:
            query["labels"] = ",".join(self.scope.labels)
        return query

    # -- pages ------------------------------------------------------------------------------------------------

    def _list(
        self,
        listing: str,
        query: dict[str, Any],
        link: str | None,
        *,
        never_empty: bool = False,
        time_key: str = "updated_at",
    ) -> Listed[Answer]:
        """Fetch one page; a page that must hold something is asked for again before it is believed.

        Raises:
            ShortListingError: it stays empty although the tracker counts items there.
        """
        for _ in range(EMPTY_TRIES):
            answer = self._page(listing, query, link)
            if not isinstance(answer.data, list):
                raise SourceError(f"/repos/{self.repo}/{listing}: a list was expected, {str(answer.data)[:80]!r} came")
            if answer.data or not never_empty:
                break
        else:
            self._explain_empty(listing, query.get("since"))
        dated = [o for o in answer.data if isinstance(o, dict) and o.get(time_key)]
        keys = [str(o.get("id")) for o in dated]
        return Listed([str(o[time_key]) for o in dated], answer.link("next"), answer, keys)

    def _page(self, listing: str, query: dict[str, Any], link: str | None) -> Answer:
        if link is None:
            return self.client.get(f"/repos/{self.repo}/{listing}", query)
        if urlsplit(link).netloc != urlsplit(self.client.api_url).netloc:
            raise SourceError(f"the listing goes on at another server ({urlsplit(link).netloc}): check --api-url")
        return self.client.get(link)

    def _explain_empty(self, listing: str, since: object) -> None:
        """Accept an empty page only where a count of the same range is zero."""
        query = f"repo:{self.repo}" + (f" updated:>={since}" if since else "")
        try:
            count = self.client.get("/search/issues", {"q": query, "per_page": 1}).data.get("total_count")
        except (SourceError, AttributeError):
            count = None
        if count != 0:
            reason = f"the tracker counts {count} items there" if count is not None else "nothing confirms it"
            raise ShortListingError(
                f"/repos/{self.repo}/{listing} ended in an empty page {EMPTY_TRIES} times, but {reason}. "
                "The cursor is kept: run the same command again later"
            )

    def _batch(self, kind: str, listed: Listed[Answer], stream: str, cursor: str) -> Batch:
        answer = listed.payload
        page = make_page(self.repo, self.name, kind, stream, answer.text.encode())
        return finish(page, [], self, stream, cursor)


def _expiring(fetch: Callable[[str | None], Listed[Answer]]) -> Callable[[str | None], Listed[Answer]]:
    """A link that the server no longer accepts (deep page, changed listing) restarts the walk."""

    def guarded(link: str | None) -> Listed[Answer]:
        try:
            return fetch(link)
        except DeepPageError as error:
            if link is None:
                raise
            raise LinkExpiredError(str(error)) from error

    return guarded


def finish(base: Page, more: Sequence[Page], source: Source, stream: str, cursor: str) -> Batch:
    """Records of some pages together with the pages and the cursor behind them."""
    batch = Batch()
    for page in (base, *more):
        batch.extend(readers.read(page))
        batch.pages.append(page)
    batch.cursors.append(SyncState(source.repo, source.name, stream, cursor, base.fetched_at))
    return batch


@dataclass(slots=True)
class GraphqlSource(_LiveSource):
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


@dataclass(slots=True)
class NumbersSource:
    """Mines single items by number, completely; items that are gone become tombstones."""

    inner: RestSource | GraphqlSource
    numbers: Sequence[int]
    known: frozenset[int] = frozenset()
    """Numbers that the database has: only these can have gone."""

    @property
    def name(self) -> str:
        """Name of the source that answers."""
        return self.inner.name

    @property
    def repo(self) -> str:
        """The repository's present name, once known."""
        return self.inner.repo

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield one batch per item; an interrupted run goes on behind the last one."""
        if not self.inner.full_name:
            self.inner.resolve()
        stream = self.inner.scope.stream(f"numbers:{hash_of(self.numbers)}")
        done = int(read_cursor(state.get(stream)).get("done") or 0)
        for place in range(done % max(len(self.numbers), 1), len(self.numbers)):
            base, more = self._fetch(self.numbers[place])
            yield finish(base, more, self, stream, json.dumps({"done": place + 1}))

    def _fetch(self, number: int) -> tuple[Page, list[Page]]:
        try:
            if isinstance(self.inner, GraphqlSource):
                return self._by_graphql(self.inner, number)
            return self._by_rest(self.inner, number)
        except MovedError as moved:
            return self._gone(number, moved.location), []
        except (NotFoundError, GoneError):
            return self._gone(number, None), []

    def _by_graphql(self, source: GraphqlSource, number: int) -> tuple[Page, list[Page]]:
        owner, name = source.repo.split("/", 1)
        variables = {"owner": owner, "name": name, "number": number, "comments": COMMENTS, "events": EVENTS}
        answer = source.client.graphql(graphql_records.query("item"), variables)
        root = (answer.data.get("data") or {}).get("repository") or {}
        if not root.get("issueOrPullRequest"):
            raise NotFoundError(f"#{number}")
        base = make_page(source.repo, source.name, "graphql", f"item {number}", answer.text.encode())
        return base, source.overflow_pages(answer)

    def _by_rest(self, source: RestSource, number: int) -> tuple[Page, list[Page]]:
        path = f"/repos/{source.repo}/issues/{number}"
        base = make_page(source.repo, source.name, "rest.item", path, source.client.get(path).text.encode())
        pages: list[Page] = []
        link: str | None = f"{path}/timeline"
        query: dict[str, Any] | None = {"per_page": 100}
        while link is not None:
            answer = source.client.get(link, query)
            pages.append(make_page(source.repo, source.name, "rest.timeline", f"{path}/timeline", answer.text.encode()))
            link, query = answer.link("next"), None
        return base, pages

    def _gone(self, number: int, location: str | None) -> Page:
        note = {"number": number, "known": number in self.known, "transferred_to": location}
        return make_page(
            self.repo, self.name, "github.tombstone", f"item {number}", json.dumps(note).encode(), now_utc()
        )


def hash_of(numbers: Sequence[int]) -> str:
    """Short name of a list of numbers."""
    return hashlib.blake2b(",".join(map(str, numbers)).encode(), digest_size=4).hexdigest()
