"""Mining GitHub by REST, through PyGithub's requester (client.py)."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from torch_embers.errors import SourceError
from torch_embers.mine.github.cursor import (
    RESTARTS,
    Forward,
    LinkExpiredError,
    Listed,
    Sweep,
    Trail,
    UnsteadyListingError,
    dump,
    keyset,
    load_forward,
    load_sweep,
)
from torch_embers.mine.github.listing import Listing
from torch_embers.mine.github.live import LiveSource, Totals, finish, until_passed
from torch_embers.mine.github.replies import Answer, DeepPageError, GoneError, MovedError, NotFoundError
from torch_embers.mine.github.sweep import sweep
from torch_embers.mine.github.witnesses import Witnesses, has_timeline
from torch_embers.mine.records.rest_records import login, number_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

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
    all_comments: bool = False
    """Set when the list of all comments was read to its end in this run, without bounds."""
    _read: set[tuple[int, str]] = field(default_factory=set)
    """Items whose comments and events this run has read, each with the time of its last change."""
    _without_parts: list[int] = field(default_factory=list)
    """Items that were listed, and then had no comments and events to ask for."""
    _absent: NotFoundError | None = None
    """Set where a list was not found: then the end of the run asks whether the repository is still there."""
    witnesses: Witnesses = field(init=False)
    """Say whether a list that comes empty can be empty."""

    def __post_init__(self) -> None:
        """Have the items that this run lists as witnesses."""
        self.witnesses = Witnesses(self, partial(self._items_listing, "desc", "comments"))

    def _look_up(self) -> tuple[str, Totals]:
        answer = self.client.get(f"/repos/{self.scope.repo}").data
        self.repo_id = whole(answer.get("id")) if isinstance(answer, dict) else None
        return str((answer.get("full_name") if isinstance(answer, dict) else None) or self.scope.repo), Totals()

    def _batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        if self.client.authenticated or self.scope.since or self.scope.until:
            yield from self._items_forward(state)
        else:
            yield from self._items_newest_first(state)
        self.complete = True
        if self.client.authenticated:
            yield from self._pulls(state)
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
        if self._absent is not None:
            self.confirm(self._absent)

    def expected(self) -> Totals:
        """Ask the search how many items there are in these bounds; unknown where it does not answer."""
        listing = self._items_listing()
        bound = f" updated:>={self.scope.since}" if self.scope.since else ""
        return Totals(issues=listing.count(f"is:issue{bound}"), pulls=listing.count(f"is:pr{bound}"))

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
            self.witnesses.note(listed.payload.data)
            yield self._batch("rest.items", listed, stream, dump(cursor), self._parts(listed))
            if until_passed(listed, self.scope.until):
                return

    def _items_newest_first(self, state: Mapping[str, str]) -> Iterator[Batch]:
        stream = self.scope.stream("items_newest_first")
        saved = load_sweep(state.get(stream))
        listing = replace(self._items_listing(direction="desc"), overlapping=True, swept=True)

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
        listing = replace(listing, witness=self.witnesses.commented if name == "comments" else self.witnesses.remarked)

        def fetch(since: str | None, link: str | None) -> Listed[Answer]:
            return listing.page(link, since, filled=saved.at is not None)

        read = saved.at is not None
        try:
            for listed, cursor in keyset(fetch, saved if saved.at else Forward(self.scope.since)):
                yield self._batch(f"rest.{name}", listed, stream, dump(cursor))
                read = True
            self.all_comments = self.all_comments or (name == "comments" and not self.scope.narrowed)
        except NotFoundError as error:
            self._without(listing, name.replace("_", " "), error, read=read)

    def _events(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Repository-wide events, down to the lower bound of the run; GitHub limits how far they go."""
        listing = replace(self._listing("issues/events", time_key="created_at"), witness=self.witnesses.happened)
        limited = yield from self._newest_first("events", listing, state)
        if limited:
            self.notes.append(
                f"GitHub's list of events ended at its limit of pages: events before {limited} may be missing; "
                "`--source graphql` reads those of all items, `--numbers FILE` those of single items"
            )

    def _pulls(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """What the list of items lacks of pull requests: branches, head commits, requested reviewers."""
        if self.scope.labels:
            self.notes.append(
                "requested reviewers and head commits were not read: GitHub's list of pull requests knows no labels; "
                "`--source graphql` reads them"
            )
            return
        words = f"repo:{self.repo} is:pr" + (f" state:{self.scope.state}" if self.scope.state != "all" else "")
        listing = self._listing("pulls", search=words, state=self.scope.state, sort="updated", direction="desc")
        listing = replace(listing, witness=partial(self.witnesses.opened, listing))
        limited = yield from self._newest_first("pulls", listing, state)
        if limited:
            self.notes.append(
                f"GitHub's list of pull requests ended at its limit of pages: requested reviewers and head commits of "
                f"those last changed before {limited} may be missing; `--source graphql` reads them"
            )

    def _newest_first(
        self, name: str, listing: Listing, state: Mapping[str, str]
    ) -> Generator[Batch, None, str | None]:
        """Read a listing newest change first; a server that does not have it is noted, not an error.

        Returns:
            The time before which records may be missing, because GitHub listed no further; else ``None``.
        """
        stream = self.scope.stream(name)
        known = load_sweep(state.get(stream))
        cursor = saved = known if known.high else Sweep(high=self.scope.since)
        listing = replace(listing, overlapping=True, swept=True)

        def fetch(link: str | None) -> Listed[Answer]:
            return listing.page(link, filled=known.high is not None)

        try:
            for listed, cursor in sweep(_limited(fetch), saved):
                yield self._batch(f"rest.{name}", listed, stream, dump(cursor))
        except NotFoundError as error:
            self._without(listing, name, error, read=known.high is not None or cursor is not saved)
        return cursor.limited

    def _without(self, listing: Listing, what: str, error: NotFoundError, *, read: bool) -> None:
        """Note that a server does not have a listing.

        Raises:
            UnknownRepositoryError: the repository is gone.
            SourceError: the server had the listing before.
        """
        self._absent = error
        if read:
            self.confirm(error)
            raise SourceError(
                f"{listing.path} was there and is not found now, though the repository is: GitHub fails. "
                "The cursor is kept: run the same command again later"
            ) from error
        self.notes.append(f"this server has no repository-wide list of {what}: none were read")

    def _listing(self, path: str, time_key: str = "updated_at", search: str = "", **query: Any) -> Listing:
        size = min(self.page_size, ITEMS_WITH_PARTS) if self._item_by_item and path == "issues" else self.page_size
        return Listing(self.client, f"/repos/{self.repo}/{path}", query | {"per_page": size}, time_key, search)

    def _items_listing(self, direction: str = "asc", sort: str = "updated") -> Listing:
        query = {"state": self.scope.state, "sort": sort, "direction": direction}
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
        page = self.page(kind, stream, listed.payload.text.encode())
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
                pages += timeline(self, number, item.get("comments"))
            except (NotFoundError, GoneError, MovedError) as error:
                if isinstance(error, NotFoundError):
                    self.confirm(error)
                self._without_parts.append(number)
                _LOG.info("no comments and events of #%d: %s", number, error)
        return pages


def timeline(source: LiveSource, number: int, comments: object = None) -> list[Page]:
    """Comments and events of one item, all pages of them; asked for beyond the budget, to complete the item.

    A record that leaves the list while it is read moves all behind it up. So each page begins with the last record of
    the page before it; where it does not, the list is read again from its beginning.

    Args:
        source: asks.
        number: the item.
        comments: how many the item has by its own count; the pages hold it, so that a replay knows it, too.

    Raises:
        NotFoundError, GoneError, MovedError: the item is not there, or not any more.
        UnsteadyListingError: records left it each time it was read.
    """
    path = f"/repos/{source.repo}/issues/{number}/timeline"
    listing = Listing(
        source.client,
        path,
        {"per_page": REST_PAGE},
        "created_at",
        witness=partial(has_timeline, source, number),
        within_budget=False,
        overlapping=True,
    )
    for _ in range(RESTARTS):
        if (answers := _joined(listing)) is not None:
            return _timeline_pages(source, path, answers, comments)
    raise UnsteadyListingError(
        f"{path} changes faster than its pages can be read. The cursor is kept: run the same command again later"
    )


def _timeline_pages(
    source: LiveSource, path: str, answers: Sequence[tuple[Answer, int]], comments: object
) -> list[Page]:
    pages: list[Page] = []
    for place, (answer, again) in enumerate(answers, start=1):
        begun = pages[0].page_id if pages else ""
        note = {"ends": place == len(answers), "again": again, "comments": whole(comments), "begun": begun}
        request = f"{path} {json.dumps(note)}"
        pages.append(source.page("rest.timeline", request, answer.text.encode()))
    return pages


def _joined(listing: Listing) -> list[tuple[Answer, int]] | None:
    """All pages of a listing, oldest record first, and with how many records of the page before it each begins.

    ``None`` where two of them leave a gap.
    """
    listed = listing.page()
    answers = [(listed.payload, 0)]
    read = [_mark(record) for record in listed.payload.data]
    trail = Trail()
    while (link := listed.next) is not None:
        listed = listing.page(trail.follow(link))
        marks = [_mark(record) for record in listed.payload.data]
        shared = _overlap(read, marks)
        if listing.overlaps(link) and not shared:
            return None
        answers.append((listed.payload, shared))
        read += marks[shared:]
    return answers


def _overlap(read: Sequence[object], marks: Sequence[object]) -> int:
    """How many records a page begins with that were the last ones read; 0 where it does not begin so."""
    sizes = range(min(len(read), len(marks)), 0, -1)
    return next((size for size in sizes if read[-size:] == marks[:size]), 0)


def _mark(record: object) -> object:
    """What tells a record of a timeline from others: its id; references have none, so of these who refers and when."""
    if not isinstance(record, dict):
        return repr(record)
    named = next((record[name] for name in ("node_id", "id", "sha") if record.get(name)), None)
    if named is not None:
        return record.get("event"), named
    source = record.get("source")
    issue = source.get("issue") if isinstance(source, dict) else None
    place = [issue.get(name) for name in ("id", "url", "number")] if isinstance(issue, dict) else repr(source)
    return record.get("event"), record.get("created_at"), login(record.get("actor")), str(place)


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
