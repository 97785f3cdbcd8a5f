"""One page of a REST listing, and whether what looks like its end is its end.

GitHub sometimes gives a full page without its Link header, or an empty page in the middle, both with status 200. So an
end is believed only where a page is short or where another request confirms it; see the table in docs/mining.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from torch_embers.errors import ShortListingError, SourceError
from torch_embers.mine.client import Answer, DeepPageError
from torch_embers.mine.cursor import LinkExpiredError, Listed, whole_second

if TYPE_CHECKING:
    from torch_embers.mine.client import GitHubClient

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
    within_budget: bool = True

    def page(self, link: str | None = None, since: str | None = None, *, filled: bool = False) -> Listed[Answer]:
        """Fetch one page; an empty one, and a full one without a Link, are not believed before they are confirmed.

        Args:
            link: where the listing went on; ``None`` for its beginning.
            since: lower bound of the time of the last change.
            filled: an earlier run read something in this range, so it cannot be empty without a reason.

        Raises:
            ShortListingError: the listing contradicts itself.
            LinkExpiredError: the link leads to nothing, and only the whole listing read again can tell why.
        """
        address = link or self._address(since)
        for _ in range(EMPTY_TRIES):
            answer = self._ask(address)
            if answer.data:
                break
        else:
            self._explain_empty(address, since, followed=link is not None, filled=filled)
        onward = answer.link("next")
        if onward is None and len(answer.data) >= _size(address):
            onward = self._behind(address, answer)
        dated = [o for o in answer.data if isinstance(o, dict) and o.get(self.time_key)]
        keys = [str(o.get("id")) for o in dated]
        return Listed([str(o[self.time_key]) for o in dated], onward, answer, keys)

    def count(self, bound: str = "") -> int | None:
        """How many records GitHub's search counts; ``None`` where it does not know or does not answer."""
        if not self.search:
            return None
        try:
            answer = self.client.get("/search/issues", {"q": f"{self.search} {bound}".strip(), "per_page": 1})
        except SourceError:
            return None
        count = answer.data.get("total_count") if isinstance(answer.data, dict) else None
        return count if isinstance(count, int) else None

    def _address(self, since: str | None = None, **changed: Any) -> str:
        query = self.query | ({"since": since} if since else {}) | changed
        return f"{self.client.api_url}{self.path}?{urlencode(query)}"

    def _ask(self, address: str) -> Answer:
        if urlsplit(address).netloc != urlsplit(self.client.api_url).netloc:
            raise SourceError(f"the listing goes on at another server ({urlsplit(address).netloc}): check --api-url")
        answer = self.client.get(address, within_budget=self.within_budget)
        if not isinstance(answer.data, list):
            raise SourceError(f"{self.path}: a list was expected, {str(answer.data)[:80]!r} came")
        return answer

    # -- a full page without a Link ---------------------------------------------------------------------------

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
        elif filled and not self._nothing_since(since):
            count = self.count(f"updated:>={since}" if since else "")
            if count != 0:
                raise self._short("in an empty page", count)

    def _nothing_since(self, since: str | None) -> bool:
        """Whether the newest record of the listing is older than the bound.

        So it is where the record that was the newest left the filter, or was deleted.
        """
        if since is None:
            return False
        newest = self._ask(self._address(sort="updated", direction="desc", per_page=1)).data
        if not newest:
            return not self.search
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
    page = int(query.get("page", 1)) + step
    return parts._replace(query=urlencode(query | {"page": page})).geturl()
