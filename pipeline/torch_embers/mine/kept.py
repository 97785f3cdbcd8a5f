"""What other pages say of a history from which one clone is taken away, because it is read from its beginning.

A row names only the last page that brought it. Where a file of commits, or a second clone, had brought it first, it
would go with the clone that has taken it over. So the commits of all other pages are written again, in the transaction
that takes the old rows away; a replay does the same at the same place.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from torch_embers.mine import readers
from torch_embers.mine.files import jsonl
from torch_embers.mine.git.commits import SOURCE
from torch_embers.mine.git.git_records import HISTORY_KIND, LOG_KIND, RESTART_KIND
from torch_embers.store import renames
from torch_embers.store.records import Batch, Commit, CommitFile, Item, PullFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.store.records import Outdated, Page
    from torch_embers.store.store import Store

Row = TypeVar("Row", Commit, CommitFile, Item, PullFile)


def kept_histories(store: Store, outdated: Sequence[Outdated]) -> Iterator[Batch]:
    """The commits of all pages that these notes leave, and that no earlier note has taken away.

    Args:
        store: the database; on a replay it has the notes and what came after them, too.
        outdated: the notes of one transaction, all of one repository.
    """
    repo = outdated[0].repo
    with store.read() as connection:
        names = [repo, *(old for old, name in renames.former(connection).items() if name == repo)]
    now = {pages.page_id for pages in outdated}
    notes = [(at, one) for at, page in store.pages_of(names, (RESTART_KIND,)) for one in readers.read(page).outdated]
    end = min((at for at, one in notes if one.page_id in now), default=math.inf)
    gone = [*((end, one) for one in outdated), *((at, one) for at, one in notes if at < end)]
    for place, page in store.pages_of(names, (LOG_KIND, HISTORY_KIND, jsonl.KIND)):
        if place < end and not any(place < at and one.covers(page) for at, one in gone):
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
