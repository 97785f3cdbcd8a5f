"""Which dataset is this? Its version names the release of embers and the content: other rows, other version."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

MARK = "embers dataset"
"""First words of the file VERSION; by them a folder is known as a dataset."""
FILE = "VERSION"
SHOWN_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Identity:
    """Version of a dataset.

    Attributes:
        content: SHA-256 over names and rows of all tables, as CSV: it does not depend on who writes the Parquet.
        schema_version: of the database it was read from.
        facts_until: the newest day on which facts of the tracker were looked up.
    """

    content: str
    schema_version: int
    facts_until: date | None

    @property
    def version(self) -> str:
        """Release of embers and content, as 0.2.0+0123456789ab."""
        return f"{__version__}+{self.content[:SHOWN_DIGITS]}"

    def text(self) -> str:
        """The file VERSION."""
        return (
            f"{MARK} {self.version}\n"
            f"made by: torch-embers {__version__}\n"
            f"content: sha256 {self.content} (names and rows of all tables, as CSV)\n"
            f"database schema: {self.schema_version}\n"
            f"facts until: {self.facts_until or 'unknown'}\n"
        )


def content_hash(tables: Mapping[str, bytes]) -> str:
    """SHA-256 over the CSV files by name."""
    made = hashlib.sha256()
    for name, body in sorted(tables.items()):
        made.update(f"{name} {len(body)}\n".encode())
        made.update(body)
    return made.hexdigest()


def checksums(files: Mapping[str, bytes]) -> bytes:
    """The file SHA256SUMS, as ``sha256sum -c`` reads it."""
    lines = [f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in sorted(files.items())]
    return "".join(lines).encode("utf-8")
