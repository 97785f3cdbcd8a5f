"""Where the files lie that pages are made from, and where the pages lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
"""The checkout: docs/, bench/ and analysis/ lie under it."""


def measured(name: str) -> Any:
    """What a measurement wrote to a JSON file of bench/, such as ``evaluation.json``."""
    return json.loads((ROOT / "bench" / name).read_text(encoding="utf-8"))
