"""Which line of the user's program made a call."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Optional, Tuple

import torch

if TYPE_CHECKING:
    from types import FrameType

HERE = __file__.rpartition("/")[0] + "/" if "/" in __file__ else "<embers"
OWN = (str(Path(torch.__file__).parent), str(Path(linecache.__file__).parent), "<embers", "<frozen", HERE)
"""Folders of frames that are not the user's: torch, the oracles, the standard library."""


def user_line() -> Tuple[str, str]:
    """The innermost frame outside torch, the oracles and the standard library, as ``file:line``, and its text."""
    frame: Optional[FrameType] = sys._getframe(1)  # noqa: SLF001 - traceback.extract_stack reads every file on the way
    while frame is not None:
        name = frame.f_code.co_filename
        if not _is_own(name):
            return "%s:%d" % (name, frame.f_lineno), linecache.getline(name, frame.f_lineno).strip()
        frame = frame.f_back
    return "", ""


def in_backward() -> bool:
    """Whether autograd makes the present call; before 2.0, torch tells by its Python frame alone."""
    task = getattr(torch._C, "_current_graph_task_id", None)  # noqa: SLF001 - torch has no public name for it
    if task is not None:
        return bool(task() != -1)
    frame: Optional[FrameType] = sys._getframe(1)  # noqa: SLF001
    while frame is not None:
        if frame.f_code.co_filename.endswith("torch/autograd/__init__.py"):
            return True
        frame = frame.f_back
    return False


def _is_own(name: str) -> bool:
    if "site-packages" in name:  # lies below the standard library in some installations
        return name.startswith(OWN[0])
    return name.startswith(OWN)
