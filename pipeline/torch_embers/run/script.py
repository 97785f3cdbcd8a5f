"""What a report shows of the script behind a verdict, so that nobody acts on one without having seen what ran."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from torch_embers.escaping import markdown_block, visible

SHOWN_LINES = 12
LONGEST_LINE = 160
FOLDER = "data/cases"
_HEADER = ("# /// script", "# ///")


@dataclass(frozen=True, slots=True)
class Script:
    """A script that ran: where it lies, the digest of its text, and its first lines without the metadata."""

    name: str
    path: str
    """Of a reviewed case in this project; empty for a script that only the database holds."""
    sha256: str
    first_lines: tuple[str, ...]
    more_lines: int

    @property
    def place(self) -> str:
        """Path and digest in one line."""
        return f"{self.path or f'{self.name}.py (in the database)'}, SHA-256 {self.sha256}"

    def row(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "path": self.path or None,
            "sha256": self.sha256,
            "first_lines": list(self.first_lines),
            "more_lines": self.more_lines,
        }

    def lines(self) -> list[str]:
        """For a terminal: nothing unseen, each line bounded."""
        more = [f"... {self.more_lines} more lines"] if self.more_lines else []
        return [*self.first_lines, *more]

    def markdown(self) -> str:
        """As a block of code that the script cannot leave."""
        return markdown_block("\n".join(self.lines()), "python")


def script_of(name: str, origin: str, code: str) -> Script:
    """What to show of a case's code.

    Args:
        name: of the case.
        origin: of the case; a ``curated`` one is a file of this project.
        code: the whole text.
    """
    lines = [line[:LONGEST_LINE].rstrip() for line in visible(_without_metadata(code)).splitlines()]
    lines = [line for line in lines if line]
    path = f"{FOLDER}/{name}.py" if origin == "curated" else ""
    digest = sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
    return Script(name, path, digest, tuple(lines[:SHOWN_LINES]), max(0, len(lines) - SHOWN_LINES))


def _without_metadata(code: str) -> str:
    """The text after the block of metadata that a case begins with."""
    first, last = _HEADER
    if not code.startswith(f"{first}\n"):
        return code
    _, found, rest = code.partition(f"\n{last}\n")
    return rest if found else code
