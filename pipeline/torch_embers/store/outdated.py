"""Rows of a source that is read from its beginning, because it understands what it read before otherwise now.

A clone whose checked-out branch changes is such a source: a commit that seemed to stand on the main line, and so to
have landed a pull request, stands in a merged branch now. Its old rows would stay beside the new ones. Raw pages stay;
a replay meets the same note at the same place.

What git alone knew of an item goes with its row. Where a tracker's row took the merge from the commit, it gives that
back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

    from torch_embers.store.records import Outdated

_GONE = """
CREATE OR REPLACE TEMP TABLE gone AS
SELECT page_id, repo AS mined_as FROM raw_pages
WHERE source = $source AND list_contains($kinds, kind) AND starts_with(request, $requests)
"""
_STATEMENTS = (
    # a value counts as taken from the commit where it is the commit's own
    """UPDATE items SET merge_sha = NULL, merged_at = NULL,
           closed_at = CASE WHEN closed_at = c.committed_at THEN NULL ELSE closed_at END,
           state_reason = CASE WHEN state_reason = 'merged' THEN NULL ELSE state_reason END
       FROM commits c JOIN gone USING (page_id)
       WHERE items.repo = $repo AND c.repo = $repo AND items.number = c.pull_number AND items.merge_sha = c.sha
         AND items.merged_at = c.committed_at""",
    """DELETE FROM link_scans USING commits c JOIN gone USING (page_id)
       WHERE c.repo = $repo AND link_scans.repo = $repo AND link_scans.origin = 'commit' AND link_scans.id = c.sha""",
    """DELETE FROM link_scans USING items i JOIN gone USING (page_id)
       WHERE i.repo = $repo AND link_scans.repo = $repo AND link_scans.origin = 'item'
         AND link_scans.id = i.number::VARCHAR""",
)
_TABLES = {
    **dict.fromkeys(("components", "items", "commits", "commit_files", "pull_files"), "repo = $repo"),
    "links": "$repo IN (repo, target_repo)",
    "rejects": "mined_as = $repo",
}
"""Tables whose rows say of which page they come, and which rows are of the repository: a folder can have held another.

A release's lines of code do not depend on the branch.
"""


def forget(connection: duckdb.DuckDBPyConnection, outdated: Iterable[Outdated]) -> None:
    """Delete the rows that come from these pages; inside the transaction that begins the new reading."""
    for pages in outdated:
        given = {"source": pages.source, "kinds": list(pages.kinds), "requests": pages.requests}
        connection.execute(_GONE, given)
        for statement in _STATEMENTS:
            connection.execute(statement, {"repo": pages.repo})
        for table, own in _TABLES.items():
            of_page = f"{table}.page_id = gone.page_id"
            connection.execute(f"DELETE FROM {table} USING gone WHERE {of_page} AND {own}", {"repo": pages.repo})
        connection.execute("DROP TABLE gone")
