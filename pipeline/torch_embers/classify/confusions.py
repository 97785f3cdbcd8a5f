"""What the classifier takes for what, on the items that it was held out from, kept in ``classifier.json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.classify import model as models
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMES = ("bug_type", "memory_type", "consequence")
"""Schemes whose shares are corrected: each has one question, whose classes exclude each other."""


@dataclass(frozen=True)
class Confusion:
    """How often each class was predicted as which, in items."""

    scheme: str
    classes: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    """Rows truth, columns the likeliest class, both in the order of ``classes``."""


def load(scheme: str, folder: Path | None = None) -> Confusion:
    """Read the matrix of one scheme.

    Args:
        scheme: of ``SCHEMES``.
        folder: of the classifier; that of the shipped one when not given.

    Raises:
        InputError: no classifier there, or it knows nothing of this scheme.
    """
    about = models.load(folder or models.shipped_folder()).about
    if scheme not in SCHEMES or scheme not in about.confusion:
        raise InputError(f"the classifier {about.name} knows nothing of {scheme!r} (known: {', '.join(SCHEMES)})")
    return Confusion(scheme, about.questions[scheme].classes, about.confusion[scheme])
