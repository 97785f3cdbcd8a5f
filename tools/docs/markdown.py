"""Markdown of the generated parts: cells, code, tables. Foreign text is escaped here, by `cell`, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PYTORCH = "pytorch/pytorch"


def cell(value: object) -> str:
    """Text that stays within one cell of a Markdown table and is shown as it is."""
    text = " ".join(visible(str(value)).split())
    return text.replace("<", "&lt;").replace("|", "\\|").replace("*", "\\*")


def code(value: object) -> str:
    """Inline code for a table cell; nothing for nothing."""
    text = " ".join(visible(str(value)).split()).replace("|", "\\|")
    return f"`{text}`" if text else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of ready cells; a heading that ends in ``:`` is of a column of numbers."""
    marks = ["---:" if heading.endswith(":") else "---" for heading in headings]
    lines = [[heading.rstrip(":") for heading in headings], marks, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(text: str, language: str = "") -> str:
    """A code block."""
    return f"```{language}\n{text.rstrip()}\n```"


def issue_address(repo: str, number: int) -> str:
    """Where an issue is read."""
    return f"https://github.com/{repo}/issues/{number}"


def issue_link(repo: str, number: int) -> str:
    """A link to an issue; of another repository than PyTorch's, its name is shown."""
    named = "" if repo == PYTORCH else repo
    return f"[{named}#{number}]({issue_address(repo, number)})"
