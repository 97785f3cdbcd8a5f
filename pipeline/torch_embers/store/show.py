"""What `embers status`, `list`, `cases`, `export` and `funnel` print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import console
from torch_embers.json_output import print_json

if TYPE_CHECKING:
    from torch_embers.store.export import Exported
    from torch_embers.store.status import Status

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
    out.print(f"{len(found):,} item{'s' * (len(found) != 1)}")


def print_cases(found: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print what `embers list --cases` shows."""
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
