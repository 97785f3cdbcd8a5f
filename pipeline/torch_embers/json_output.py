"""What `--json` prints: one JSON object or list on standard output; docs/json.md explains the keys."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any


def print_json(value: Any) -> None:
    """Print a value of dictionaries, lists, dataclasses, times and paths as JSON, in ASCII.

    Text from outside can hold anything: what is not printable ASCII is escaped.
    """
    parts = json.JSONEncoder(indent=1, default=_plain).iterencode(value)
    while text := "".join(islice(parts, 10_000)):  # the whole of a long list would take its memory four times
        sys.stdout.write(text.replace("\x7f", "\\u007f"))
    sys.stdout.write("\n")


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
