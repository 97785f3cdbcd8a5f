"""Mining GitHub by REST, through PyGithub's requester (client.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from torch_embers.errors import ShortListingError, SourceError
from torch_embers.mine.client import Answer, DeepPageError, NotFoundError
from torch_embers.mine.cursor import Forward, LinkExpiredError, Listed, dump, keyset, load_forward, load_sweep, sweep
from torch_embers.mine.live import LiveSource, Totals, finish, until_passed
from torch_embers.mine.pages import make_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from torch_embers.store.records import Batch

REST_PAGE = 100
"""Largest page GitHub gives."""
EMPTY_TRIES = 3
"""How often a page that cannot be empty is asked for again."""


@dataclass(slots=True)
class RestSource(LiveSource):
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
