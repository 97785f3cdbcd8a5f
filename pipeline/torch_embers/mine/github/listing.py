"""One page of a REST listing, and whether what looks like its end is its end.

GitHub sometimes gives a full page without its Link header, or an empty page in the middle, both with status 200. So an
end is believed only where a page is short or where another request confirms it; see the table in docs/mining.md.

A list by page number moves up when a record leaves it. Where it must not be read past a gap (``overlapping``), the next
page is asked for with another size, so that it begins with a record of the page before it: page 2 of size 99 begins
with record 100. That costs 10 to 14 % more requests, and the walk in cursor.py sees whether the pages join.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from torch_embers.errors import ShortListingError, SourceError
from torch_embers.mine.github.cursor import LinkExpiredError, LinkLoopError, Listed, Present, settled_at, whole_second
from torch_embers.mine.github.replies import Answer, DeepPageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_embers.mine.github.client import GitHubClient

EMPTY_TRIES = 3
"""How often a page that cannot be empty is asked for again."""
PROBES = 2
"""How often the page behind a full one without a Link must be empty before the listing counts as ended."""
DEFAULT_SIZE = 30
"""Records a page where the request does not say (docs.github.com)."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing of GitHub's REST API."""

    client: GitHubClient
    path: str
    """As in ``/repos/o/r/issues``."""
    query: dict[str, Any] = field(default_factory=dict)
    time_key: str = "updated_at"
    search: str = ""
    """Query of GitHub's search that counts the same records; empty where the search does not know them."""
    witness: Callable[[], bool] | None = None
    """Says by another listing whether this one has records at all."""
    within_budget: bool = True
    overlapping: bool = False
    """Each page by number begins with a record of the page before it, where the size of a page allows that."""
    swept: bool = False
    """No later run asks again for what is missed at the end: so a short first page without a Link is no end, either."""
    refused: list[int] = field(default_factory=list)
    """Numbers of pages that were too deep, so that smaller pages do not reach a limit of pages before larger ones."""
    present: Present = field(default_factory=Present)

    def page(self, link: str | None = None, since: str | None = None, *, filled: bool = False) -> Listed[Answer]:
        """Fetch one page; an empty one, and a full one without a Link, are not believed before they are confirmed.

        Args:
            link: where the listing went on; ``None`` for its beginning.
            since: lower bound of the time of the last change.
            filled: an earlier run read something in this range, so it cannot be empty without a reason.

        Raises:
            ShortListingError: the listing contradicts itself.
            LinkExpiredError: the link leads to nothing, and only the whole listing read again can tell why.
            LinkLoopError: the page leads to itself or to one before it.
        """
        address = link or self._address(since)
        for _ in range(EMPTY_TRIES):
            address, answer = self._reach(address)
            if answer.data:
                break
        else:
            self._explain_empty(address, since, followed=link is not None, filled=filled)
        onward = answer.link("next")
        short = len(answer.data) < _size(address)
        cut = False
        if onward is None and (not short or self._may_be_cut(address)):
            onward = self._behind(address, answer)
            cut = short and onward is not None
        if onward is not None:
            self._check_server(onward)  # before a cursor holds it: no later run would come beyond it
            self._check_onward(address, onward)
            onward = self._overlap(address, onward) or onward
        earlier = _numbered(address, -1) if self.overlapping and _page(address) > 1 else None
        return self._listed(answer, onward, earlier, since=since, cut=cut)

    def _listed(
        self, answer: Answer, onward: str | None, earlier: str | None, *, since: str | None, cut: bool
    ) -> Listed[Answer]:
        """A page as the walks see it: records with a time, and with a number where the list goes by it."""
        numbered = self.swept and self.time_key == "created_at"
        dated = [o for o in answer.data if isinstance(o, dict) and o.get(self.time_key)]
        dated = [o for o in dated if not numbered or type(o.get("id")) is int]
        updated = self.present.bounded([str(o[self.time_key]) for o in dated], answer.headers.get("date"), since)
        keys, ids = [str(o.get("id")) for o in dated], [o["id"] for o in dated] if numbered else []
        settled = settled_at(answer.headers.get("date"))
        return Listed(updated, onward, answer, keys, earlier=earlier, ids=ids, settled=settled, cut=cut)

    def overlaps(self, link: str) -> bool:
        """Whether the page behind a link begins with a record of the page before it."""
        return self.overlapping and _counted(link)

    def count(self, bound: str = "") -> int | None:
        """How many records GitHub's search counts; ``None`` where it does not know or does not answer."""
        if not self.search:
            return None
        try:
            answer = self.client.get("/search/issues", {"q": f"{self.search} {bound}".strip(), "per_page": 1})
        except SourceError:
            return None
        found = answer.data if isinstance(answer.data, dict) else {}
        count = found.get("total_count")
        # a search that ran out of time counts what it had found until then
        return count if isinstance(count, int) and found.get("incomplete_results") is not True else None

    def _address(self, since: str | None = None, **changed: Any) -> str:
        query = self.query | ({"since": since} if since else {}) | changed
        return f"{self.client.api_url}{self.path}?{urlencode(query)}"

    def _check_server(self, address: str) -> None:
        if urlsplit(address).netloc != urlsplit(self.client.api_url).netloc:
            raise SourceError(f"the listing goes on at another server ({urlsplit(address).netloc}): check --api-url")

    def _ask(self, address: str) -> Answer:
        self._check_server(address)
        answer = self.client.get(address, within_budget=self.within_budget)
        if not isinstance(answer.data, list):
            raise SourceError(f"{self.path}: a list was expected, {str(answer.data)[:80]!r} came")
        return answer

    def _reach(self, address: str) -> tuple[str, Answer]:
        """A page with its address; where it is too deep, a larger one of a lower number that holds its first record."""
        first = (_page(address) - 1) * _size(address) + 1
        asked = address
        while True:
            try:
                answer = self._ask(asked)
            except DeepPageError:
                larger = self._furthest(asked, first, _page(asked)) if self.overlapping and _counted(asked) else None
                if larger is None:
                    raise
                asked = larger
            else:
                if asked != address:
                    self.refused.append(_page(address))
                return asked, answer

    def _overlap(self, address: str, onward: str) -> str | None:
        """Instead of the next page one that begins with what this page ends with, and reaches as far as it can.

        ``None`` where links go on by other marks than numbers, or where pages are too small to overlap.
        """
        if not (self.overlapping and _counted(address) and _counted(onward) and _page(onward) == _page(address) + 1):
            return None
        read = _page(address) * _size(address)
        found = self._furthest(onward, read, min(self.refused, default=None))
        return found if found is not None and _page(found) * _size(found) > read else None

    def _furthest(self, address: str, record: int, below: int | None) -> str | None:
        """The page that holds a record, counted from 1, and the most behind it; of a number below a limit."""
        largest = int(self.query.get("per_page", DEFAULT_SIZE))
        sizes = [s for s in range(largest // 2 + 1, largest + 1) if below is None or -(-record // s) < below]
        if not sizes:
            return None
        size = max(sizes, key=lambda s: (-(-record // s) * s, s))
        parts = urlsplit(address)
        query = dict(parse_qsl(parts.query)) | {"per_page": size, "page": -(-record // size)}
        return parts._replace(query=urlencode(query)).geturl()

    def _check_onward(self, address: str, onward: str) -> None:
        numbered = _counted(address) and _counted(onward)
        same = address == onward or (numbered and _size(address) == _size(onward))
        if same and _page(onward) <= _page(address):
            raise LinkLoopError(
                f"{self.path}: page {_page(address)} leads to page {_page(onward)}, which is no way on. "
                "The cursor is kept: run the same command again later"
            )

    # -- a page without a Link, which is full, or may be cut --------------------------------------------------

    def _may_be_cut(self, address: str) -> bool:
        """Whether a short page is asked about, too: one behind others, or of a list that no later run asks again."""
        return self.overlapping and (self.swept or _page(address) > 1) and _counted(address)

    def _behind(self, address: str, answer: Answer) -> str | None:
        """Address of the page behind a full one without a Link; ``None`` where there is none."""
        onward = _numbered(address, +1)
        if onward is None:
            return self._link_again(address, answer)
        for _ in range(PROBES):
            try:
                if self._ask(onward).data:
                    return onward
            except DeepPageError:
                return onward  # there the walk meets the same refusal, and knows what it means
        return None

    def _link_again(self, address: str, answer: Answer) -> str | None:
        """The Link of a page that cannot be counted on from, asked for again; else a count must confirm the end.

        Raises:
            ShortListingError: nothing confirms it.
        """
        for _ in range(EMPTY_TRIES - 1):
            if (onward := self._ask(address).link("next")) is not None:
                return onward
        last = whole_second(str(answer.data[-1].get(self.time_key)))
        descending = self.query.get("direction") == "desc"
        count = self.count(f"updated:{'<' if descending else '>'}{last}")
        if count != 0:
            raise self._short("in a full page without a link to the next", count)
        return None

    # -- an empty page ----------------------------------------------------------------------------------------

    def _explain_empty(self, address: str, since: str | None, *, followed: bool, filled: bool) -> None:
        """Accept a page that stays empty only where another request shows the reason.

        Raises:
            ShortListingError, LinkExpiredError
        """
        if followed:
            earlier = _numbered(address, -1)
            if earlier is None:
                raise LinkExpiredError(f"{self.path}: a link leads to an empty page")
            if any(self._ask(earlier).link("next") is not None for _ in range(PROBES)):
                raise self._short("in an empty page to which the page before it leads", None)
        elif self._nothing_since(since):
            return
        elif self.witness is not None:
            if filled or self.witness():
                raise self._short("in an empty page", None)
        elif (count := self.count(f"updated:>={since}" if since else "")) != 0:
            raise self._short("in an empty page", count)

    def _nothing_since(self, since: str | None) -> bool:
        """Whether the newest record of the listing is older than the bound.

        So it is where the record that was the newest left the filter, or was deleted.
        """
        if since is None:
            return False
        newest = self._ask(self._address(sort="updated", direction="desc", per_page=1)).data
        if not newest:
            return not (self.witness() if self.witness else self.search)
        return whole_second(str(newest[0].get(self.time_key))) < since

    def _short(self, how: str, count: int | None) -> ShortListingError:
        reason = f"the search counts {count} items there" if count is not None else "nothing confirms it"
        return ShortListingError(
            f"{self.path} ended {EMPTY_TRIES} times {how}, but {reason}. "
            "The cursor is kept: run the same command again later"
        )


def _size(address: str) -> int:
    """Records a page that an address asks for."""
    return int(dict(parse_qsl(urlsplit(address).query)).get("per_page", DEFAULT_SIZE))


def _numbered(address: str, step: int) -> str | None:
    """The address of a page further on or back; ``None`` where the listing goes on by other marks than numbers."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    if re.search(r"(^|&)(after|before|cursor)=", parts.query) or not query.get("page", "1").isdigit():
        return None
    return parts._replace(query=urlencode(query | {"page": _page(address) + step})).geturl()


def _page(address: str) -> int:
    """Number of a page, 1 where the address has none."""
    number = dict(parse_qsl(urlsplit(address).query)).get("page", "1")
    return int(number) if number.isdigit() else 1


def _counted(address: str) -> bool:
    """Whether a listing goes on by page numbers."""
    return _numbered(address, 0) is not None
