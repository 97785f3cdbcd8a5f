"""What other pages say of a history from which a clone is taken away, because it is read again.

A row names only the last page that brought it. Where a file of commits, or a second clone, had brought it first, it
would go with the clone that has taken it over. So the commits of all other pages are written again, in the transaction
that takes the old rows away.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from torch_embers.mine import readers
from torch_embers.mine.files import jsonl
from torch_embers.mine.git.commits import SOURCE
from torch_embers.mine.git.git_records import HISTORY_KIND, LOG_KIND
from torch_embers.store import renames
from torch_embers.store.records import Batch, Commit, CommitFile, Item, PullFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.store.records import Outdated, Page
    from torch_embers.store.store import Store

Row = TypeVar("Row", Commit, CommitFile, Item, PullFile)
_STORED = "SELECT count(*) FROM raw_pages WHERE source = ? AND starts_with(request, ?)"


def kept_histories(store: Store, outdated: Sequence[Outdated]) -> Iterator[Batch]:
    """The commits of all pages that stay, where pages go.

    Args:
        store: the database.
        outdated: the pages that go, all of one repository.
    """
    repo = outdated[0].repo
    with store.read() as connection:
        names = [repo, *(old for old, name in renames.former(connection).items() if name == repo)]
        stored = [connection.execute(_STORED, [one.source, one.requests]).fetchall() for one in outdated]
    if all(count == [(0,)] for count in stored):
        return
    for _, page in store.pages_of(names, (LOG_KIND, HISTORY_KIND, jsonl.KIND)):
        if not any(one.covers(page) for one in outdated):
            yield _history(page, repo)


def _history(page: Page, repo: str) -> Batch:
    """The rows of a page that state a history of commits, under the present name of their repository."""
    batch = readers.read(page)
    return Batch(
        commits=_named(batch.commits, repo),
        commit_files=_named(batch.commit_files, repo),
        items=_named(batch.items, repo),
        pull_files=_named(batch.pull_files, repo),
    )


def _named(rows: Sequence[Row], repo: str) -> list[Row]:
    return [row if row.repo == repo else replace(row, repo=repo) for row in rows if row.source == SOURCE]
