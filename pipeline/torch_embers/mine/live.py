"""A mine of GitHub: list the numbers, see which are to be read, read them. It may end at any moment, and goes on there.

Each transaction holds raw objects, the rows derived from them, and the marks that say that they were read.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from torch_embers.errors import IncompleteItemsError, ShortListingError, SourceError, UnknownRepositoryError
from torch_embers.mine import raw
from torch_embers.mine.github_api import BudgetError, NotFoundError, UnansweredError
from torch_embers.mine.raw import Said, part_id
from torch_embers.mine.report import Report
from torch_embers.mine.tracker import (
    KINDS,
    About,
    Absent,
    Bounds,
    Failed,
    Seen,
    Tracker,
    Whole,
    place_of,
    said_absent,
)
from torch_embers.normalize import naive_utc
from torch_embers.progress import Silent
from torch_embers.store import renames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import duckdb

    from torch_embers.mine.github_api import GitHubApi, HttpAnswer
    from torch_embers.progress import Progress

    Transaction = Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]]
    """Opens the database, runs a block in one transaction, and closes it."""

COMMIT_ITEMS = 96
"""Items of one transaction: to open and close the database costs as much as ten items."""
COMMIT_SECONDS = 5.0
"""... or those of so many seconds: what is not committed is read again after a kill."""
COMMIT_NUMBERS = 2_000
COMPARED_AFTER = timedelta(days=30)
"""A number that GitHub named no later is asked for again: what was deleted is in no listing. 1,650 points a month."""
MOST_FAILED = 8
"""Items in a row that are not answered even alone, until the server is taken to fail as a whole."""
MOST_TRIES = 6
"""Tries (two a mine) after which an item that GitHub does not give whole is noted and no longer an error."""
MOST_EXPLAINED = 60
"""Requests, two an item, of which half are spent on why issues were closed: without a token an hour has so many."""
COUNT_TOLERANCE, COUNT_SLACK = 0.001, 2
"""Share and number of items that GitHub may count more than it shows: its counts lag behind by minutes."""
TOKEN_ADVICE = (
    "to get everything (comments, events, files, all items) set GITHUB_TOKEN to a token without any permission "
    "(github.com/settings/tokens) and run `embers mine` again"
)


def mine(
    transaction: Transaction,
    api: GitHubApi,
    repo: str,
    bounds: Bounds | None = None,
    *,
    compare: bool = False,
    again: bool = False,
    by_rest: bool = False,
    report: Report | None = None,
    progress: Progress | None = None,
) -> Report:
    """Mine what changed since the last mine; without a token by REST, newest first.

    Args:
        transaction: opens the database for one transaction.
        api: the way to GitHub.
        repo: owner/name.
        bounds: which part; None for all.
        compare: ask of every number whether it is still there, not only of those that were not seen for long.
        again: read also what did not change.
        by_rest: by REST also with a token.
        report: is filled in.
        progress: who watches.

    Raises:
        SourceError: one of its kinds; what was committed stays.
        IncompleteItemsError: items that GitHub did not give whole; all others are stored.
    """
    by_rest = by_rest or not api.secrets
    report = report or Report("rest" if by_rest else "graphql", repo)
    run = _Mine(transaction, api, repo, progress or Silent(), report)
    bounds = bounds or Bounds()
    if by_rest:
        return run.ended(run.newest_first(bounds, again=again))
    return run.ended(run.everything(bounds, compare=compare, again=again))


def mine_items(
    transaction: Transaction,
    api: GitHubApi,
    repo: str,
    numbers: Sequence[int],
    *,
    again: bool = True,
    by_rest: bool = False,
    report: Report | None = None,
    progress: Progress | None = None,
) -> Report:
    """Mine these items; without ``again`` only those that were not read since they changed.

    Raises: as ``mine``.
    """
    by_rest = by_rest or not api.secrets
    report = report or Report("rest" if by_rest else "graphql", repo)
    run = _Mine(transaction, api, repo, progress or Silent(), report)
    return run.ended(run.these_by_rest(numbers) if by_rest else run.these(numbers, again=again))


@dataclass(slots=True)
class _Mine:
    transaction: Transaction
    api: GitHubApi
    repo: str
    progress: Progress
    report: Report
    tracker: Tracker = field(init=False)
    _known: set[int] = field(default_factory=set)
    """Items of the database that are not known to be gone: only these can have gone."""
    _marks: dict[str, str | None] = field(default_factory=dict)
    _in_a_row: int = 0

    def __post_init__(self) -> None:
        self.tracker = Tracker(self.api, self.repo)

    def ended(self, steps: Iterator[None]) -> Report:
        """Take all steps, and say how it ended."""
        began = time.monotonic()
        try:
            for _ in steps:
                pass
        except BudgetError as stop:
            self.report.stopped = str(stop)
        except UnansweredError:
            with suppress(UnansweredError, BudgetError):
                self.tracker.look_up()  # where it is the repository that is gone, this says so
            raise
        finally:
            self.report.seconds = time.monotonic() - began
            self.report.notes += [*self.tracker.notes, *self.api.notes]
            if hidden := self.tracker.hidden:
                self.report.notes.append(f"{len(hidden)} parts of items are hidden from this token: {hidden[0]} ...")
        lasting = self._still_failing()
        fresh = self.report.failed.keys() - lasting
        if fresh and not self.report.stopped:
            named = ", ".join(f"#{number}" for number in sorted(fresh)[:5]) + (" ..." if len(fresh) > 5 else "")
            raise IncompleteItemsError(
                f"{self.repo}: GitHub did not answer for all of {len(fresh)} items ({named}): "
                f"{self.report.failed[min(fresh)]}. The rest is stored; run `embers mine` again later to complete them"
            )
        if lasting:
            self.report.notes.append(f"{len(lasting)} items are incomplete: GitHub never gave them whole")
        return self.report

    # -- steps ------------------------------------------------------------------------------------------------

    def everything(self, bounds: Bounds, *, compare: bool, again: bool) -> Iterator[None]:
        """List, see which numbers are missing, and read what is to be read."""
        about = self._begin()
        found = {kind: self._listed(kind, bounds) for kind in KINDS.values()}
        listed = [one for some in found.values() for one in some]
        newest = max([about.newest, *(one.number for one in listed)])
        with self.transaction() as connection:
            self._note(connection, listed)
            for kind, some in found.items():
                if some and not bounds.narrowed:
                    _set_mark(connection, self.repo, kind, max(one.updated_at for one in some), None)
            old = naive_utc() - COMPARED_AFTER
            unseen = connection.execute(_UNSEEN, [self.repo, newest, compare, old]).fetchall()
            if again:
                _forget(connection, self.repo, [one.number for one in listed] if bounds.narrowed else None)
        if not bounds.narrowed:
            yield from self._see([number for (number,) in unseen])
        wanted = {one.number for one in listed} if bounds.narrowed else None
        for _ in range(2):  # what was not answered is asked for once more
            yield from self._read(wanted)
        if not bounds.narrowed:
            self._count(about.counts)

    def these(self, numbers: Sequence[int], *, again: bool) -> Iterator[None]:
        """See whether these numbers are there, and read them."""
        self._begin()
        yield from self._see(numbers)
        with self.transaction() as connection:
            if again:
                _forget(connection, self.repo, numbers)
            absent = connection.execute(_ABSENT, [self.repo, list(numbers)]).fetchall()
        self.report.notes += [f"{self.repo} has no item #{number}" for (number,) in absent[:5]]
        for _ in range(2):
            yield from self._read(set(numbers))

    def _begin(self) -> About:
        about = self.tracker.look_up()
        self._settle(about.repo_id, about.name)
        with self.transaction() as connection:
            known = "SELECT number FROM items WHERE repo = ? AND deleted_at IS NULL"
            self._known = {number for (number,) in connection.execute(known, [self.repo]).fetchall()}
            self._marks = {kind: _mark(connection, self.repo, kind)[0] for kind in KINDS.values()}
        return about

    def _settle(self, repo_id: int | None, name: str) -> None:
        """Use the present name of the repository, also for what is stored under a former one.

        Raises:
            SourceError: the name stands for another repository now, and GitHub no longer has the stored one.
        """
        asked_as, self.repo = self.repo, name
        self.report.repo = self.tracker.repo = name
        if repo_id is None:
            return
        with self.transaction() as connection:
            known = renames.present(connection)
        others = [other for other, held in known.items() if held == name and other != repo_id]
        seen = [(other, self._present_name(other, name), name) for other in others]
        if known.get(repo_id) != name or asked_as != name:
            seen.append((repo_id, name, asked_as))
        if seen:
            with self.transaction() as connection:
                renamed = [renames.apply(connection, *one, str(naive_utc())) for one in seen]
                if any(renamed):
                    raw.derive_all(connection)

    def _present_name(self, repo_id: int, taken: str) -> str:
        try:
            name = _of(self.api.get(f"/repositories/{repo_id}").data, "full_name")
        except NotFoundError:
            name = None
        if not isinstance(name, str) or name == taken:
            raise SourceError(
                f"{taken} is another repository now: the database holds the one with the id {repo_id}, which GitHub no "
                "longer shows. Mine the new one into another database (--database)"
            )
        return name

    def _listed(self, kind: str, bounds: Bounds) -> list[Seen]:
        """What changed since the last listing, or lies within bounds; the first mine asks for all numbers instead."""
        mark = self._marks[kind]
        if mark is None and not bounds.narrowed:
            return self.tracker.top(kind)
        return self.tracker.listed(kind, bounds, None if bounds.narrowed else mark)

    def _see(self, numbers: Sequence[int]) -> Iterator[None]:
        """Ask which of these numbers are there."""
        for some in _batches(numbers, COMMIT_NUMBERS):
            found = [self._gone(one) if isinstance(one, Absent) else one for one in self.tracker.seen(some)]
            self._store(found)
            yield

    def _read(self, wanted: set[int] | None) -> Iterator[None]:
        """Read what is to be read, newest first, and last what was not answered before."""
        with self.transaction() as connection:
            rows = connection.execute(_TODO, [self.repo]).fetchall()
        todo = [(number, kind) for number, kind in rows if wanted is None or number in wanted]
        self.progress.expects(len(todo))
        self._in_a_row = 0
        pending: list[Whole | Absent | Failed] = []
        began = time.monotonic()
        try:
            for some in _batches(todo, COMMIT_ITEMS):
                for one in self.tracker.items(some):
                    pending.append(self._gone(one) if isinstance(one, Absent) else one)
                    if len(pending) >= COMMIT_ITEMS or time.monotonic() - began > COMMIT_SECONDS:
                        stored, pending, began = pending, [], time.monotonic()
                        self._store(stored)
                        yield
        finally:
            self._store(pending)

    def _gone(self, absent: Absent) -> Absent | Failed:
        """A number without an item; of one that the database has, with the place where it is now."""
        return self.tracker.confirmed(absent) if absent.number in self._known else absent

    def _store(self, found: Sequence[Seen | Whole | Absent | Failed]) -> None:
        """Store what was found, and that it was read, in one transaction.

        Raises:
            UnansweredError: too many in a row were not answered.
        """
        if not found:
            return
        objects: list[Said] = []
        failed: dict[int, str] = {}
        for one in found:
            if isinstance(one, Whole):
                objects += one.objects
                self.report.failed.pop(one.number, None)
            elif isinstance(one, Absent) and one.number in self._known:
                objects.append(said_absent(self.repo, one))
                self._known.discard(one.number)
            elif isinstance(one, Failed):
                failed[one.number] = one.reason
            self._in_a_row = self._in_a_row + 1 if isinstance(one, Failed) else 0
        with self.transaction() as connection:
            self._note(connection, found)
            raw.put(connection, objects)
            raw.derive(connection, self.repo, sorted({int(one.id.partition("/")[0]) for one in objects}))
        self.report.failed |= failed
        self._counted(objects)
        if self._in_a_row >= MOST_FAILED:
            raise UnansweredError(f"{self._in_a_row} items in a row were not answered: {next(iter(failed.values()))}")

    def _counted(self, objects: Sequence[Said]) -> None:
        kinds = Counter(one.kind for one in objects)
        absent = sum(one.kind == "item" and one.said_at is None for one in objects)  # only a tombstone is undated
        self.report.absent += absent
        self.report.items += kinds["item"] - absent
        self.report.comments += kinds["comment"]
        self.report.events += kinds["event"]
        self.progress.advanced(kinds["item"] - absent)

    def _note(self, connection: duckdb.DuckDBPyConnection, found: Sequence[Seen | Whole | Absent | Failed]) -> None:
        """Note what was found of numbers."""
        rows = [_row(one) for one in {one.number: one for one in found}.values()]
        if not rows:
            return
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(_FOUND, columns)
        for statement in connection.extract_statements(raw.text_of("list_numbers.sql")):
            given = {"repo": self.repo, "now": naive_utc()}
            connection.execute(statement, {name: given[name] for name in statement.named_parameters})

    def _count(self, counts: dict[str, int]) -> None:
        """Compare with how many items GitHub counted when the mine began.

        Raises:
            ShortListingError: more are missing than a count that lags behind explains.
        """
        with self.transaction() as connection:
            held = dict(connection.execute(_HELD, [self.repo]).fetchall())
        for kind, count in counts.items():
            lacking = count - held.get(kind, 0)
            text = f"{self.repo}: GitHub counts {lacking} {kind}s more than its numbers show"
            if lacking > max(COUNT_SLACK, count * COUNT_TOLERANCE):
                raise ShortListingError(f"{text}. What was read is kept; run `embers mine` again later")
            if lacking > 0:
                self.report.notes.append(f"{text}: its counts lag behind by minutes")

    def _still_failing(self) -> set[int]:
        if not self.report.failed:
            return set()
        with self.transaction() as connection:
            query = "SELECT number FROM listed WHERE repo = ? AND tries > ?"
            found = {number for (number,) in connection.execute(query, [self.repo, MOST_TRIES]).fetchall()}
        return found & self.report.failed.keys()

    # -- without a token --------------------------------------------------------------------------------------

    def newest_first(self, bounds: Bounds, *, again: bool) -> Iterator[None]:
        """Read items by REST, newest change first: down to where the last run began, then on where it stopped.

        Raises:
            ShortListingError: the list ends before its end.
        """
        repo_id = self._begin_by_rest()
        if not self.api.secrets:
            self.report.notes.append(TOKEN_ADVICE)
        with self.transaction() as connection:
            if again:
                _unmark(connection, self.repo)
            mark, onward = (None, None) if bounds.narrowed else _mark(connection, self.repo, "rest")
            held = sum(count for _, count in connection.execute(_HELD, [self.repo]).fetchall())
        if not self.api.secrets and not bounds.narrowed:
            yield from self._each_alone(self._unexplained())
        # by id: what comes of a redirect to a new name has lost what was asked for
        address, asked, top = f"/repositories/{repo_id}/issues", _NEWEST | _asked_of(bounds), ""
        met: set[int] = set()
        while address:
            answer = self._by_rest(address, _is_sorted, asked)
            moments = [one["updated_at"] for one in answer.data]
            top = top or max(moments, default="")
            met.update(one["number"] for one in answer.data)
            address, asked = answer.next or "", {}
            if mark and moments and moments[-1] < mark:
                mark, address = None, onward or ""
            elif mark and not address and len(met) < held:
                with self.transaction() as connection:  # the next run begins anew: an item may be gone for good
                    _unmark(connection, self.repo)
                raise ShortListingError(
                    f"{self.repo}: the list of items ended before it met what was read last time. "
                    "What was read is kept; run `embers mine` again later"
                )
            with self.transaction() as connection:
                self._store_rest(connection, answer, bounds.until)
                if top and not mark and not bounds.narrowed:
                    _set_mark(connection, self.repo, "rest", top, address or None)
            yield
            if address and self.api.left == 0:
                self.report.stopped = "the requests that GitHub answers in an hour without a token are used up"
                return
        if self.api.left >= 2 and not bounds.narrowed:  # else the next run counts
            self._count_by_search()

    def _begin_by_rest(self) -> int:
        """Look the repository up; its id."""
        try:
            about = self._by_rest(f"/repos/{self.repo}", lambda found: isinstance(found.get("id"), int)).data
        except NotFoundError as error:
            raise UnknownRepositoryError(
                f"{self.api.api_url} has no repository {self.repo!r}, or hides it without a token: check --repo"
            ) from error
        self._settle(about["id"], str(about.get("full_name") or self.repo))
        return int(about["id"])

    def _count_by_search(self) -> None:
        """Compare with what GitHub's search counts: a list can end before its end without a word."""
        counts = {}
        for kind, word in (("issue", "issue"), ("pull", "pr")):
            found = self.api.get("/search/issues", {"q": f"repo:{self.repo} is:{word}", "per_page": 1}).data
            if isinstance(found.get("total_count"), int) and not found.get("incomplete_results"):
                counts[kind] = found["total_count"]
        try:
            self._count(counts)
        except ShortListingError:
            with self.transaction() as connection:  # the next run begins anew
                _unmark(connection, self.repo)
            raise

    def these_by_rest(self, numbers: Sequence[int]) -> Iterator[None]:
        """Read items with their comments and events by REST."""
        self.report.notes.append("by REST: with comments and events, without files of pull requests")
        self._begin_by_rest()
        self.progress.expects(len(numbers))
        yield from self._each_alone(numbers)

    def _unexplained(self) -> list[int]:
        """Closed issues of which nothing says why they were closed, for half of the requests that are left."""
        budget = math.inf if self.api.budget is None else self.api.budget - self.api.requests
        requests = min(self.api.left, budget, MOST_EXPLAINED)
        with self.transaction() as connection:
            found = connection.execute(_UNEXPLAINED, [self.repo, int(max(requests, 0)) // 4]).fetchall()
        return [number for (number,) in found]

    def _each_alone(self, numbers: Sequence[int]) -> Iterator[None]:
        for number in numbers:
            try:
                objects = self._alone(number)
            except UnansweredError as error:
                self.report.failed[number] = str(error)
                continue
            if not objects:
                self.report.notes.append(f"{self.repo} has no item #{number}")
                continue
            with self.transaction() as connection:
                raw.put(connection, objects)
                raw.derive(connection, self.repo, [number])
            self._counted(objects)
            yield

    def _alone(self, number: int) -> list[Said]:
        """An item with its timeline; or that it is gone, and where to."""
        place = f"/repos/{self.repo}/issues/{number}"
        try:
            item = self._by_rest(place, lambda found: isinstance(found["number"], int))
        except NotFoundError:
            return [said_absent(self.repo, Absent(number, naive_utc()))] if self._has(number) else []
        if elsewhere := place_of(item.data, self.repo, number):
            return [said_absent(self.repo, Absent(number, item.at, elsewhere))] if self._has(number) else []
        address, asked = f"{place}/timeline", {"per_page": 100}
        happened: list[Any] = []
        while address:
            page = self._by_rest(address, lambda found: isinstance(found, list), asked)
            happened += page.data
            address, asked = page.next or "", {}
        return list(_said_by_rest(self.repo, number, item, happened))

    def _has(self, number: int) -> bool:
        with self.transaction() as connection:
            query = "SELECT count(*) > 0 FROM items WHERE repo = ? AND number = ? AND deleted_at IS NULL"
            [(has,)] = connection.execute(query, [self.repo, number]).fetchall()
        return bool(has)

    def _by_rest(
        self, address: str, is_good: Callable[[Any], bool], parameters: dict[str, Any] | None = None
    ) -> HttpAnswer:
        """GET; again where the answer is not what was asked for.

        Raises:
            UnansweredError: it never is.
        """
        for _ in range(self.api.patience.retries + 1):
            answer = self.api.get(address, parameters)
            with suppress(AttributeError, KeyError, TypeError):
                if is_good(answer.data):
                    return answer
            self.api.sleep(self.api.patience.backoff)
        raise UnansweredError(f"{address}: the answer is not what was asked for, try again later")

    def _store_rest(self, connection: duckdb.DuckDBPyConnection, answer: HttpAnswer, until: str | None) -> None:
        """Store a page of items. They do not count as read: with a token everything that belongs to them is."""
        found = [one for one in answer.data if until is None or one["updated_at"] <= until]
        objects = [
            Said(self.repo, "item", str(one["number"]), "rest", one["updated_at"], None, answer.at, _text(one))
            for one in found
        ]
        raw.put(connection, objects)
        raw.derive(connection, self.repo, [one["number"] for one in found])
        self._note(
            connection,
            [
                Seen(
                    one["number"],
                    "pull" if "pull_request" in one else "issue",
                    one["updated_at"],
                    int(one.get("comments") or 0),
                )
                for one in found
            ],
        )
        self.report.items += len(found)
        self.progress.advanced(len(found))


_NEWEST = {"state": "all", "sort": "updated", "direction": "desc", "per_page": 100}
_UNSEEN = """
SELECT number FROM range(1, $2 + 1) every(number) ANTI JOIN (FROM listed WHERE repo = $1) USING (number)
UNION ALL
SELECT number FROM listed WHERE repo = $1 AND ($3 OR seen_at < $4::TIMESTAMP)
ORDER BY number
"""
_ABSENT = "SELECT number FROM listed WHERE repo = ? AND is_absent AND number IN (SELECT unnest(?)) ORDER BY number"
_UNEXPLAINED = """
SELECT number FROM item_dispositions JOIN items i USING (repo, number)
WHERE repo = ? AND i.state = 'closed' AND i.kind = 'issue' AND disposition = 'unknown' AND i.deleted_at IS NULL
  AND NOT coalesce(i.history, false)
  AND NOT EXISTS (FROM events e WHERE e.repo = i.repo AND e.number = i.number AND e.type = 'closed')
ORDER BY number LIMIT ?
"""
_TODO = "SELECT number, kind FROM todo WHERE repo = ? ORDER BY tries, number DESC"
_HELD = "SELECT kind, count(*) FROM listed WHERE repo = ? AND NOT is_absent GROUP BY kind"
_FOUND = """
CREATE OR REPLACE TEMP TABLE found AS
SELECT unnest($1::INTEGER[]) AS number, unnest($2::VARCHAR[]) AS state, unnest($3::VARCHAR[]) AS kind,
       unnest($4::TIMESTAMP[]) AS updated_at, unnest($5::INTEGER[]) AS comments, unnest($6::VARCHAR[]) AS reason
"""


def _batches(entries: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (entries[start : start + size] for start in range(0, len(entries), size))


def _row(one: Seen | Whole | Absent | Failed) -> tuple[int, str, str | None, str | None, int | None, str | None]:
    """The row of ``found``."""
    match one:
        case Absent():
            return one.number, "absent", None, None, None, None
        case Failed():
            return one.number, "failed", None, None, None, one.reason
    seen = one.seen if isinstance(one, Whole) else one
    return seen.number, "read" if isinstance(one, Whole) else "seen", seen.kind, seen.updated_at, seen.comments, None


def _mark(connection: duckdb.DuckDBPyConnection, repo: str, listing: str) -> tuple[str | None, str | None]:
    """Where the next listing stops (ISO 8601, UTC), and where one that stopped early goes on."""
    query = "SELECT strftime(down_to, '%Y-%m-%dT%H:%M:%SZ'), onward FROM listing_marks WHERE repo = ? AND listing = ?"
    found = connection.execute(query, [repo, listing]).fetchone()
    return (found[0], found[1]) if found else (None, None)


def _unmark(connection: duckdb.DuckDBPyConnection, repo: str) -> None:
    connection.execute("DELETE FROM listing_marks WHERE repo = ? AND listing = 'rest'", [repo])


def _forget(connection: duckdb.DuckDBPyConnection, repo: str, numbers: Sequence[int] | None) -> None:
    """Let these items, or all, be read again."""
    some = None if numbers is None else list(numbers)
    query = (
        "UPDATE listed SET read_of = NULL WHERE repo = $1 AND ($2 IS NULL OR number IN (SELECT unnest($2::INTEGER[])))"
    )
    connection.execute(query, [repo, some])


def _asked_of(bounds: Bounds) -> dict[str, Any]:
    """The parameters of a REST listing within bounds."""
    given = {"since": bounds.since, "state": bounds.state, "labels": ",".join(bounds.labels)}
    return {name: value for name, value in given.items() if value}


def _set_mark(connection: duckdb.DuckDBPyConnection, repo: str, listing: str, down_to: str, onward: str | None) -> None:
    connection.execute("DELETE FROM listing_marks WHERE repo = ? AND listing = ?", [repo, listing])
    connection.execute("INSERT INTO listing_marks VALUES (?, ?, ?::TIMESTAMP, ?)", [repo, listing, down_to, onward])


def _is_sorted(page: Any) -> bool:
    """Whether a page of items is newest first; what comes of a redirect is not: it has lost the order asked for."""
    moments = [one["updated_at"] for one in page if isinstance(one["number"], int)]
    return isinstance(page, list) and len(moments) == len(page) and moments == sorted(moments, reverse=True)


def _of(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _said_by_rest(repo: str, number: int, item: HttpAnswer, happened: Iterable[Any]) -> Iterator[Said]:
    """The raw objects of an item and its timeline."""
    whole = item.data | {"whole": ["comments", "events"]}
    yield Said(repo, "item", str(number), "rest", whole["updated_at"], None, item.at, _text(whole))
    for one in happened:
        kind = "comment" if one.get("event") == "commented" else "event"
        at = one.get("updated_at") or one.get("created_at")
        source = (one.get("source") or {}).get("issue") or {}
        name = one.get("id") if kind == "comment" else one.get("node_id") or one.get("id")
        yield Said(repo, kind, part_id(number, name or f"{one.get('event')}:{at}:{source.get('id')}"), "rest", at, None,
                   item.at, _text(one))  # fmt: skip
