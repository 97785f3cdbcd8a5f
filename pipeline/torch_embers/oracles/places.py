"""Where in the user's code an operator was called."""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Optional, Tuple

import torch

if TYPE_CHECKING:
    from types import FrameType

_OWN = str(Path(__file__).parent) + os.sep
_TORCH = str(Path(torch.__file__).parent) + os.sep


def user_line() -> Tuple[str, str]:
    """The innermost line outside torch and this package as ``file:line``, and its text; empty if there is none.

    In a backward pass this is the line that called ``backward``.
    """
    frame: Optional[FrameType] = sys._getframe(1)  # noqa: SLF001 - reading a whole stack for each operator would take longer than the operator
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith((_OWN, _TORCH, "<")):
            return "%s:%d" % (path, frame.f_lineno), linecache.getline(path, frame.f_lineno).strip()
        frame = frame.f_back
    return "", ""
