"""What a report shows of the script behind a verdict, so that nobody acts on one without having seen what ran."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from hashlib import sha256
from textwrap import dedent
from typing import Any

from torch_embers.escaping import markdown_block, visible

SHOWN_LINES = 24
LONGEST_LINE = 160
FOLDER = "data/cases"
_HEADER = ("# /// script", "# ///")
_ENTRY = "main"
"""The function of a case that makes the call; what stands around it is alike in all cases."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script that ran: where it lies, the digest of its text, and the text without the metadata.

    Attributes:
        path: of a reviewed case in this project; empty for a script that only the database holds.
        code: nothing in it is unseen; it runs as it stands.
    """

    name: str
    path: str
    sha256: str
    code: str

    @property
    def place(self) -> str:
        """Path and digest in one line."""
        return f"{self.path or f'{self.name}.py (in the database)'}, SHA-256 {self.sha256}"

    def row(self) -> dict[str, Any]:
        """As plain data."""
        return {"path": self.path or None, "sha256": self.sha256, "code": self.code}

    def lines(self) -> list[str]:
        """For a terminal: the failing call first, what stands around it folded, each line bounded."""
        shown = _body(self.code) or [line for line in self.code.splitlines() if line.strip()]
        left_out = sum(1 for line in self.code.splitlines() if line.strip()) - len(shown[:SHOWN_LINES])
        more = [f"... {left_out} more lines"] if left_out > 0 else []
        return [*(line[:LONGEST_LINE].rstrip() for line in shown[:SHOWN_LINES]), *more]

    def markdown(self) -> str:
        """As a block of code that the script cannot leave: whole, so that it can be run."""
        return markdown_block(self.code, "python")


def script_of(name: str, origin: str, code: str) -> Script:
    """What to show of a case's code.

    Args:
        name: of the case.
        origin: of the case; a ``curated`` one is a file of this project.
        code: the whole text.
    """
    path = f"{FOLDER}/{name}.py" if origin == "curated" else ""
    digest = sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
    return Script(name, path, digest, visible(_without_metadata(code)).rstrip("\n"))


def _without_metadata(code: str) -> str:
    """The text after the block of metadata that a case begins with."""
    first, last = _HEADER
    if not code.startswith(f"{first}\n"):
        return code
    _, found, rest = code.partition(f"\n{last}\n")
    return rest if found else code


def _body(code: str) -> list[str]:
    """The lines of the function that makes the call, without its docstring; none where there is no such function."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == _ENTRY:
            skipped = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
            lines = code.splitlines()[node.body[skipped].lineno - 1 : node.end_lineno]
            return [line for line in dedent("\n".join(lines)).splitlines() if line.strip()]
    return []
