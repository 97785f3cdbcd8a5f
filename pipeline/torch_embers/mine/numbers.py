"""Mining single items by number, by either way of asking GitHub."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.mine import graphql_records
from torch_embers.mine.client import GoneError, MovedError, NotFoundError
from torch_embers.mine.graphql import COMMENTS, EVENTS, GraphqlSource
from torch_embers.mine.live import finish
from torch_embers.mine.pages import make_page
from torch_embers.mine.source import read_cursor
from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.mine.rest import RestSource
    from torch_embers.store.records import Batch, Page


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
