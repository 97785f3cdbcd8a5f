"""The one place that knows where shipped files (data/, SQL, queries) are.

Two homes exist: the checkout (``data/`` beside ``pipeline/``) and the installed wheel, where the same
folder is packed as ``torch_embers/_shipped/data``. The checkout wins, so that an edited file takes effect.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from torch_embers.errors import InputError

PACKAGE_DIR = Path(__file__).resolve().parent
CHECKOUT_DIR = PACKAGE_DIR.parent.parent
SHIPPED_DIR = PACKAGE_DIR / "_shipped"


def in_checkout() -> bool:
    """Whether the package runs from a source checkout rather than from an installed wheel."""
    return (CHECKOUT_DIR / "pyproject.toml").is_file() and (CHECKOUT_DIR / "data").is_dir()


def shipped(*parts: str) -> Path:
    """Return the path of a file or folder that comes with embers.

    Raises:
        InputError: it is in neither home (a broken installation).
    """
    for home in (CHECKOUT_DIR, SHIPPED_DIR):
        path = home.joinpath(*parts)
        if path.exists():
            return path
    raise InputError(f"{'/'.join(parts)} is missing from this installation: reinstall torch-embers")


def data_file(name: str) -> Path:
    """Return the path of ``data/<name>``.

    Raises:
        InputError: the file is in neither home (a broken installation).
    """
    return shipped("data", name)


def licence_text() -> str:
    """Return the text of the project's licence.

    Raises:
        InputError: the file is in neither home (a broken installation).
    """
    return shipped("LICENSE").read_text(encoding="utf-8")


def analysis_text(*parts: str) -> str:
    """Return the text of ``analysis/<parts>``: queries and committed results.

    Raises:
        InputError: the file is in neither home (a broken installation).
    """
    return shipped("analysis", *parts).read_text(encoding="utf-8")


def package_file(*parts: str) -> Path:
    """Return the path of a file that lives inside the package (SQL, GraphQL)."""
    path = PACKAGE_DIR.joinpath(*parts)
    if not path.is_file():
        raise InputError(f"{'/'.join(parts)} is missing from this installation: reinstall torch-embers")
    return path


def load_toml(name: str) -> dict[str, Any]:
    """Parse ``data/<name>`` as TOML.

    Raises:
        InputError: missing file, or a syntax error (with its line).
    """
    path = data_file(name)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from error
