"""The study rebuilt from the database, beside what the paper printed.

For notebooks: ``reading = study.read()`` counts everything once; then ``reading.frame("figure_3")`` is a pandas table,
``reading.picture("figure_3")`` its picture, ``reading.shown("figure_3")`` the table as people read it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch_embers.study.notebook import Picture, Shown, StudyResults, as_shown, newest_day, read

__all__ = ["Picture", "Shown", "StudyResults", "as_shown", "newest_day", "read"]


def __getattr__(name: str) -> Any:
    """Import what is asked for on first use: ``from torch_embers import study`` stays cheap."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torch_embers import packages

    packages.require("study", "notebooks need")
    return getattr(import_module("torch_embers.study.notebook"), name)
