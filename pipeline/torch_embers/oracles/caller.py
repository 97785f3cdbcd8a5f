"""Which line of the user's program made a call."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from typing import Tuple

import torch

OWN = (str(Path(torch.__file__).parent), str(Path(__file__).parent), str(Path(linecache.__file__).parent))
"""Folders of frames that are not the user's: torch, the oracles, the standard library."""


def user_line() -> Tuple[str, str]:
    """The innermost frame outside torch, the oracles and the standard library, as ``file:line``, and its text."""
    frame = sys._getframe(1)  # noqa: SLF001 - traceback.extract_stack reads every file on the way
    while frame is not None:
        name = frame.f_code.co_filename
        if not _is_own(name):
            return "%s:%d" % (name, frame.f_lineno), linecache.getline(name, frame.f_lineno).strip()
        frame = frame.f_back
    return "", ""


def _is_own(name: str) -> bool:
    if "site-packages" in name and not name.startswith(OWN):
        return False
    return name.startswith(OWN) or name.startswith("<embers")
