"""What `--json` prints: one JSON object or list on standard output; docs/json.md explains the keys."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_FOREIGN = re.compile("[^\x00-\x7f]+")


def print_json(value: Any) -> None:
    """Print a value of dictionaries, lists, dataclasses, times and paths as JSON, in ASCII; a list an entry a line.

    Text from outside can hold anything: what is not printable ASCII is escaped.
    """
    if isinstance(value, list):
        print_entries(json.dumps(entry, default=_plain) for entry in value)
    else:
        sys.stdout.write(f"{_in_ascii(as_json(value))}\n")


def print_entries(entries: Iterable[str]) -> None:
    """Print such a list, whose entries are JSON already."""
    before = "[\n"
    for entry in entries:
        sys.stdout.write(before + _in_ascii(entry))
        before = ",\n"
    sys.stdout.write("[]\n" if before == "[\n" else "\n]\n")


def _in_ascii(text: str) -> str:
    if not text.isascii():
        text = _FOREIGN.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return text.replace("\x7f", "\\u007f")


def as_json(value: Any) -> str:
    """The JSON of such a value."""
    return json.dumps(value, indent=1, default=_plain)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat() + ("" if value.tzinfo else "Z")
    if isinstance(value, date | Path):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return dict(value) if hasattr(value, "keys") else list(value)
