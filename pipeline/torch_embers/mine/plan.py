"""What one `embers mine` does: which sources, in which order, and what happens where GitHub cannot be reached."""

from __future__ import annotations

import re
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from torch_embers.errors import (
    EmbersError,
    IncompleteItemsError,
    InputError,
    NotReachableError,
    RateLimitError,
    SourceError,
)
from torch_embers.mine import refresh, runner
from torch_embers.mine.files.archive import ArchiveSource
from torch_embers.mine.files.jsonl import JsonlSource
from torch_embers.mine.git.gitlog import GitSource
from torch_embers.mine.github import presence
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.github.numbers import RESUMED_WITHIN, ClosingsSource, NumbersSource
from torch_embers.mine.github.presence import PresenceSource
from torch_embers.mine.github.replies import Patience, plain_http
from torch_embers.mine.github.rest import RestSource
from torch_embers.mine.records.graphql_answers import place_name
from torch_embers.mine.scope import Scope, scope
from torch_embers.normalize import now_utc
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from torch_embers.mine.github.client import GitHubClient
    from torch_embers.mine.runner import Report
    from torch_embers.mine.source import Source
    from torch_embers.progress import Progress
    from torch_embers.settings import Settings

LIVE = ("graphql", "rest")
FILES = ("archive", "jsonl", "git")
SOURCES = ("auto", *LIVE, *FILES, "catalog")
ANONYMOUS_LIMIT = 60
"""Requests an hour without a token (docs.github.com, rate limits for the REST API)."""
TOKEN_ADVICE = (
    "to get everything (comments, events, files, all items) set GITHUB_TOKEN to a token without any permission "
    "(github.com/settings/tokens) and run `embers mine` again"
)
WAITING_TRIES = 6
"""Tries (two a run) after which an item that GitHub cannot give whole is noted and no longer an error."""
_UNEXPLAINED = """
SELECT number FROM item_dispositions JOIN items i USING (repo, number)
WHERE repo = ? AND i.state = 'closed' AND i.kind = 'issue' AND disposition = 'unknown'
AND NOT EXISTS (FROM events e WHERE e.repo = i.repo AND e.number = i.number AND e.type = 'closed')
ORDER BY number LIMIT ?
"""
_ARCHIVE_HOUR = re.compile(r"\d{4}-\d\d-\d\d-\d{1,2}\.json(\.gz)?$")


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    source: str = "auto"
    paths: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    state: str = "all"
    labels: tuple[str, ...] = ()
    numbers: Path | None = None
    refresh: str | None = None
    check_numbers: bool = False
    budget: int | None = None
    replay: bool = False


ProgressOf: TypeAlias = "Callable[[GitHubClient | None], AbstractContextManager[Progress]]"
"""Makes the progress line of a mine; the client, where there is one, knows the quota."""


def choose(request: Request) -> str:
    """Name of the source, from the option and the paths.

    Raises:
        InputError: an unknown source, or paths that do not go with it.
    """
    if request.source not in SOURCES:
        raise InputError(f"--source {request.source!r}: one of {', '.join(SOURCES)}")
    if request.source == "auto" and request.paths:
        first = request.paths[0]
        if _ARCHIVE_HOUR.search(first):
            return "archive"
        return "git" if Path(first).is_dir() else "jsonl"
    if request.source in FILES and not request.paths:
        raise InputError(f"--source {request.source} needs a path: embers mine --source {request.source} PATH")
    if request.source not in ("auto", *FILES) and request.paths:
        raise InputError(f"--source {request.source} takes no path ({request.paths[0]})")
    return request.source


def refuse_unusable(kind: str, request: Request) -> None:
    """Refuse options that the source cannot obey, rather than ignore them.

    Raises:
        InputError: names the option and the sources that know it.
    """
    given = {
        "--numbers": request.numbers is not None,
        "--state": request.state != "all",
        "--label": bool(request.labels),
        "--budget": request.budget is not None,
        "--check-numbers": request.check_numbers,
    }
    bounds = {"--since": request.since is not None, "--until": request.until is not None}
    if kind in ("jsonl", "git", "catalog"):
        given |= bounds
    if kind not in (*FILES, "catalog"):
        given = {}
    for option, is_given in given.items():
        if is_given:
            raise InputError(f"{option} does not go with --source {kind}: only a live source (graphql, rest) knows it")


def refuse_beside_replay(request: Request) -> None:
    """Refuse what a replay cannot obey: it reads all stored pages, and nothing else.

    Raises:
        InputError: names the paths or the options.
    """
    if request.paths:
        raise InputError(f"--replay reads the stored pages alone, not {request.paths[0]}: run embers mine twice")
    plain = Request()
    options = {"labels": "--label", "check_numbers": "--check-numbers"}
    given = [
        options.get(one.name, f"--{one.name}")
        for one in fields(Request)
        if one.name != "replay" and getattr(request, one.name) != getattr(plain, one.name)
    ]
    if given:
        raise InputError(f"{', '.join(given)}: does not go with --replay, which reads all stored pages again")


@dataclass(frozen=True, slots=True)
class _Live:
    """What a live mine needs to know, checked before anything is asked."""

    kind: str
    scope: Scope
    numbers: list[int] | None
    budget: int | None
    forget: bool = False
    """Whether cursors in these bounds are forgotten first."""
    check_numbers: bool = False
    anew: bool = False
    """Whether named numbers are all read, also those that an interrupted run has read."""


def _file_source(kind: str, request: Request, wanted: Scope) -> Source:
    if kind == "jsonl":
        return JsonlSource(wanted.repo, [Path(p) for p in request.paths])
    if kind == "archive":
        return ArchiveSource(wanted.repo, list(request.paths), wanted.since, wanted.until)
    if len(request.paths) != 1:
        raise InputError("--source git takes one path: the folder of the clone")
    return GitSource(wanted.repo, Path(request.paths[0]))


def _client(settings: Settings, budget: int | None) -> GitHubClient:
    names = {field.name for field in fields(Patience)}
    patience = Patience(**settings.model_dump(include=names))
    tokens = settings.token_list()
    if tokens and plain_http(settings.api_url) and not settings.allow_http:
        raise InputError(
            f"{settings.api_url} is not encrypted, others on the way could read the token: use https, unset the token, "
            "or allow it by EMBERS_ALLOW_HTTP=1 (allow_http in embers.toml)"
        )
    from torch_embers.mine.github.client import GitHubClient  # with PyGithub, which a mine of files does without

    return GitHubClient(settings.api_url, tokens, patience, budget=budget)


def _again(kind: str, request: Request) -> tuple[list[int] | None, bool]:
    """Numbers to mine alone, if any are named, and whether cursors are forgotten.

    Raises:
        InputError: options that exclude each other, or that cannot be read.
    """
    given = {
        "--numbers": request.numbers is not None,
        "--refresh": request.refresh is not None,
        "--check-numbers": request.check_numbers,
    }
    chosen = [option for option, is_given in given.items() if is_given]
    if len(chosen) > 1:
        raise InputError(f"{chosen[0]} and {chosen[1]} do not go together: run embers mine twice")
    if request.numbers is not None:
        return refresh.read_numbers(request.numbers), False
    if request.refresh is None:
        return None, False
    numbers = refresh.wanted_numbers(request.refresh)
    if numbers is not None and kind in (*FILES, "catalog"):
        raise InputError(f"--refresh with numbers does not go with --source {kind}: only a live source knows it")
    return numbers, numbers is None


def run(settings: Settings, request: Request, progress_of: ProgressOf) -> Iterator[Report]:
    """Do what was asked; yields a report per source, as soon as it is done.

    Raises:
        EmbersError: one of its kinds; what was committed stays.
    """
    store = Store(settings.database)
    if request.replay:
        refuse_beside_replay(request)
        with progress_of(None) as progress:
            yield runner.replay(store, progress=progress)
        return
    kind = choose(request)
    refuse_unusable(kind, request)
    wanted = scope(settings.repo, request.since, request.until, request.state, request.labels)
    numbers, forget = _again(kind, request)
    anew = request.refresh is not None
    live = _Live(kind, wanted, numbers, request.budget, forget, request.check_numbers, anew)
    if kind in FILES:
        if forget:
            refresh.forget(store, wanted, wanted.repo, kind)
        with progress_of(None) as progress:
            yield runner.mine(store, _file_source(kind, request, wanted), progress=progress)
        return
    if kind == "catalog" and settings.repo != DEFAULT_REPO:
        raise InputError(f"--source catalog holds bugs of {DEFAULT_REPO} and nothing of {settings.repo}")
    if kind == "catalog" or (kind == "auto" and settings.repo == DEFAULT_REPO):
        with progress_of(None) as progress:
            yield runner.mine_catalog(store, DEFAULT_REPO, progress, link=kind == "catalog")
        if kind == "catalog":
            return
    try:
        *done, report = _mine_live(settings, live, store, progress_of)
    except BaseException:
        if kind == "auto" and store.exists():  # the catalog waits for its links, and so may an earlier mine
            with suppress(EmbersError):
                runner.link_only(store)
        raise
    yield from (*done, report)
    fresh = [place_name(entry.place) for entry in report.waiting if entry.tries <= WAITING_TRIES]
    if fresh and not report.stopped:
        named = ", ".join(fresh[:5]) + (" ..." if len(fresh) > 5 else "")
        raise IncompleteItemsError(
            f"{report.repo}: GitHub did not answer for all of {len(fresh)} items ({named}). "
            "The rest is stored; run `embers mine` again later to complete them"
        )


def _mine_live(settings: Settings, live: _Live, store: Store, progress_of: ProgressOf) -> list[Report]:
    """Mine GitHub; with ``auto`` an unreachable GitHub is no error, because the catalog is there already."""
    with ExitStack() as stack:
        client = stack.enter_context(_client(settings, live.budget))
        if live.kind == "graphql" and not client.authenticated:
            raise InputError("--source graphql needs a token: set GITHUB_TOKEN, or use --source rest")
        progress = stack.enter_context(progress_of(client))
        client.announce = progress.said
        inner = _live_source(client, live)
        try:
            inner.resolve()
        except NotReachableError as error:
            if live.kind != "auto" or live.scope.repo != DEFAULT_REPO:
                raise
            return [_unreachable(store, inner, error)]
        if not client.authenticated and live.budget is None:
            client.budget = min(ANONYMOUS_LIMIT, client.quota_left() or ANONYMOUS_LIMIT) + client.usage.requests
        if live.forget:
            refresh.forget(store, live.scope, inner.repo, inner.name)
        source: Source = inner
        held = presence.held_items(store, live.scope.repo, inner.repo)
        if live.numbers is not None:
            patience = timedelta(0) if live.anew else RESUMED_WITHIN
            source = NumbersSource(inner, live.numbers, frozenset(held), patience)
        if live.check_numbers:
            source = PresenceSource(inner, held)
        progress.expects(inner.totals.all)
        try:
            if isinstance(inner, RestSource) and (closings := _unexplained(store, inner, live)):
                runner.mine(store, ClosingsSource(inner, closings), progress=progress, link=False)
            report = runner.mine(store, source, progress=progress)
        except RateLimitError as limit:
            if client.authenticated or live.kind != "auto":
                raise
            report = runner.Report(inner.name, inner.repo, stopped=str(limit), links=runner.link_only(store))
        report.notes += client.usage.notes
        if not client.authenticated:
            report.notes.append(TOKEN_ADVICE)
        return [report, *_check_numbers(store, live, source, report, progress)]


def _unexplained(store: Store, source: RestSource, live: _Live) -> list[int]:
    """Issues that the database shows as closed without an event that says why.

    Without a token they are asked for first, by at most half of what an hour allows; a mine with one reads all events.
    """
    is_bounded = live.scope.narrowed or live.numbers is not None or live.check_numbers
    if source.client.authenticated or live.kind != "auto" or is_bounded or not store.exists():
        return []
    with store.read() as connection:
        found = connection.execute(_UNEXPLAINED, [source.repo, (source.client.budget or 0) // 2]).fetchall()
    return [number for (number,) in found]


def _check_numbers(store: Store, live: _Live, source: Source, report: Report, progress: Progress) -> Iterator[Report]:
    """After a full mine with a token, now and then: which numbers does the tracker still have."""
    if not isinstance(source, RestSource | GraphqlSource) or not source.client.authenticated:
        return
    if live.scope.narrowed or report.stopped or not presence.due(store, source.repo, source.name, now_utc()):
        return
    progress.said("asking which numbers the tracker still has: deleted and transferred items are in no listing")
    again = PresenceSource(source, presence.held_items(store, source.repo))
    try:
        checked = runner.mine(store, again, progress=progress)
    except SourceError as error:
        report.notes.append(f"the numbers were not compared to the end, the next run goes on: {error}")
        return
    checked.source = f"{source.name}, numbers"
    yield checked


def _live_source(client: GitHubClient, live: _Live) -> RestSource | GraphqlSource:
    """GraphQL where there is a token, unless the user chose otherwise."""
    chosen = ("graphql" if client.authenticated else "rest") if live.kind == "auto" else live.kind
    return GraphqlSource(client, live.scope) if chosen == "graphql" else RestSource(client, live.scope)


def _unreachable(store: Store, source: RestSource | GraphqlSource, error: NotReachableError) -> Report:
    """End a first run without a network: the catalog is there, and a note says what to do next."""
    report = runner.Report(source.name, source.repo)
    report.stopped = f"{error}; the database holds the embedded catalog"
    report.notes.append(f"once GitHub can be reached: {TOKEN_ADVICE}")
    report.links = runner.link_only(store)
    return report


def not_stored(store: Store, repo: str, numbers: Sequence[int]) -> list[int]:
    """Those of some items of a repository that the database does not have."""
    with store.read() as connection:
        found = connection.execute("SELECT number FROM items WHERE repo = ?", [repo]).fetchall()
    return sorted(set(numbers) - {number for (number,) in found})
