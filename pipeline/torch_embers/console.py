"""What all commands share for printing: consoles, tables, sizes, ages. Text from outside is always escaped."""

from __future__ import annotations

import re
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import COLOR_SYSTEMS, Console
from rich.markup import escape
from rich.padding import Padding
from rich.style import Style
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
    """Print plain data as a table, nothing without rows: headings are the keys."""
    if rows:
        print_table([name.replace("_", " ") for name in rows[0]], [row.values() for row in rows], title=title)


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
_WHOLE = "address"
"""Heading of the column that never gives way."""
_LEAST = 8
"""Columns of the terminal that are left to the column that gives way first."""


def link(text: str, address: str) -> Text:
    """A text that leads somewhere, where the terminal can show that."""
    return Text(visible(text), style=Style(link=address) if _ADDRESS.fullmatch(address) else "")


def print_table(headings: Sequence[str], rows: Iterable[Iterable[object]], *, title: str = "", rest: str = "") -> None:
    """Print rows under headings, no wider than the terminal; numbers stand to the right.

    Not by rich's table, which takes half a minute for ten thousand rows.

    Args:
        headings: of the columns.
        rows: their cells.
        title: a line above.
        rest: heading of the column that gives way first: each row is then one line, and cells are cut. Without it
            cells that are too long go on in the next line.
    """
    out = stdout()
    if title:
        out.print(plain(title), style="italic")
    columns = [[*column] for column in zip(*rows, strict=True)] or [[] for _ in headings]
    texts = [[name, *map(_text, cells)] for name, cells in zip(headings, columns, strict=True)]
    styles = [["bold", *(cell.style if isinstance(cell, Text) else "" for cell in cells)] for cells in columns]
    right = [any(isinstance(cell, int) for cell in cells) for cells in columns]
    widths = [max(map(_width, "\n".join(cells).split("\n"))) for cells in texts]
    _narrow(widths, headings, out.width - 2 * (len(widths) - 1), rest)
    for row, of_row in zip(zip(*texts, strict=True), zip(*styles, strict=True), strict=True):
        parts = [_parts(text, width, cut=bool(rest)) for text, width in zip(row, widths, strict=True)]
        for line in zip_longest(*parts, fillvalue=""):
            cells = [
                (" " * (width - _width(text)), _painted(out, text, style), to_right)
                for text, width, style, to_right in zip(line, widths, of_row, right, strict=True)
            ]
            shown = "  ".join(blanks + text if to_right else text + blanks for blanks, text, to_right in cells)
            out.file.write(f"{shown.rstrip()}\n")


def _text(cell: object) -> str:
    if isinstance(cell, int):
        return f"{cell:,}"
    return " ".join(visible(cell.plain if isinstance(cell, Text) else str(cell)).split())


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _narrow(widths: list[int], headings: Sequence[str], room: int, rest: str) -> None:
    """Make columns narrower until they fit: that which gives way first, then the widest."""
    others = [place for place, name in enumerate(headings) if name != _WHOLE]
    first = headings.index(rest) if rest else None
    for place in others:
        widths[place] = min(widths[place], max(room, 1))
    while sum(widths) > room:
        place = first if first is not None and widths[first] > _LEAST else max(others, key=widths.__getitem__)
        if widths[place] == 1:
            return
        widths[place] -= 1


def _parts(text: str, width: int, *, cut: bool) -> list[str]:
    """The lines of a cell; headings can have several anyway."""
    if _width(text) <= width:
        return [text]
    if cut:
        return [line if _width(line) <= width else f"{set_cell_size(line, width - 1)}…" for line in text.split("\n")]
    return [line.plain.rstrip() for line in Text(text).wrap(stdout(), width, overflow="fold")]


def _painted(out: Console, text: str, style: str | Style) -> str:
    """The text as this terminal shows it in a style."""
    system = COLOR_SYSTEMS.get(out.color_system or "")
    if not style or system is None:
        return text
    made = out.get_style(style)
    return (made.without_color if out.no_color else made).render(text, color_system=system)
