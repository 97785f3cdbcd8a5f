"""Whether a list of the whole repository that comes empty can be empty: asked of the items whose records it holds.

GitHub counts neither the events nor the comments on lines of a repository. So a run keeps in mind which items that it
listed are the likeliest to have some, and a few of these are asked.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from torch_embers.mine.github.replies import GoneError, MovedError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch_embers.mine.github.listing import Listing
    from torch_embers.mine.github.live import LiveSource

PROBED = 5
"""Items that are asked."""
SIGNS = ("labels", "milestone", "assignees", "closed_at", "comments")
"""Fields of an item that come with events: the more of them it has, the likelier it has some."""


@dataclass(slots=True)
class Witnesses:
    """What a run has listed of items, as far as it tells whether other lists can be empty; each method says of one."""

    source: LiveSource
    most_commented: Callable[[], Listing]
    """The list of items, those with the most comments first: asked where this run listed none."""
    _commented: bool = False
    _eventful: list[tuple[int, int]] = field(default_factory=list)
    """The likeliest items to have events: how many signs, number."""
    _pulls: list[tuple[int, int]] = field(default_factory=list)
    """The likeliest pull requests to have comments on lines: how many other comments, number."""

    def note(self, listed: Iterable[Any]) -> None:
        """Keep in mind what a page of the list of items shows."""
        items = [one for one in listed if isinstance(one, dict) and isinstance(one.get("number"), int)]
        self._commented = self._commented or any(one.get("comments") for one in items)
        eventful = [(sum(bool(one.get(name)) for name in SIGNS), one["number"]) for one in items]
        self._eventful = nlargest(PROBED, {*self._eventful, *eventful})
        pulls = [(int(one.get("comments") or 0), one["number"]) for one in items if one.get("pull_request")]
        self._pulls = nlargest(PROBED, {*self._pulls, *pulls})

    def commented(self) -> bool:
        """Whether an item has comments: one that this run listed, or else the one that has the most."""
        if not self._commented:
            self._ask_items()
        return self._commented

    def opened(self, pulls: Listing) -> bool:
        """Whether there are pull requests: this run listed one, or the search counts some, or it does not answer."""
        return bool(self._pulls) or pulls.count() != 0

    def happened(self) -> bool:
        """Whether one of the likeliest items has events."""
        if not self._eventful:
            self._ask_items()
        return any(_has(self.source, number, "events") for _, number in self._eventful)

    def remarked(self) -> bool:
        """Whether one of the likeliest pull requests has comments on lines."""
        if not self._pulls:
            self._ask_items()
        pulls = [_asked(self.source, f"pulls/{number}") for _, number in self._pulls]
        return any(pull.get("review_comments") != 0 for pull in pulls if isinstance(pull, dict))

    def _ask_items(self) -> None:
        self.note(self.most_commented().page().payload.data)


def has_timeline(source: LiveSource, number: int) -> bool:
    """Whether an item has comments or events; its own count of comments includes those that GitHub shows nobody."""
    return _has(source, number, "comments") or _has(source, number, "events")


def _has(source: LiveSource, number: int, what: str) -> bool:
    return bool(_asked(source, f"issues/{number}/{what}", {"per_page": 1}))


def _asked(source: LiveSource, path: str, query: dict[str, Any] | None = None) -> Any:
    """What there is of an item; ``None`` where the item is not there, or not any more."""
    with suppress(NotFoundError, GoneError, MovedError):
        return source.client.get(f"/repos/{source.repo}/{path}", query, within_budget=False).data
    return None
