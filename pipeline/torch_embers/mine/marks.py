"""What was read to its end, so that it is not read again: files, clones, release tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import duckdb


class Mark(NamedTuple):
    """What changes when a source does."""

    at: str
    """Its last change, or where that is not known when it was read (UTC)."""
    state: str
    """Size of a file, commits from which a clone was read, commit of a tag."""


def marks(connection: duckdb.DuckDBPyConnection, repo: str, source: str) -> dict[str, Mark]:
    """What was read of a source for a repository, by name, as it was then."""
    rows = connection.execute(
        "SELECT substr(listing, length($source) + 2), strftime(down_to, '%Y-%m-%d %H:%M:%S.%f'), onward "
        "FROM listing_marks WHERE repo = $repo AND starts_with(listing, $source || ' ')",
        {"repo": repo, "source": source},
    ).fetchall()
    return {name: Mark(at, state) for name, at, state in rows}


def set_mark(connection: duckdb.DuckDBPyConnection, repo: str, source: str, name: str, mark: Mark) -> None:
    """Note that something was read to its end."""
    listing = f"{source} {name}"
    connection.execute("DELETE FROM listing_marks WHERE repo = ? AND listing = ?", [repo, listing])
    connection.execute("INSERT INTO listing_marks VALUES (?, ?, ?::TIMESTAMP, ?)", [repo, listing, *mark])
