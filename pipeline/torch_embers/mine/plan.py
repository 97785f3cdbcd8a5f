"""What one `embers mine` does: which sources, in which order, and what happens where GitHub cannot be reached."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from torch_embers.errors import EmbersError, InputError, NotReachableError, RateLimitError, StoreMissingError
from torch_embers.link.update_links import link_changed
from torch_embers.mine import file_lists, files, options, raw
from torch_embers.mine.marks import marks, set_mark
from torch_embers.mine.report import Report
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import duckdb

    from torch_embers.mine.file_lists import File
    from torch_embers.mine.files import FileReading
    from torch_embers.mine.github_api import GitHubApi
    from torch_embers.mine.options import Request
    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.writer import Writer

WAIT_WITH_TOKEN, WAIT_WITHOUT = 3_700.0, 120.0
"""Longest wait in seconds: with a token the next hour is waited for; without one the next run goes on."""

ProgressOf: TypeAlias = "Callable[[GitHubApi | None], AbstractContextManager[Progress]]"
"""Makes the progress line of a mine; the way to GitHub, where there is one, knows what is left."""


def run(settings: Settings, request: Request, progress_of: ProgressOf) -> Iterator[Report]:
    """Do what was asked; yields a report per source, as soon as it is done.

    Raises:
        EmbersError: one of its kinds; what was committed stays.
    """
    store = Store(settings.database)
    request = options.checked(request)
    kind = request.source
    if request.replay:
        with progress_of(None) as progress:
            yield _replay(store, progress)
    elif kind == "git":
        with progress_of(None) as progress:
            yield _mine_clone(store, settings.repo, request, progress)
    elif kind in options.FILES:
        with progress_of(None) as progress:
            yield _mine_files(store, settings.repo, request, progress)
    elif kind == "catalog":
        if settings.repo != DEFAULT_REPO:
            raise InputError(f"--source catalog holds bugs of {DEFAULT_REPO} and nothing of {settings.repo}")
        yield mine_catalog(store)
    else:
        way = _way(settings, request)
        if kind == "auto" and settings.repo == DEFAULT_REPO:
            yield mine_catalog(store, link=False)
        try:
            report = _mine_live(store, settings, request, way, progress_of)
        except EmbersError:
            if kind == "auto" and store.exists():  # the catalog waits for its links
                with suppress(EmbersError), store.writer("embers mine") as writer:
                    link_changed(store, writer)
            raise
        yield report


def mine_catalog(store: Store, *, link: bool = True) -> Report:
    """Bring the embedded catalog into the store.

    Raises:
        EmbersError: one of its kinds.
    """
    report = Report("catalog", DEFAULT_REPO)
    with _writing(store, report, link=link) as writer, writer.transaction(bulk=True) as connection:
        report.items = files.read_catalog(connection).items
    return report


@contextmanager
def _writing(
    store: Store, report: Report, progress: Progress | None = None, *, link: bool = True, create: bool = True
) -> Iterator[Writer]:
    """Hold the writer's lock, and link what was stored at the end, also where that is an error."""
    began = time.monotonic()
    with store.writer(f"embers mine --source {report.source}", create=create) as writer:
        try:
            yield writer
        except BaseException as end:
            if isinstance(end, KeyboardInterrupt) and progress:
                progress.said("linking what was read; Ctrl-C again ends at once")
            if link:  # that error is the one to report, not one of the links
                with suppress(EmbersError):
                    link_changed(store, writer)
            raise
        report.seconds = time.monotonic() - began
        if link:
            report.links = link_changed(store, writer)


def _replay(store: Store, progress: Progress) -> Report:
    """Derive every table anew from what is stored, without any network; one that fails leaves everything as it was."""
    if not store.exists():
        raise StoreMissingError(f"no database at {store.path}: there is nothing to replay, run `embers mine` first")
    report = Report("replay", "")
    with _writing(store, report, progress, create=False) as writer, writer.transaction(bulk=True) as connection:
        raw.derive_all(connection)
        counts = "SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM comments), (SELECT count(*) FROM events)"
        [(report.items, report.comments, report.events)] = connection.execute(counts).fetchall()
    return report


def _mine_clone(store: Store, repo: str, request: Request, progress: Progress) -> Report:
    from torch_embers.mine.git import gitlog

    report = Report("git", repo)
    with _writing(store, report, progress) as writer:
        read = gitlog.read(writer, repo, Path(request.paths[0]), again=request.refresh is not None, progress=progress)
        report.items, report.commits, report.rejects, report.notes = read
    return report


# ---- files ---------------------------------------------------------------------------------------------------------


def _mine_files(store: Store, repo: str, request: Request, progress: Progress) -> Report:
    """Read files of records or hours of GH Archive, each in a transaction of its own.

    Raises:
        InputError: files that cannot be read to their end, by name; the others are stored.
    """
    found, unread = file_lists.find(request.source, request.paths, request.since, request.until)
    report = Report(request.source, repo)
    with _writing(store, report, progress) as writer:
        with writer.transaction(alone=True) as connection:
            known = {} if request.refresh else marks(connection, repo, request.source)
        todo = [file for file in found if known.get(file.name) != file.mark]
        progress.expects(len(todo))
        for file in todo:
            try:
                _mine_file(writer, repo, file, request, report)
            except InputError as error:
                unread.append(str(error))
            progress.advanced(1)
        if unread:
            raise InputError(file_lists.damage(unread))
    return report


def _mine_file(writer: Writer, repo: str, file: File, request: Request, report: Report) -> None:
    with _reading(repo, file, request) as reading, writer.transaction(bulk=True) as connection:
        read = reading.store(connection)
        note = f"stored as items of {repo}, because the file names no repository: --repo OWNER/NAME names another"
        if repo == DEFAULT_REPO and reading.names_no_repository and note not in report.notes:
            report.notes.append(note)
        if not (request.since or request.until):  # a window leaves something to read
            set_mark(connection, repo, request.source, file.name, file.mark)
    report.items += read.items
    report.comments += read.comments
    report.events += read.events
    report.commits += read.commits
    report.rejects += read.rejects


def _reading(repo: str, file: File, request: Request) -> FileReading:
    if request.source == "jsonl":
        return files.records(repo, Path(file.location))
    place = file.location if file.is_remote else Path(file.location)
    return files.hour(repo, place, request.since, request.until)


# ---- live ----------------------------------------------------------------------------------------------------------


class _Way(NamedTuple):
    """How GitHub is asked, and for what."""

    tokens: list[str]
    by_rest: bool
    numbers: list[int] | None
    """Items to mine alone, if any are named."""


def _way(settings: Settings, request: Request) -> _Way:
    """Check what can be checked before anything is stored.

    Raises:
        InputError: what is asked for needs a token, a token would cross a network in the clear, or numbers are none.
    """
    tokens, numbers = settings.token_list(), None
    if tokens and is_open(settings.api_url) and not settings.allow_http:
        raise InputError(
            f"{settings.api_url} is not encrypted, others on the way could read the token: use https, unset the token, "
            "or allow it by EMBERS_ALLOW_HTTP=1 (allow_http in embers.toml)"
        )
    by_rest = request.source == "rest" or not tokens
    if by_rest and request.source == "graphql":
        raise InputError("--source graphql needs a token: set GITHUB_TOKEN, or use --source rest")
    if by_rest and request.check_numbers:
        raise InputError("--check-numbers needs a token and GraphQL: set GITHUB_TOKEN")
    if request.numbers is not None:
        numbers = options.read_numbers(request.numbers)
    elif request.refresh is not None:
        numbers = options.numbers_of(request.refresh)
    return _Way(tokens, by_rest, numbers)


def is_open(api_url: str) -> bool:
    """Whether requests to an address could be read on the way: http to another machine."""
    address = urlsplit(api_url)
    if address.scheme != "http":
        return False
    try:
        return not ip_address(address.hostname or "").is_loopback
    except ValueError:
        return address.hostname != "localhost"


def _mine_live(store: Store, settings: Settings, request: Request, way: _Way, progress_of: ProgressOf) -> Report:
    """Mine GitHub; with ``auto`` an unreachable GitHub is no error, because the catalog is there already."""
    from torch_embers.mine import live  # with PyGithub, which a mine of files does without
    from torch_embers.mine.github_api import GitHubApi, Patience
    from torch_embers.mine.live import TOKEN_ADVICE
    from torch_embers.mine.tracker import Bounds

    wait = settings.max_wait
    if wait is None:
        wait = WAIT_WITH_TOKEN if way.tokens else WAIT_WITHOUT
    given = settings.model_dump(include={one.name for one in fields(Patience)}) | {"max_wait": wait}
    bounds = Bounds(request.since, request.until, request.state, request.labels)
    report = Report("rest" if way.by_rest else "graphql", settings.repo)
    with ExitStack() as stack:
        api = stack.enter_context(GitHubApi(settings.api_url, way.tokens, Patience(**given), request.budget))
        progress = stack.enter_context(progress_of(api))
        api.announce = progress.said
        writer = stack.enter_context(_writing(store, report, progress))

        def transaction() -> AbstractContextManager[duckdb.DuckDBPyConnection]:
            return writer.transaction(alone=True)

        how: dict[str, Any] = {"again": request.refresh is not None, "by_rest": way.by_rest}
        how |= {"report": report, "progress": progress}
        try:
            if way.numbers is None:
                live.mine(transaction, api, settings.repo, bounds, compare=request.check_numbers, **how)
            else:
                live.mine_items(transaction, api, settings.repo, way.numbers, **how)
        except NotReachableError as error:
            if request.source != "auto" or settings.repo != DEFAULT_REPO:
                raise
            report.stopped = f"{error}; the database holds the embedded catalog"
            report.notes.append(f"once GitHub can be reached: {TOKEN_ADVICE}")
        except RateLimitError as limit:
            if way.tokens or request.source != "auto":
                raise
            report.stopped = str(limit)
    return report


def not_stored(store: Store, repo: str, numbers: Sequence[int]) -> list[int]:
    """Those of some items of a repository that the database does not have."""
    with store.read() as connection:
        found = connection.execute("SELECT number FROM items WHERE lower(repo) = lower(?)", [repo]).fetchall()
    return sorted(set(numbers) - {number for (number,) in found})
