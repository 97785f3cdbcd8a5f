"""The queries of analysis/: one file per question, beside the checkout's data or packed into the wheel."""

from __future__ import annotations

from torch_embers import resources


def read(*parts: str) -> str:
    """Return the text of ``analysis/<parts>``.

    Raises:
        InputError: the file is in neither home (a broken installation).
    """
    return resources.analysis_text(*parts)
