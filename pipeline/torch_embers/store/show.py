"""What `embers status`, `list`, `cases`, `export` and `funnel` print."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from torch_embers import console
from torch_embers.json_output import print_json

if TYPE_CHECKING:
    from torch_embers.store.export import Exported
    from torch_embers.store.status import Status

LONGEST_BEHAVIOUR = 24
"""Characters of an ending in a list."""
UNCONFIRMED = "?"
"""Behind the release since which something was not seen, where the runs are too few to say that it is gone."""
HEADINGS = {
    "items": "Items",
    "labels": "Labels (items with a class)",
    "cases": "Cases",
    "verdicts": "Verdicts (cases by newest verdict on each release)",
    "statuses": "Statuses (items)",
    "sources": "Sources",
    "cursors": "Cursors",
}
"""Headings of the tables that `embers status` prints, in order."""


def print_status(found: Status, *, verbose: bool) -> None:
    """Print what `embers status` shows."""
    out = console.stdout()
    out.print(f"{console.plain(found.path)}: {console.size_text(found.size)}, schema version {found.version}")
    newest = f"{found.newest_change:%Y-%m-%d %H:%M}" if found.newest_change else "unknown"
    out.print(f"newest change: {newest} ({console.age(found.newest_change)})\n")
    out.print(console.table("Rows", [("table", False), ("rows", True)], found.rows.items()))
    for name, heading in HEADINGS.items():
        rows = getattr(found, name)
        if rows and (verbose or name != "cursors"):
            columns = [(key.replace("_", " "), isinstance(value, int)) for key, value in _readable(rows[0]).items()]
            out.print(console.table(f"\n{heading}", columns, [_readable(row).values() for row in rows]))


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """A row with sizes and times in words."""
    made = dict(row)
    if "bytes" in row:
        made["bytes"] = console.size_text(row["bytes"])
    if "last_fetched" in row:
        made["last_fetched"] = f"{row['last_fetched']:%Y-%m-%d %H:%M} ({console.age(row['last_fetched'])})"
    if "updated_at" in row:
        made["updated_at"] = f"{row['updated_at']:%Y-%m-%d %H:%M}"
    return made


def print_items(found: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print what `embers list` shows."""
    if as_json:
        print_json(found)
        return
    out = console.stdout()
    several = len({row["repo"] for row in found}) > 1
    rows = [
        (
            f"{row['repo'] if several else ''}#{row['number']}",
            " ".join(text for text in (row["state"] or "unknown", row["disposition"]) if text),
            item_verdict_text(row),
            str(row["updated_at"] or row["created_at"] or "")[:10],
            row["title"] or "",
        )
        for row in found
    ]
    columns = [(name, False) for name in ("item", "state", "verdict", "changed", "title")]
    out.print(console.table("", columns, rows))
    out.print(f"{len(found):,} items")


def print_timelines(found: list[dict[str, Any]], *, as_json: bool, crash_gone: bool = False) -> None:
    """Print a line for each of these items: number, title, what its script did and does now, since which release.

    Args:
        found: items as `embers list` finds them, each with segments.
        as_json: print all that is known of them instead.
        crash_gone: show where a crash ended, not the newest flip.
    """
    if as_json:
        print_json(found)
        return
    several = len({row["repo"] for row in found}) > 1
    rows = [
        (
            f"{row['repo'] if several else ''}#{row['number']}",
            " ".join((row["title"] or "").split()),
            *_newest_flip(row["segments"], crash_gone=crash_gone),
        )
        for row in found
    ]
    made = console.table("", [(name, False) for name in ("item", "title", "behaviour", "since")], rows)
    made.expand = True
    title = made.columns[1]
    title.ratio, title.no_wrap, title.overflow = 1, True, "ellipsis"
    out = console.stdout()
    out.print(made)
    if any(row[-1].endswith(UNCONFIRMED) for row in rows):
        out.print(f"{UNCONFIRMED} not seen again, in too few runs to say that it is gone")
    out.print(f"{len(found):,} items")


def _newest_flip(segments: list[dict[str, Any]], *, crash_gone: bool) -> tuple[str, str]:
    """From what to what a script changed last, and on which release; without a change what it does, and since when."""
    borders = [(before, after) for before, after in pairwise(segments) if after["flip"] != "wording"]
    if crash_gone:
        borders = [pair for pair in borders if "SIG" in pair[0]["what"] and "SIG" not in pair[1]["what"]]
    if not borders:
        return _behaviour(segments[-1]), segments[0]["versions"][0]
    before, after = borders[-1]
    words = _behaviour(before), _behaviour(after)
    is_absence = before["ending"] == "signal" or before["match"] == "as_reported"
    doubt = UNCONFIRMED if is_absence and not after["confirmed"] else ""
    same = "another value" if after["flip"] == "value" else "another message"
    return f"{words[0]} -> {same if words[0] == words[1] else words[1]}", after["versions"][0] + doubt


def _behaviour(segment: dict[str, Any]) -> str:
    """What a segment shows, in a word or two."""
    values = {"as_reported": "reported value", "as_expected": "expected value"}
    printed = values.get(segment["match"], "ok") if segment["ending"] == "ok" else segment["ending"]
    return (segment["what"] or printed)[:LONGEST_BEHAVIOUR]


def print_cases(found: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print what `embers cases` shows."""
    if as_json:
        print_json(found)
        return
    out = console.stdout()
    rows = [
        (
            row["name"],
            " ".join(item.removeprefix("pytorch/pytorch") for item in row["items"]),
            " ".join(row["requires"]),
            verdict_text(row),
            " ".join(text.partition("=")[2] for text in row["classes"]),
        )
        for row in found
    ]
    columns = [(name, False) for name in ("case", "items", "needs", "verdict", "classes")]
    out.print(console.table("", columns, rows))
    out.print(f"{len(found):,} cases")


def verdict_text(row: dict[str, Any]) -> str:
    """Verdict and release of a row; a dash where nothing was run."""
    return f"{row['verdict']} {row['release']}" if row["verdict"] else "-"


def item_verdict_text(row: dict[str, Any], between: str = " ") -> str:
    """The same of an item, and whether another input than its report's is meant."""
    if row["another_occurs"]:
        return f"{verdict_text(row)}{between}(another input occurs)"
    is_own = row["verdict_speaks_of"] in ("report", None)
    return verdict_text(row) + ("" if is_own else f"{between}({row['verdict_speaks_of'].replace('_', ' ')})")


def print_export(done: list[Exported]) -> None:
    """Print which files were written."""
    rows = [(e.table, e.rows, str(e.path)) for e in done]
    console.stdout().print(console.table("", [("table", False), ("rows", True), ("file", False)], rows))


def print_funnel(rows: list[tuple[Any, ...]], candidates: int, *, as_json: bool) -> None:
    """Print the funnel beside the study's numbers."""
    if as_json:
        stages = [dict(zip(("stage", "items", "study", "definition"), row, strict=True)) for row in rows]
        print_json({"stages": stages, "candidates": candidates})
        return
    out = console.stdout()
    columns = [("stage", False), ("here", True), ("study", True), ("what is counted", False)]
    out.print(console.table("", columns, rows))
    out.print(f"\ncandidates (open or closed, data path, wrong behaviour): {candidates:,}")
