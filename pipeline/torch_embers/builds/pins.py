"""Pinned hashes of wheels: what an index delivered once under a name, it must deliver again.

The wheels of the matrix are pinned by ``data/builds.toml``. The first installation of any other wheel writes its
SHA-256 into ``wheels.json`` of the folder of builds. Each installation is compared before anything of the wheel runs.
A wheel that the user names as a file is not pinned: it may be built anew.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import Field

from torch_embers import folders
from torch_embers.builds.registry import BuildError
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "wheels.json"


class Pinned(Entry):
    """``[pinned]`` of ``data/builds.toml``: what an index said on a day."""

    source: str
    read: date
    reason: str = Field(min_length=1)
    sha256: dict[str, Annotated[str, Field(pattern="^[0-9a-f]{64}$")]]
    """Name of a wheel -> SHA-256."""


def hashes(report: Mapping[str, Any]) -> dict[str, str]:
    """Name of each wheel that pip installed -> SHA-256, of pip's report; not of files that the user named."""
    found = {}
    for part in report.get("install", []):
        info = part.get("download_info", {})
        address = urlsplit(str(info.get("url", "")))
        name = Path(unquote(address.path)).name
        digest = info.get("archive_info", {}).get("hashes", {}).get("sha256", "")
        if name and digest and not (part.get("is_direct") and address.scheme == "file"):
            found[name] = str(digest)
    return found


def check(folder: Path, found: Mapping[str, str], shipped: Pinned) -> None:
    """Compare with what is pinned.

    Raises:
        BuildError: a wheel of the same name was another one before, here or on the index that the shipped hash is of.
    """
    pinned = read(folder)
    for name, digest in found.items():
        if shipped.sha256.get(name, digest) != digest:
            raise BuildError(
                f"{name} is not the wheel that {shipped.source} had on {shipped.read}: SHA-256 {digest} instead of "
                f"{shipped.sha256[name]}; nothing of it was run; if you trust that file, give it with --wheel"
            )
        if pinned.get(name, digest) != digest:
            raise BuildError(
                f"{name} is not the wheel that was installed before: SHA-256 {digest} instead of {pinned[name]}; "
                f"if that is right, take its line out of {folder / FILE}"
            )


def keep(folder: Path, found: Mapping[str, str]) -> None:
    """Pin wheels that are not yet."""
    pinned = read(folder)
    if not found.keys() - pinned.keys():
        return
    known = json.dumps(dict(found) | pinned, indent=1, sort_keys=True)
    folders.write(folder / FILE, f"{known}\n".encode())


def read(folder: Path) -> dict[str, str]:
    """Name of each pinned wheel -> SHA-256.

    Raises:
        BuildError: the file is damaged: without it nothing would be compared.
    """
    try:
        pinned = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return {str(name): str(digest) for name, digest in pinned.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError) as error:
        raise BuildError(f"{folder / FILE} is damaged: mend or remove it (hashes of wheels are kept there)") from error
