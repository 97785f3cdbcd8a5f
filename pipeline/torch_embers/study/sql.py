"""The queries of analysis/: one file per question, beside the checkout's data or packed into the wheel."""

from __future__ import annotations

from torch_embers import resources
from torch_embers.errors import InputError

FOLDER = "analysis"


def read(*parts: str) -> str:
    """Return the text of ``analysis/<parts>``.

    Raises:
        InputError: the file is in neither home (a broken installation).
    """
    for home in (resources.CHECKOUT_DIR / FOLDER, resources.SHIPPED_DIR / FOLDER):
        path = home.joinpath(*parts)
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise InputError(f"{FOLDER}/{'/'.join(parts)} is missing from this installation: reinstall torch-embers")
