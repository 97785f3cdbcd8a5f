"""How lists of items are printed: a line each, with its address where it is asked for or there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import console

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.text import Text

MARKS = {
    "*": "another input than the report's, or not compared",
    "+": "the report's own input; another input occurs",
}
"""Behind the verdict of an item that does not speak of its report alone."""
LEFT_OUT = ("item", "linked", "state", "verdict")


def print_items(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Sequence[str]], *, urls: bool = False) -> None:
    """Print rows of ``listing.list_items``.

    Args:
        rows: repo, number, address, and what the verdicts in the columns rest on.
        columns: cells by heading, behind the names of the items; ``title`` is among them.
        urls: print the addresses in a narrow window, too, in the place of the names that they end with and of what is
            left out then; a wide one shows them last anyway.
    """
    several = len({row["repo"] for row in rows}) > 1
    addresses = [row["address"] for row in rows]
    out = console.stdout()
    names: Sequence[str | Text] = [f"{row['repo'] if several else ''}#{row['number']}" for row in rows]
    if out.color_system:
        names = [console.link(str(name), address) for name, address in zip(names, addresses, strict=True)]
    shown: dict[str, Sequence[str | Text]] = {"item": names, **columns}
    if rows and out.width >= console.WIDE:
        shown["address"] = addresses
    elif rows and urls:
        shown = {"address": addresses, **{name: cells for name, cells in shown.items() if name not in LEFT_OUT}}
    console.print_table([*shown], zip(*shown.values(), strict=True), rest="title")
    for mark, words in MARKS.items():
        if "verdict" in columns and any(cell.endswith(mark) for cell in columns["verdict"]):
            out.print(f"{mark} {words}", style="dim")


def verdict_text(row: Mapping[str, Any]) -> str:
    """Verdict and release of a row; a dash where nothing was run."""
    return f"{row['verdict']} {row['release']}" if row["verdict"] else "-"


def item_verdict_text(row: Mapping[str, Any]) -> str:
    """The verdict of an item with its mark."""
    if row["another_occurs"]:
        return f"{verdict_text(row)}+"
    return verdict_text(row) + "*" * (row["verdict_speaks_of"] not in ("report", None))
