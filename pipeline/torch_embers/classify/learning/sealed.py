"""A folder of two files, ``model.json`` (plain data) and ``arrays.npz`` (numbers), that vouch for each other.

``model.json`` holds the version of the format, the hash of the arrays and a hash of itself. The arrays are read
without pickle: nothing in the files is executed. The hashes find damage and careless edits; who can write both files
can of course make a model of his own.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

FORMAT = 2
"""Version of the saved form. A model of another version is refused: its numbers may mean something else."""
ARRAYS, ABOUT = "arrays.npz", "model.json"
SIZE_LIMIT = 512 * 2**20
"""Bytes that the arrays may unpack to: a file that claims more is not one of ours."""
TEXT_LIMIT = 64 * 2**20
"""Bytes of ``model.json``; that of the shipped classifiers has less than one megabyte."""


DAMAGE = (
    *(OSError, ValueError, TypeError, LookupError, EOFError, MemoryError, OverflowError, SyntaxError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What the readers of zip and npy files raise on a file that somebody made up."""


class ModelError(InputError):
    """A saved model is missing, tampered with, damaged, or of another format version."""


def arrays_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The arrays as the bytes of an npz file; equal numbers give equal bytes."""
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def check_target(folder: Path) -> None:
    """See that a folder can be written before minutes of training go into it; makes nothing.

    Raises:
        ModelError: a file is in its place, or it may not be written.
    """
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise ModelError(f"cannot write a model to {folder}: {nearest} is no folder that can be written to")


def write(folder: Path, about: Mapping[str, Any], arrays: bytes) -> None:
    """Write both files into ``folder`` (made if missing), each at once or not at all.

    Raises:
        ModelError: the folder cannot be written.
    """
    sealed = {"format": FORMAT, **about, "sha256": {ARRAYS: hashlib.sha256(arrays).hexdigest()}}
    sealed["seal"] = seal(sealed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / ARRAYS, arrays)
        _replace(folder / ABOUT, json_bytes(sealed))
    except OSError as error:
        raise ModelError(f"cannot write the model to {folder}: {error}") from error


def read(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read and check both files.

    Raises:
        ModelError: a file is missing, changed since it was saved, damaged, or of another format version.
    """
    about = _about(folder)
    return about, _checked_arrays(folder, about)


def json_bytes(data: Mapping[str, Any]) -> bytes:
    """JSON of which equal data give equal bytes."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def seal(about: Mapping[str, Any]) -> str:
    """SHA-256 of everything in ``about`` but its seal."""
    return hashlib.sha256(json_bytes({key: value for key, value in about.items() if key != "seal"})).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _about(folder: Path) -> dict[str, Any]:
    """Read and check ``model.json``: its version first, because another version may be sealed another way."""
    path = folder / ABOUT
    try:
        if path.stat().st_size > TEXT_LIMIT:
            raise ModelError(f"{path} is larger than {TEXT_LIMIT} bytes: it is not one of ours")
        about = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelError(f"there is no model in {folder}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged: {error}") from error
    version = about.get("format") if isinstance(about, dict) else None
    if version != FORMAT:
        raise ModelError(f"{path} has format version {version}, this embers reads {FORMAT}: fit the model anew")
    if about.get("seal") != seal(about):
        raise ModelError(f"{path} was changed after it was saved")
    return dict(about)


def _checked_arrays(folder: Path, about: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    path = folder / ARRAYS
    try:
        if path.stat().st_size > SIZE_LIMIT:
            raise ModelError(f"{path} is larger than {SIZE_LIMIT} bytes: it is not one of ours")
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"the model in {folder} is not complete: {error}") from error
    expected = about.get("sha256")
    if not isinstance(expected, dict) or hashlib.sha256(content).hexdigest() != expected.get(ARRAYS):
        raise ModelError(f"{path} is not the file that was saved with {ABOUT}")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > SIZE_LIMIT:
                raise ModelError(f"{path} would unpack to more than {SIZE_LIMIT} bytes")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except DAMAGE as error:
        raise ModelError(f"{path} is damaged: {error}") from error
