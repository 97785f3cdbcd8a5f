"""What all commands share for printing: consoles, tables, sizes, ages. Text from outside is always escaped."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from torch_embers.escaping import visible
from torch_embers.normalize import naive_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime


def plain(text: object) -> str:
    """Foreign text that a terminal shows as it is: nothing unseen, no markup."""
    return escape(visible(str(text)))


def stdout() -> Console:
    """Console for results."""
    return Console(highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def stderr() -> Console:
    """Console for messages and progress, so that results can be piped."""
    return Console(stderr=True, highlight=False, emoji=False)


def print_page(text: str) -> None:
    """Print a page of ``templates.render``; on a terminal, the lines that an indented one takes are indented alike.

    Lines between lines of three back-ticks are code: they are not wrapped.
    """
    out, is_code = stdout(), False
    for line in text.splitlines():
        by = len(line) - len(line.lstrip(" "))
        if line == "```":
            is_code = not is_code
        elif is_code or not by or not out.is_terminal:
            out.print(plain(line), soft_wrap=is_code or None)
        else:
            out.print(Padding(plain(line[by:]), (0, 0, 0, by)))


def print_lines(lines: Iterable[str], *, whole: bool = False) -> None:
    """Print foreign text line by line; ``whole`` lines are not wrapped at words in a narrow terminal."""
    out = stdout()
    for line in lines:
        out.print(plain(line), soft_wrap=whole or None)


def print_rows(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print plain data as a table, nothing without rows: headings are the keys, numbers stand to the right."""
    if rows:
        columns = [(name.replace("_", " "), isinstance(value, int)) for name, value in rows[0].items()]
        stdout().print(table(title, columns, [row.values() for row in rows]))


def print_next(text: str) -> None:
    """Print the next sensible command after a command that changed the database."""
    stdout().print(f"next: {plain(text)}", style="dim", soft_wrap=True)


def age(moment: datetime | None) -> str:
    """How long ago, in words."""
    if moment is None:
        return "never"
    seconds = (naive_utc() - moment).total_seconds()
    if seconds < 90:
        return "just now"
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size or unit == "minutes":
            return f"{seconds / size:,.0f} {unit} ago"
    return "just now"


def size_text(size: float) -> str:
    """Bytes in a readable unit."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.2f} GB"


_ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/issues/\d+", re.ASCII)
"""Nothing else from outside becomes a part of the sequence that makes a link."""
WIDE = 120
"""Columns of a terminal from which on lists have more than what decides."""
_LEFT_OUT = ("item", "linked", "state", "verdict")


def link(text: str, address: str) -> Text:
    """A text that leads somewhere, where the terminal can show that."""
    return Text(visible(text), style=Style(link=address) if _ADDRESS.fullmatch(address) else "")


def lines(
    columns: Mapping[str, Sequence[str] | Sequence[Text]],
    rest: str = "title",
    addresses: Sequence[str] = (),
    *,
    urls: bool = False,
) -> Table:
    """A table with one line a row.

    Args:
        columns: the cells of each.
        rest: the column that takes the room that the others leave, and is cut there.
        addresses: of the rows; a wide terminal shows them last.
        urls: show them on a narrow one, too, in the place of the names that they end with and of what is left out then.
    """
    if addresses and stdout().width >= WIDE:
        columns = {**columns, "address": addresses}
    elif addresses and urls:
        columns = {"address": addresses, **{name: cells for name, cells in columns.items() if name not in _LEFT_OUT}}
    made = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in columns:
        least = max(map(len, addresses)) if name == "address" else None
        made.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1 if name == rest else None, min_width=least)
    texts = [
        [cell if isinstance(cell, Text) else Text(" ".join(visible(cell).split())) for cell in cells]
        for cells in columns.values()
    ]
    if any(texts):  # one row, whose cells have a line each: laid out cell by cell, ten thousand rows take half a minute
        made.add_row(*map(Text("\n").join, texts))
    return made


def table(title: str, columns: Iterable[tuple[str, bool]], rows: Iterable[Iterable[object]]) -> Table:
    """A table; each column is (heading, right-aligned)."""
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for heading, right in columns:
        made.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(f"{cell:,}" if isinstance(cell, int) else plain(cell) for cell in row))
    return made
