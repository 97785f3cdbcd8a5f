"""Rows and raw pages of a source that is read whole each time.

A clone is such a source: when another branch is checked out, a commit that seemed to stand on the main line, and so to
have landed a pull request, stands in a merged branch. Its old rows would stay beside the new ones.

What git alone knew of an item goes with its row. A tracker's row gives back the values that came from git, which their
stamps tell: that the tracker says the same is no reason to take its own values away.

Every text that loses its row, a link, a component or a reject is marked as unread, so that the link stage reads it
again: another source can have brought the same text meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.store import renames, sql

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

    from torch_embers.store.records import Outdated

_GONE = """
CREATE OR REPLACE TEMP TABLE gone AS
SELECT page_id, repo AS mined_as FROM raw_pages
WHERE source = $source AND list_contains($kinds, kind) AND starts_with(request, $requests)
"""
_LANDING = ("title", "body", "state", "state_reason", "merged_at", "merge_sha", "closed_at")
"""Columns of an item that a commit states as its landing."""
_OF_GIT = f"< {sql.TRACKERS_RANK}"
_GIVEN_BACK = ", ".join(f"{n} = CASE WHEN stamps['{n}'] {_OF_GIT} THEN NULL ELSE {n} END" for n in _LANDING)
_LEFT = f"[s FOR s IN map_entries(stamps) IF NOT (s.key IN {_LANDING} AND s.value {_OF_GIT})]"
_STATEMENTS = (
    f"""UPDATE items SET {_GIVEN_BACK}, stamps = CASE WHEN len({_LEFT}) > 0 THEN map_from_entries({_LEFT}) END
       FROM (SELECT DISTINCT pull_number FROM commits JOIN gone USING (page_id) WHERE repo = $repo) c
       WHERE items.repo = $repo AND items.number = c.pull_number AND items.source <> '{sql.GIT}'""",
    f"""UPDATE items SET content_hash = {sql.CONTENT_HASH}
       WHERE repo = $repo AND content_hash <> {sql.CONTENT_HASH}
         AND number IN (SELECT pull_number FROM commits JOIN gone USING (page_id))""",
    # a link can be of a text of either repository: to read one too many again changes nothing
    """CREATE OR REPLACE TEMP TABLE unread AS
       SELECT repo, 'commit' AS origin, sha AS id FROM commits JOIN gone USING (page_id) WHERE repo = $repo
       UNION SELECT repo, 'item', number::VARCHAR FROM items JOIN gone USING (page_id) WHERE repo = $repo
       UNION SELECT repo, 'item', number::VARCHAR FROM components JOIN gone USING (page_id) WHERE repo = $repo
       UNION SELECT unnest([repo, target_repo]),
                    CASE found_in WHEN 'comment' THEN 'comment' WHEN 'message' THEN 'commit' ELSE 'item' END, found_id
       FROM links JOIN gone USING (page_id) WHERE $repo IN (repo, target_repo)
       UNION SELECT repo, link_scans.origin, id
       FROM link_scans JOIN rejects ON rejects.origin = concat_ws(' ', repo, link_scans.origin, id)
       JOIN gone USING (page_id) WHERE mined_as = $repo""",
)
_MARK_AS_UNREAD = """
UPDATE link_scans SET content_hash = '' FROM unread
WHERE link_scans.repo = unread.repo AND link_scans.origin = unread.origin AND link_scans.id = unread.id
"""
_FORGET_PAGES = (
    "DELETE FROM raw_pages USING gone WHERE raw_pages.page_id = gone.page_id AND mined_as IN (SELECT unnest(?))"
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
    """Delete these pages and the rows that come from them; inside the transaction that writes the new reading."""
    for pages in outdated:
        names = [pages.repo, *(old for old, name in renames.former(connection).items() if name == pages.repo)]
        given = {"source": pages.source, "kinds": list(pages.kinds), "requests": pages.requests}
        connection.execute(_GONE, given)
        for statement in _STATEMENTS:
            connection.execute(statement, {"repo": pages.repo})
        connection.execute(_MARK_AS_UNREAD)
        for table, own in _TABLES.items():
            of_page = f"{table}.page_id = gone.page_id"
            connection.execute(f"DELETE FROM {table} USING gone WHERE {of_page} AND {own}", {"repo": pages.repo})
        connection.execute(_FORGET_PAGES, [names])
        connection.execute("DROP TABLE unread")
        connection.execute("DROP TABLE gone")
