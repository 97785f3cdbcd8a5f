"""Mining GitHub by REST, through PyGithub's requester (client.py)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from torch_embers.errors import SourceError
from torch_embers.mine.github.client import Answer, DeepPageError, GoneError, MovedError, NotFoundError
from torch_embers.mine.github.cursor import (
    Forward,
    LinkExpiredError,
    Listed,
    Sweep,
    Trail,
    dump,
    keyset,
    load_forward,
    load_sweep,
    sweep,
)
from torch_embers.mine.github.listing import Listing
from torch_embers.mine.github.live import LiveSource, Totals, finish, until_passed
from torch_embers.mine.pages import make_page
from torch_embers.mine.records.rest_records import number_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from torch_embers.store.records import Batch, Page

_LOG = logging.getLogger(__name__)
REST_PAGE = 100
"""Largest page GitHub gives."""
ITEMS_WITH_PARTS = 25
"""Items a page where comments and events are read item by item: an interruption costs what was read of a page."""


@dataclass(slots=True)
class RestSource(LiveSource):
    """Mines by REST: items always; comments and events too where there is a token to pay for them."""

    name: str = "rest"
    page_size: int = REST_PAGE
    _read: set[tuple[int, str]] = field(default_factory=set)
    """Items whose comments and events this run has read, each with the time of its last change."""
    _without_parts: list[int] = field(default_factory=list)
    """Items that were listed, and then had no comments and events to ask for."""
    _has_comments: bool = False
    """Whether an item that this run listed has comments."""

    def _look_up(self) -> tuple[str, Totals]:
        answer = self.client.get(f"/repos/{self.scope.repo}").data
        self.repo_id = whole(answer.get("id")) if isinstance(answer, dict) else None
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
        if self._item_by_item:
            self.notes.append("comments and events were read of the items in these bounds alone, item by item")
            if self._without_parts:
                self.notes.append(
                    f"{len(self._without_parts)} items went away before their comments and events were read, first "
                    f"#{self._without_parts[0]}: `embers mine --numbers FILE` asks for them again"
                )
        elif self.client.authenticated:
            yield from self._comments(state, "comments", "issues/comments")
            yield from self._comments(state, "review_comments", "pulls/comments")
            yield from self._events(state)

    def expected(self) -> Totals:
        """Ask the search how many issues and pull requests there are; unknown where it does not answer."""
        if self.scope.narrowed:
            return Totals()
        listing = self._items_listing()
        return Totals(issues=listing.count("is:issue"), pulls=listing.count("is:pr"))

    def counted(self, words: str) -> int | None:
        """How many items of the repository GitHub's search finds for these words; ``None`` where it does not answer."""
        return self._items_listing().count(words)

    def searched(self, words: str) -> set[int]:
        """Numbers on the first page of what GitHub's search finds for these words."""
        answer = self.client.get("/search/issues", {"q": f"repo:{self.repo} {words}", "per_page": REST_PAGE})
        entries = answer.data.get("items") if isinstance(answer.data, dict) else None
        return {number_of(entry) for entry in entries or [] if isinstance(entry, dict)}

    @property
    def _item_by_item(self) -> bool:
        """Whether comments and events are read of the listed items alone: only the list of items knows such bounds."""
        return self.client.authenticated and (self.scope.state != "all" or bool(self.scope.labels))

    # -- streams ----------------------------------------------------------------------------------------------

    def _items_forward(self, state: Mapping[str, str]) -> Iterator[Batch]:
        stream = self.scope.stream("items")
        saved = load_forward(state.get(stream))
        first = saved if saved.at else Forward(self.scope.since)
        listing = self._items_listing()
        known = saved.at is not None

        def fetch(since: str | None, link: str | None) -> Listed[Answer]:
            return listing.page(link, since, filled=known)

        for listed, cursor in keyset(fetch, first):
            known = known or bool(listed.updated)
            self._has_comments = self._has_comments or any(
                bool(o.get("comments")) for o in listed.payload.data if isinstance(o, dict)
            )
            yield self._batch("rest.items", listed, stream, dump(cursor), self._parts(listed))
            if until_passed(listed, self.scope.until):
                return

    def _items_newest_first(self, state: Mapping[str, str]) -> Iterator[Batch]:
        stream = self.scope.stream("items_newest_first")
        saved = load_sweep(state.get(stream))
        listing = replace(self._items_listing(direction="desc"), overlapping=True)

        def fetch(link: str | None) -> Listed[Answer]:
            return listing.page(link, filled=saved.high is not None)

        try:
            for listed, cursor in sweep(_expiring(fetch), saved):
                yield self._batch("rest.items", listed, stream, dump(cursor))
        except LinkExpiredError as error:
            raise SourceError(
                f"{listing.path}: GitHub lists no further without a token ({error}). What was read is kept; "
                "set GITHUB_TOKEN, then items are read from the oldest on, without deep pages"
            ) from error

    def _comments(self, state: Mapping[str, str], name: str, path: str) -> Iterator[Batch]:
        """Repository-wide comments, or those on lines; a server that has no such listing is noted, not an error."""
        stream = self.scope.stream(name)
        saved = load_forward(state.get(stream))
        listing = self._listing(path, sort="updated", direction="asc")

        def fetch(since: str | None, link: str | None) -> Listed[Answer]:
            return listing.page(link, since, filled=filled)

        filled = saved.at is not None or (name == "comments" and self._has_comments)
        try:
            for listed, cursor in keyset(fetch, saved if saved.at else Forward(self.scope.since)):
                yield self._batch(f"rest.{name}", listed, stream, dump(cursor))
        except NotFoundError:
            words = name.replace("_", " ")
            self.notes.append(f"this server has no repository-wide list of {words}: none were read")

    def _events(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Repository-wide events, newest first, down to the lower bound of the run; GitHub limits how far they go."""
        stream = self.scope.stream("events")
        known = load_sweep(state.get(stream))
        saved = known if known.high else Sweep(high=self.scope.since)
        listing = replace(self._listing("issues/events", time_key="created_at"), overlapping=True)

        def fetch(link: str | None) -> Listed[Answer]:
            return listing.page(link, filled=known.high is not None)

        cursor = saved
        try:
            for listed, cursor in sweep(_limited(fetch), saved):
                yield self._batch("rest.events", listed, stream, dump(cursor))
        except NotFoundError:
            self.notes.append("this server has no repository-wide list of events: none were read")
        if cursor.limited:
            self.notes.append(
                f"GitHub's list of events ended at its limit of pages: events before {cursor.limited} may be missing; "
                "`--source graphql` reads those of all items, `--numbers FILE` those of single items"
            )

    def _listing(self, path: str, time_key: str = "updated_at", search: str = "", **query: Any) -> Listing:
        size = min(self.page_size, ITEMS_WITH_PARTS) if self._item_by_item else self.page_size
        return Listing(self.client, f"/repos/{self.repo}/{path}", query | {"per_page": size}, time_key, search)

    def _items_listing(self, direction: str = "asc") -> Listing:
        query = {"state": self.scope.state, "sort": "updated", "direction": direction}
        words = [f"repo:{self.repo}"]
        if self.scope.state != "all":
            words.append(f"state:{self.scope.state}")
        if self.scope.labels:
            query["labels"] = ",".join(self.scope.labels)
            words += [f'label:"{label}"' for label in self.scope.labels]
        return self._listing("issues", search=" ".join(words), **query)

    # -- pages ------------------------------------------------------------------------------------------------

    def _batch(
        self, kind: str, listed: Listed[Answer], stream: str, cursor: str, more: list[Page] | None = None
    ) -> Batch:
        page = make_page(self.repo, self.name, kind, stream, listed.payload.text.encode())
        return finish(page, more or [], self, stream, cursor)

    def _parts(self, listed: Listed[Answer]) -> list[Page]:
        """Comments and events of the items on a page, where they are read item by item."""
        pages: list[Page] = []
        for item in listed.payload.data if self._item_by_item else ():
            if not isinstance(item, dict) or not isinstance(number := item.get("number"), int):
                continue
            version = (number, str(item.get("updated_at")))
            if version in self._read:
                continue
            self._read.add(version)
            try:
                pages += timeline(self, number)
            except (NotFoundError, GoneError, MovedError) as error:
                self._without_parts.append(number)
                _LOG.info("no comments and events of #%d: %s", number, error)
        return pages


def timeline(source: LiveSource, number: int) -> list[Page]:
    """Comments and events of one item, all pages of them; asked for beyond the budget, to complete the item.

    Raises:
        NotFoundError, GoneError, MovedError: the item is not there, or not any more.
    """
    path = f"/repos/{source.repo}/issues/{number}/timeline"
    listing = Listing(source.client, path, {"per_page": REST_PAGE}, "created_at", within_budget=False)
    pages: list[Page] = []
    link: str | None = None
    trail = Trail()
    while not pages or link is not None:
        listed = listing.page(link and trail.follow(link))
        pages.append(make_page(source.repo, source.name, "rest.timeline", path, listed.payload.text.encode()))
        link = listed.next
    return pages


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


def _limited(fetch: Callable[[str | None], Listed[Answer]]) -> Callable[[str | None], Listed[Answer]]:
    """A page that is refused twice as too deep is where the listing ends, though there is more behind it."""

    def guarded(link: str | None) -> Listed[Answer]:
        for _ in range(2):
            try:
                return fetch(link)
            except DeepPageError:
                if link is None:
                    raise
        return Listed([], None, Answer({}, "[]", []), [], limited=True)

    return guarded
