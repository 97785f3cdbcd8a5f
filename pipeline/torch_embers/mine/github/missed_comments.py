"""Items of which REST counts more comments than it listed: their comments are read from each item's own timeline.

The list of all comments goes on from the time of the last change read. So it never shows a comment that comes with an
old time: of an item that was transferred here, of an account that was hidden for a while, of a page that was cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.mine.github.live import together
from torch_embers.mine.github.numbers import NumbersSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.mine.github.rest import RestSource
    from torch_embers.store.records import Batch
    from torch_embers.store.store import Store

# GitHub also counts comments that it shows nobody, so an item whose timeline was read is not asked again until it
# changes; one with a time of the future never seems unchanged, and is asked once.
_MISSED = r"""
WITH stored AS (SELECT number, count(*) AS comments FROM comments WHERE lower(repo) = lower($repo) GROUP BY number),
short AS (
    SELECT i.number, i.updated_at FROM items i LEFT JOIN stored s USING (number)
    WHERE lower(i.repo) = lower($repo) AND i.deleted_at IS NULL AND i.comment_count > coalesce(s.comments, 0)
),
asked AS (
    SELECT try_cast(regexp_extract(request, '/issues/(\d+)/timeline', 1) AS INTEGER) AS number,
           max(fetched_at) AS fetched_at
    FROM raw_pages WHERE kind = 'rest.timeline' AND lower(repo) = lower($repo) GROUP BY ALL
)
SELECT number FROM short LEFT JOIN asked USING (number)
WHERE asked.fetched_at IS NULL
   OR (asked.fetched_at <= short.updated_at AND short.updated_at <= now() AT TIME ZONE 'UTC')
ORDER BY number
"""


def missed_comments(store: Store, repo: str) -> list[int]:
    """Items with more comments by the tracker's count than the database has, and not asked for since they changed.

    Args:
        store: the database.
        repo: ``owner/name``.
    """
    with store.read() as connection:
        return [number for (number,) in connection.execute(_MISSED, {"repo": repo}).fetchall()]


def read_missed(source: RestSource, numbers: Sequence[int]) -> Iterator[Batch]:
    """Read these items with their timelines; one that is gone becomes a tombstone."""
    single = NumbersSource(source, numbers, frozenset(numbers))
    for number in numbers:
        yield together(*single.fetch(number))
