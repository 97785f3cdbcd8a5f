"""Mining GitHub by GraphQL, which needs a token, through PyGithub's requester (client.py)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from torch_embers.mine.github.cursor import (
    Forward,
    LinkExpiredError,
    Listed,
    Present,
    Sweep,
    dump,
    keyset,
    load_forward,
    load_sweep,
    settled_at,
    time_of,
)
from torch_embers.mine.github.live import LiveSource, Totals, finish, until_passed
from torch_embers.mine.github.replies import (
    CursorRefusedError,
    NotFoundError,
    UnansweredError,
    UnknownFieldError,
)
from torch_embers.mine.github.sweep import sweep
from torch_embers.mine.records import graphql_answers, graphql_fields, graphql_records
from torch_embers.mine.records.graphql_answers import LISTINGS
from torch_embers.normalize import now_utc
from torch_embers.store.records import Batch, SyncState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch_embers.mine.github.client import Check
    from torch_embers.mine.github.replies import Answer
    from torch_embers.store.records import Page

ISSUE_PAGE, PULL_PAGE = 41, 35
"""Items a GraphQL page, the most for two points: 1 + 41 x 6 and 1 + 35 x 7 connections are less than 250."""
COMMENTS, EVENTS = 50, 100
"""Comments and events asked for with each item; longer ones are fetched by further pages, at one point each."""
FURTHER = 100
"""Rows of a further page, the most that GitHub gives."""
HASTE = 1
"""Retries of a page that can be made smaller instead."""
MOST_FURTHER = 500
"""Further pages of one part of an item, or of the comments of one review. GitHub allows 2,500 comments and 3,000 files;
what seems endless waits, instead of filling the memory."""
MOST_NUMBERS = 5_000
"""Pages of numbers that are read to find an item again: half a million items. What seems endless waits."""
MOST_FAILED = 3
"""Items in a row of which a part is not answered, until the server is taken to fail as a whole."""


@dataclass(slots=True)
class _Walk:
    """The cursors of one walk through a listing."""

    followed: set[str] = field(default_factory=set)
    next: str | None = None
    changes: dict[str | None, str | None] = field(default_factory=dict)
    """When the last record before a page changed, by the cursor of the page."""

    def follow(self, after: str | None) -> None:
        """Note what is asked for; where it is not what the last page named, a new walk begins."""
        if after is None or after != self.next:
            self.followed.clear()
        self.followed.update([after] if after else [])

    def above(self, after: str | None) -> str | None:
        """When the last record before a page changed; ``None`` for the first page, and where it is not known."""
        return self.changes.get(after) if after else None


@dataclass(slots=True)
class GraphqlSource(LiveSource):
    """Mines by GraphQL: items with comments, events, files and closing references, page by page."""

    name: str = "graphql"
    issue_page: int = ISSUE_PAGE
    pull_page: int = PULL_PAGE
    sizes: dict[str, int] = field(default_factory=dict)
    """Page sizes that the server answers now, where they are smaller than asked for at first."""
    lacking: set[str] = field(default_factory=set)
    """Fields that the server does not have; queries go without them from then on."""
    failed: int = 0
    """How many parts of items in a row were not answered."""
    _read: set[tuple[object, str]] = field(default_factory=set)
    """Items that this run has read, each with the time of its last change: the top of a listing is read twice."""
    presents: dict[str, Present] = field(default_factory=lambda: {listing: Present() for listing in LISTINGS})
    walks: dict[str, _Walk] = field(default_factory=lambda: {listing: _Walk() for listing in LISTINGS})

    def _look_up(self) -> tuple[str, Totals]:
        owner, name = self.scope.repo.split("/", 1)
        bounds = self._issue_bounds(self.scope.since)
        variables = {"owner": owner, "name": name, "filter": bounds, **self._pull_bounds()}
        check = graphql_answers.counted("issues", "pullRequests")
        answer = self.client.graphql(graphql_records.query("repository"), variables, check=check)
        repository = answer.data["data"]["repository"]
        self.repo_id = repository.get("databaseId")
        pulls = repository["pullRequests"]["totalCount"]  # GitHub counts none since a time
        totals = Totals(repository["issues"]["totalCount"], None if self.scope.since else pulls)
        return str(repository["nameWithOwner"]), totals

    def expected(self) -> Totals:
        """How many items the tracker has now in these bounds."""
        return self._repository()[1]

    def _issue_bounds(self, since: str | None) -> dict[str, Any]:
        bounds: dict[str, Any] = {"since": since}
        if self.scope.state != "all":
            bounds["states"] = [self.scope.state.upper()]
        if self.scope.labels:
            bounds["labels"] = list(self.scope.labels)
        return {k: v for k, v in bounds.items() if v}

    def _pull_bounds(self) -> dict[str, Any]:
        states = {"open": ["OPEN"], "closed": ["CLOSED", "MERGED"]}.get(self.scope.state)
        return {"states": states, "labels": list(self.scope.labels) or None}

    def _batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield one batch per page of items, each with everything that belongs to its items."""
        yield from self._issues(state)
        yield from self._pulls(state)
        self.complete = True

    def _issues(self, state: Mapping[str, str]) -> Iterator[Batch]:
        stream = self.scope.stream("issues")
        saved = load_forward(state.get(stream))

        def fetch(since: str | None, link: str | None) -> Listed[list[Page]]:
            bounds = self._issue_bounds(since or self.scope.since)
            return self._list("issues", {"filter": bounds, "after": link})

        for listed, cursor in keyset(fetch, saved if saved.at else Forward(self.scope.since), steady=True):
            yield self._stored(listed, stream, dump(cursor))
            if until_passed(listed, self.scope.until):
                return

    def _pulls(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Pull requests have no `since`: newest first, down to what is known."""
        stream = self.scope.stream("pulls")

        def fetch(link: str | None) -> Listed[list[Page]]:
            try:
                return self._list("pulls", {"after": link, **self._pull_bounds()})
            except CursorRefusedError as error:
                if link is None:
                    raise
                raise LinkExpiredError(str(error)) from error

        saved = load_sweep(state.get(stream))
        if saved.high is None and self.scope.since:
            saved = Sweep(high=self.scope.since)
        self.walks["pulls"].changes = {saved.rest: saved.low, saved.top_next: saved.top_low}
        for listed, cursor in sweep(fetch, saved):
            yield self._stored(listed, stream, dump(cursor))

    # -- pages ------------------------------------------------------------------------------------------------

    def _stored(self, listed: Listed[list[Page]], stream: str, cursor: str) -> Batch:
        """A page with its cursor; the cursor alone where this run has stored every item of the page as it is."""
        if listed.payload:
            return finish(listed.payload[0], listed.payload[1:], self, stream, cursor)
        return Batch(cursors=[SyncState(self.repo, self.name, stream, cursor, now_utc())])

    def _list(self, listing: str, variables: dict[str, Any]) -> Listed[list[Page]]:
        """Fetch one page of a listing with everything that belongs to its items; the pages are the payload."""
        walk = self.walks[listing]
        walk.follow(variables["after"])
        answer = self._ask_list(listing, variables)
        base = self._page(self.scope.stream(listing), answer.text)
        connection = graphql_answers.at(answer.data, LISTINGS[listing])
        nodes = [n for n in graphql_records.nodes_of(connection) if n]
        stated, keys = [str(n["updatedAt"]) for n in nodes], [str(n["id"]) for n in nodes]
        bound = (variables.get("filter") or {}).get("since")
        updated = self.presents[listing].bounded(stated, answer.headers.get("date"), bound)
        walk.next = graphql_records.next_of(connection)
        walk.changes[walk.next] = stated[-1] if stated else walk.above(variables["after"])
        date = answer.headers.get("date")
        settled = settled_at(date)
        listed: Listed[list[Page]] = Listed(updated, walk.next, [], keys, settled=settled)
        gaps = graphql_answers.nulls(answer.data, LISTINGS[listing])
        whole = not gaps and not graphql_answers.problems(answer.data)
        versions = set(zip(keys, stated, strict=True))
        if nodes and whole and self._read.issuperset(versions):
            return listed
        self._read.update(versions if whole else ())
        pages = [base, *self.overflow_pages(base, answer)]
        if gaps:
            above = walk.above(variables["after"])
            place = graphql_answers.place_of(listing, variables, answer.data, time_of(date), settled, above)
            pages += self._numbers(place, answered=False)
        return replace(listed, payload=pages)

    def _ask_list(self, listing: str, variables: dict[str, Any]) -> Answer:
        """A page of a listing; where the server fails at it (timeouts, limits of resources), a smaller one."""
        most = self.issue_page if listing == "issues" else self.pull_page
        common = self._names() | {"comments": COMMENTS, "events": EVENTS}

        def ask(size: int, last: bool) -> Answer:
            return self._ask(
                listing,
                common | variables | {"first": size},
                check=graphql_answers.defect(*LISTINGS[listing], partial=last, followed=self.walks[listing].followed),
                retries=None if last else HASTE,
            )

        return self._shrinking(listing, most, ask)

    def _ask(self, name: str, variables: dict[str, Any], *, check: Check, retries: int | None = None) -> Answer:
        """Send a query for items; without those of the young fields that the server turns out not to have."""
        while True:
            query = graphql_records.query(name, self.lacking)
            try:
                return self.client.graphql(query, variables, check=check, retries=retries)
            except UnknownFieldError as error:
                if error.field not in graphql_records.YOUNG - self.lacking:
                    raise
                self.lacking.add(error.field)
                self.notes.append(
                    f"{self.client.api_url} does not know the field {error.field} (an older GitHub Enterprise "
                    "Server?): what is stored of it stays as it is"
                )

    def _shrinking(self, name: str, most: int, ask: Callable[[int, bool], Answer]) -> Answer:
        """Ask for a page, and for smaller ones while the server fails; the size grows back with what is answered."""
        size = min(self.sizes.get(name, most), most)
        while True:
            try:
                answer = ask(size, size == 1)
            except UnansweredError:
                if size == 1:
                    self.sizes[name] = most
                    raise
                size = max(size // 4, 1)
            else:
                self.sizes[name] = min(size * 2, most)
                return answer

    def _numbers(self, place: str, *, answered: bool) -> list[Page]:
        """The numbers of a page of which single items could not be answered, read on until all of it was met.

        Raises:
            UnansweredError: there was no answer, and there must be one (``answered``).
        """
        pages: list[Page] = []
        request: str | None = place
        while request is not None and len(pages) < MOST_NUMBERS:
            try:
                answer: Answer | None = self._ask_numbers(request)
            except UnansweredError:
                if answered:
                    raise
                answer = None
            text = answer.text if answer else "{}"
            pages.append(self.page(graphql_answers.NUMBERS_KIND, request, text.encode()))
            request = graphql_answers.further_numbers(answer.data, pages[-1], FURTHER) if answer else None
        return pages

    def _ask_numbers(self, place: str) -> Answer:
        asked = json.loads(place)
        return self.client.graphql(
            graphql_records.query(f"numbers_{asked['listing']}"),
            self._names() | asked["variables"],
            check=graphql_answers.defect(*LISTINGS[asked["listing"]]),
            within_budget=False,
            retries=HASTE,
        )

    def overflow_pages(self, base: Page, answer: Answer) -> list[Page]:
        """Everything that did not fit beside its item, so that an item is stored whole, or waits to be read again."""
        root = (answer.data.get("data") or {}).get("repository") or {}
        pages: list[Page] = []
        todo = [more for node in graphql_records.item_nodes(root) if node for more in graphql_records.overflows(node)]
        for connection, node_id, number, first in todo:
            followed: list[str] = []
            after: str | None = first
            while after is not None and len(followed) < MOST_FURTHER:
                followed.append(after)
                text, onward = self._further(connection, node_id, followed)
                pages.append(self._page(f"{connection} of #{number} after {after} for {base.page_id}", text))
                after = onward
        return [*pages, *self._review_pages(base, pages)]

    def _review_pages(self, base: Page, further: Sequence[Page]) -> list[Page]:
        """The comments of the reviews in these pages, of many reviews in one query."""
        ids = [one for page in (base, *further) for one in graphql_fields.commented_reviews(json.loads(page.body))]
        pages: list[Page] = []
        while ids:
            answer, asked = self._ask_reviews(ids, None)
            ids = ids[asked:]
            pages.append(self._page(f"{graphql_fields.REVIEW_COMMENTS}{base.page_id}", answer.text))
            for review, first in graphql_fields.unfinished(answer.data):
                followed: list[str] = []
                after: str | None = first
                while after is not None and after not in followed and len(followed) < MOST_FURTHER:
                    followed.append(after)
                    answer, _ = self._ask_reviews([review], after)
                    pages.append(self._page(f"{graphql_fields.REVIEW_COMMENTS}{base.page_id}", answer.text))
                    after = next((cursor for _, cursor in graphql_fields.unfinished(answer.data)), None)
        return pages

    def _ask_reviews(self, ids: Sequence[str], after: str | None) -> tuple[Answer, int]:
        """Comments of the first of these reviews, and how many reviews the answer covers."""
        asked = 0

        def ask(size: int, last: bool) -> Answer:
            nonlocal asked
            asked = min(size, len(ids))
            return self.client.graphql(
                graphql_records.query("review_comments"),
                {"ids": list(ids[:asked]), "first": FURTHER, "after": after},
                check=graphql_fields.answered(asked, partial=last),
                within_budget=False,
                retries=None if last else HASTE,
            )

        try:
            return self._shrinking("reviews", graphql_fields.MOST_REVIEWS, ask), asked
        except UnansweredError as error:
            if error.answer is None:
                raise
            return error.answer, asked

    def _further(self, connection: str, node_id: str, followed: Sequence[str]) -> tuple[str, str | None]:
        """Text of the next page of a part of an item, behind the cursors that led there, and where it goes on.

        Raises:
            UnansweredError: nothing came, or only in part for the third item one after the other: then the server
                fails, not the item.
        """
        query = graphql_records.query(f"more_{connection}")

        def ask(size: int, last: bool) -> Answer:
            return self.client.graphql(
                query,
                {"id": node_id, "after": followed[-1], "first": size},
                check=graphql_answers.defect("node", connection, partial=last, followed=followed),
                within_budget=False,
                retries=None if last else HASTE,
            )

        try:
            answer = self._shrinking("further", FURTHER, ask)
        except NotFoundError as error:
            # deleted meanwhile: read again by number it becomes a tombstone
            return json.dumps({"errors": [{"message": str(error)}]}), None
        except UnansweredError as error:
            self.failed += 1
            if error.answer is None or self.failed >= MOST_FAILED:
                raise
            return error.answer.text, None
        self.failed = 0
        return answer.text, graphql_records.next_of(graphql_answers.at(answer.data, ("node", connection)))

    def _page(self, request: str, text: str) -> Page:
        return self.page(graphql_answers.KIND, request, text.encode())

    def _names(self) -> dict[str, Any]:
        owner, name = self.repo.split("/", 1)
        return {"owner": owner, "name": name}

    def by_number(self, number: int) -> list[Page]:
        """One item with everything that belongs to it.

        Raises:
            NotFoundError: GitHub says that there is no such item, or shows another one: it was transferred.
            UnansweredError: there was no answer, not even in part.
        """
        place = ("repository", "issueOrPullRequest")
        variables = self._names() | {"number": number, "comments": COMMENTS, "events": EVENTS}
        try:
            answer = self._ask("item", variables, check=graphql_answers.absent(*place))
        except NotFoundError as error:  # it is the repository that was not found, which says nothing about the item
            raise UnansweredError(f"{self.repo} cannot be found now: {error}") from error
        node, repo = (graphql_answers.at(answer.data, at) for at in (place, ("repository", "nameWithOwner")))
        if node is None or graphql_answers.other_item(node, number, str(repo or self.repo)):
            raise NotFoundError(f"#{number}")
        base = self._page(f"item {number}", answer.text)
        return [base, *self.overflow_pages(base, answer)]

    def by_place(self, place: str) -> list[Page]:
        """The numbers of items that wait without one; these are then read by number.

        Raises:
            UnansweredError: there was no answer.
        """
        try:
            return self._numbers(place, answered=True)
        except CursorRefusedError:
            if (again := graphql_answers.from_the_top(place, FURTHER)) is None:
                raise
            return self._numbers(again, answered=True)
