"""What `embers status`, `list`, `cases`, `export` and `funnel` print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import console
from torch_embers.json_output import print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from torch_embers.store.export import Exported
    from torch_embers.store.status import Status

HEADINGS = {
    "items": "Items",
    "labels": "Labels (items with a class)",
    "cases": "Cases",
    "verdicts": "Verdicts (cases by newest verdict on each release)",
    "statuses": "Statuses (items)",
    "sources": "Sources",
    "listings": "Items of the tracker",
}
"""Headings of the tables that `embers status` prints, in order."""


def print_status(found: Status) -> None:
    """Print what `embers status` shows."""
    out = console.stdout()
    out.print(f"{console.plain(found.path)}: {console.size_text(found.size)}, schema version {found.version}")
    newest = f"{found.newest_change:%Y-%m-%d %H:%M}" if found.newest_change else "unknown"
    out.print(f"newest change: {newest} ({console.age(found.newest_change)})\n")
    out.print(console.table("Rows", [("table", False), ("rows", True)], found.rows.items()))
    for name, heading in HEADINGS.items():
        rows = getattr(found, name)
        if rows:
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


def print_items(found: list[dict[str, Any]], *, as_json: bool, urls: bool = False) -> None:
    """Print what `embers list` shows: a line an item, with its address where it is asked for or there is room."""
    if as_json:
        print_json(found)
        return
    out = console.stdout()
    out.print(
        console.lines(
            {
                "item": item_names(found),
                "closable": [row["closable"] or "" for row in found],
                "verdict": [item_verdict_text(row) for row in found],
                "state": [
                    " ".join(t for t in (row["state"], row["disposition"]) if t and t != "unknown") for row in found
                ],
                "title": [row["title"] or "" for row in found],
            },
            addresses=[row["address"] for row in found],
            urls=urls,
        )
    )
    print_marks(found)
    out.print(f"{len(found):,} item{'s' * (len(found) != 1)}")


def item_names(found: Sequence[dict[str, Any]]) -> list[Text]:
    """Items as people write them, with their repositories where there are several; each leads to its page."""
    several = len({row["repo"] for row in found}) > 1
    return [console.link(f"{row['repo'] if several else ''}#{row['number']}", row["address"]) for row in found]


def print_marks(found: Sequence[dict[str, Any]]) -> None:
    """Print what the marks behind verdicts mean."""
    for mark, words in MARKS.items():
        if any(item_verdict_text(row).endswith(mark) for row in found):
            console.stdout().print(f"{mark} {words}", style="dim")


def print_cases(found: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print what `embers list --cases` shows."""
    if as_json:
        print_json(found)
        return
    out = console.stdout()
    columns = {
        "case": [row["name"] for row in found],
        "verdict": [verdict_text(row) for row in found],
        "items": [" ".join(item.removeprefix("pytorch/pytorch") for item in row["items"]) for row in found],
    }
    if out.width >= console.WIDE:
        columns["needs"] = [" ".join(row["requires"]) for row in found]
        columns["classes"] = [" ".join(text.partition("=")[2] for text in row["classes"]) for row in found]
    out.print(console.lines(columns, rest="items"))
    out.print(f"{len(found):,} cases")


def verdict_text(row: dict[str, Any]) -> str:
    """Verdict and release of a row; a dash where nothing was run."""
    return f"{row['verdict']} {row['release']}" if row["verdict"] else "-"


MARKS = {
    "*": "another input than the report's, or not compared",
    "+": "the report's own input; another input occurs",
}
"""Behind the verdict of an item that does not speak of its report alone."""


def item_verdict_text(row: dict[str, Any]) -> str:
    """The verdict of an item with its mark."""
    if row["another_occurs"]:
        return f"{verdict_text(row)}+"
    return verdict_text(row) + "*" * (row["verdict_speaks_of"] not in ("report", None))


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
