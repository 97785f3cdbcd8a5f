"""What `--json` prints: one JSON object or list on standard output; docs/json.md explains the keys."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any


def print_json(value: Any) -> None:
    """Print a value of dictionaries, lists, dataclasses, times and paths as JSON, in ASCII.

    Text from outside can hold anything: what is not printable ASCII is escaped.
    """
    text = json.dumps(value, indent=1, default=_plain)
    sys.stdout.write(text.replace("\x7f", "\\u007f") + "\n")


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
