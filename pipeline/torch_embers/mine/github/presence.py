"""Which numbers the tracker still has: finds items that were deleted or transferred later, and items never seen.

No listing shows them: what was deleted changes nothing that is listed. By GraphQL one query without connections asks
for many numbers at the price of one. By REST the counts of the search are compared with the database's by time of
creation, so that only ranges that differ are looked at.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import SourceError
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.github.live import together
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.mine.source import read_cursor, sync_state
from torch_embers.normalize import iso_utc, now_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.mine.github.rest import RestSource
    from torch_embers.store.records import Batch
    from torch_embers.store.store import Store

STREAM = "presence"
KINDS = {"issue": "issue", "pull": "pr"}
"""Kinds of items, and how GitHub's search calls them."""


@dataclass(frozen=True, slots=True)
class Held:
    """An item of the database."""

    number: int
    kind: str
    created: str
    """Time of creation, to the second."""
    live: bool
    """False where it is known to be gone."""
    shown: bool = True
    """Whether the tracker itself showed it; a commit's message or a file can name a number that is none."""


@dataclass(slots=True)
class PresenceSource:
    """Asks which numbers the tracker has, and reads what differs from the database."""

    inner: RestSource | GraphqlSource
    held: Mapping[int, Held]
    notes: list[str] = field(default_factory=list)
    asked: int = 0
    differing: int = 0

    @property
    def name(self) -> str:
        """Name of the source that answers."""
        return self.inner.name

    @property
    def repo(self) -> str:
        """The repository's present name, once known."""
        return self.inner.repo

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield one batch per group of numbers; an interrupted run goes on behind the last one."""
        if not self.inner.full_name:
            self.inner.resolve()
        if isinstance(self.inner, GraphqlSource):
            yield from self._by_number(self.inner, state)
        else:
            yield from self._by_counts(self.inner)
        end = together()
        end.cursors.append(sync_state(self, STREAM, finished_at=now_utc()))
        yield end
        self.notes.append(f"{self.asked:,} numbers compared with GitHub's, {self.differing:,} differed and were read")

    def _read(self, numbers: Sequence[int]) -> Batch:
        """Read items that are gone, or were never seen."""
        self.differing += len(numbers)
        reader = NumbersSource(self.inner, numbers, frozenset(self.held))
        return together(*(page for number in numbers for page in reader.fetch(number)))

    # -- by GraphQL -------------------------------------------------------------------------------------------

    def _by_number(self, source: GraphqlSource, state: Mapping[str, str]) -> Iterator[Batch]:
        size = int(choices()["per_query"])
        done = int(read_cursor(state.get(STREAM)).get("done") or 0)
        asked = self._numbers(done)
        while numbers := list(itertools.islice(asked, size)):
            there = self._there(source, numbers)
            batch = self._read([n for n in numbers if self._differs(n, there=n in there)])
            batch.cursors.append(sync_state(self, STREAM, done=numbers[-1]))
            self.asked += len(numbers)
            yield batch

    def _numbers(self, done: int) -> Iterator[int]:
        """All numbers up to the highest that the tracker showed, and of those above it only what is held."""
        top = max((item.number for item in self.held.values() if item.live and item.shown), default=0)
        yield from range(done + 1, top + 1)
        yield from sorted(number for number in self.held if number > max(done, top))

    def _differs(self, number: int, *, there: bool) -> bool:
        return there != self._live(number)

    def _live(self, number: int) -> bool:
        known = self.held.get(number)
        return known is not None and known.live

    def _there(self, source: GraphqlSource, numbers: Sequence[int]) -> set[int]:
        """Those of the numbers that the tracker has; where a part of an answer is missing, that is asked for again.

        Raises:
            SourceError: the server does not answer for a number.
        """
        owner, name = source.repo.split("/", 1)
        answer = source.client.graphql(query(numbers), {"owner": owner, "name": name}, check=_unusable)
        there, unknown = found(answer.data, numbers, source.repo)
        if unknown and len(numbers) == 1:
            raise SourceError(f"GitHub does not answer whether it has #{numbers[0]}: run the same command again later")
        middle = (len(unknown) + 1) // 2
        for half in (unknown[:middle], unknown[middle:]):
            there |= self._there(source, half) if half else set()
        return there

    # -- by REST ----------------------------------------------------------------------------------------------

    def _by_counts(self, source: RestSource) -> Iterator[Batch]:
        for kind in KINDS:
            live = [item for item in self.held.values() if item.kind == kind and item.live and item.created]
            live.sort(key=lambda item: (item.created, item.number))
            self.asked += len(live)
            yield from self._range(source, kind, live, "2000-01-01T00:00:00Z", source.client.now()[:19] + "Z")

    def _range(self, source: RestSource, kind: str, live: Sequence[Held], first: str, last: str) -> Iterator[Batch]:
        """Compare the items created in a range; halve it where the counts differ.

        Raises:
            SourceError: the search does not answer.
        """
        words = f"is:{KINDS[kind]} created:{first}..{last}"
        count = source.counted(words)
        if count is None:
            raise SourceError(f"GitHub's search does not count {words}: run the same command again later")
        if count == len(live):
            return
        split = _middle(live)
        if split is None or max(count, len(live)) <= int(choices()["per_search"]):
            there = source.searched(words)
            numbers = {item.number for item in live}
            yield self._read(sorted(numbers - there) + sorted(n for n in there - numbers if not self._live(n)))
            return
        at = live[split].created
        yield from self._range(source, kind, live[:split], first, _second_before(at))
        yield from self._range(source, kind, live[split:], at, last)


def choices() -> dict[str, Any]:
    """The entry ``numbers`` of data/mining.toml."""
    return dict(resources.load_toml("mining.toml")["numbers"])


def query(numbers: Sequence[int]) -> str:
    """GraphQL text that asks for each number under an alias of its own; it has no connection, so it costs 1 point."""
    fields = "number repository { nameWithOwner }"
    each = f"{{ ... on Issue {{ {fields} }} ... on PullRequest {{ {fields} }} }}"
    asked = "\n".join(f"    n{number}: issueOrPullRequest(number: {number}) {each}" for number in numbers)
    return (
        "query presence($owner: String!, $name: String!) {\n"
        "  rateLimit { cost remaining limit resetAt }\n"
        f"  repository(owner: $owner, name: $name) {{\n{asked}\n  }}\n}}"
    )


def found(data: Mapping[str, Any], numbers: Sequence[int], repo: str) -> tuple[set[int], list[int]]:
    """Which numbers an answer has, and for which it says neither that it has them nor that it has not."""
    answered = data["data"]["repository"]
    absent = {
        error["path"][-1]
        for error in data.get("errors") or []
        if isinstance(error, dict) and error.get("type") == "NOT_FOUND" and error.get("path")
    }
    there: set[int] = set()
    unknown: list[int] = []
    for number in numbers:
        alias = f"n{number}"
        node = answered.get(alias)
        if isinstance(node, dict):
            home = str((node.get("repository") or {}).get("nameWithOwner") or "")
            if node.get("number") == number and home.lower() == repo.lower():
                there.add(number)  # else it moved: the number leads to another place
        elif alias not in absent:
            unknown.append(number)
    return there, unknown


def _unusable(data: object) -> str | None:
    repository = data.get("data", {}).get("repository") if isinstance(data, dict) else None
    return None if isinstance(repository, dict) else "the repository is missing in the answer"


def _middle(live: Sequence[Held]) -> int | None:
    """Place of the first item of the second in the middle; ``None`` where a range cannot be halved."""
    place = len(live) // 2
    while place > 0 and live[place - 1].created == live[place].created:
        place -= 1
    return place or None


def _second_before(moment: str) -> str:
    return (datetime.fromisoformat(moment[:-1]) - timedelta(seconds=1)).isoformat() + "Z"


def held_items(store: Store, *names: str) -> dict[int, Held]:
    """Items of a repository in the database, by number; ``names`` are its former and its present name."""
    if not store.exists():
        return {}
    with store.read() as connection:
        rows = connection.execute(
            "SELECT number, coalesce(kind, ''), coalesce(created_at::VARCHAR, ''), deleted_at IS NULL, "
            "coalesce(source IN ('graphql', 'rest'), false) FROM items "
            "WHERE list_contains($names, lower(repo))",
            {"names": [name.lower() for name in names]},
        ).fetchall()
    return {
        number: Held(number, kind, (iso_utc(at) or "")[:19] + "Z" if at else "", live, shown)
        for number, kind, at, live, shown in rows
    }


def due(store: Store, repo: str, source: str, now: str) -> bool:
    """Whether it is time to ask again: the last time, or else the repository's first page, lies far enough back."""
    state = read_cursor(store.cursors(repo, source).get(STREAM))
    if "done" in state:
        return True
    since = state.get("finished_at")
    if since is None:
        with store.read() as connection:
            [(first,)] = connection.execute(
                "SELECT min(fetched_at)::VARCHAR FROM raw_pages WHERE lower(repo) = lower(?) AND source = ?",
                [repo, source],
            ).fetchall()
        since = iso_utc(first) if first else None
    days = timedelta(days=int(choices()["every_days"]))
    return since is not None and _parsed(now) - _parsed(since) >= days


def _parsed(moment: str) -> datetime:
    return datetime.fromisoformat(moment[:19])
