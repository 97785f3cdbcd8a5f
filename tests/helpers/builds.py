"""What the tests in test_builds.py share."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from support import fake_python
from torch_embers import settings as settings_room
from torch_embers.builds import install
from torch_embers.builds.registry import (
    CURRENT,
    Build,
    Registry,
)
from torch_embers.progress import Silent

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry that has asked the torch of this environment, which takes seconds, and knows no other build."""
    folder = tmp_path_factory.mktemp("asked") / "builds"
    folder.mkdir()
    Registry(folder).installed()
    return folder


@pytest.fixture
def registry(asked: Path, tmp_path: Path) -> Registry:
    return Registry(shutil.copytree(asked, tmp_path / "builds"))


@pytest.fixture
def python(tmp_path: Path) -> Path:
    return fake_python(tmp_path / "env")


def named(builds: list[Build]) -> list[str]:
    return [b.name for b in builds if b.name != CURRENT]


# ---- installing ----------------------------------------------------------------------------------------------------


def add(folder: Path, **more: Any) -> Build:
    wanted = settings_room.load(builds_dir=folder)
    asked: dict[str, Any] = {"version": None, "python": None, "wheel": None, "name": "", "allow_cuda_packages": False}
    return install.add(wanted, **{**asked, **more}, progress=Silent())


# ---- pinned wheels -------------------------------------------------------------------------------------------------


def installed(name: str, digest: str, **more: object) -> dict[str, Any]:
    """A report of pip that installed one wheel."""
    address = f"https://example.org/whl/cpu/{name.replace('+', '%2B')}"
    info = {"url": address, "archive_info": {"hashes": {"sha256": digest}}}
    return {"install": [{"download_info": info, **more}]}
