"""How trained classifiers are kept: by skops, which runs no code on load, in a folder sealed as a whole.

``seal.json`` holds the version of the format and the SHA-256 of every other file of the folder, and of itself. A file
that is missing, added or changed in any byte is refused before it is read. The seal finds damage and careless edits;
who can write every file can of course make a model of his own.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 6
"""Version of the saved form. A model of another version is refused: its numbers may mean something else."""
SEAL = "seal.json"
SIZE_LIMIT = 256 * 2**20
"""Bytes that a file may have, and that its parts may unpack to: a larger one is not one of ours."""
TRUSTED = (
    "torch_embers.classify.learning.calibration.Logits",
    "torch_embers.classify.learning.features.Terms",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer._RemainderColsList",
)
"""Types beside those of scikit-learn, NumPy and SciPy that skops trusts by itself; all others are refused."""


class ModelError(InputError):
    """A saved model is missing, tampered with, damaged, or of another format version."""


def check_target(folder: Path) -> None:
    """Check that a folder can be written before minutes of training go into it; makes nothing.

    Raises:
        ModelError: a file is in its place, or it may not be written.
    """
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise ModelError(f"cannot write a model to {folder}: {nearest} is no folder that can be written to")


def estimators_bytes(estimators: Mapping[str, Any]) -> bytes:
    """Fitted estimators as the bytes of a skops file."""
    import skops.io  # with all of scikit-learn it takes seconds, and not every command reads a model

    made: bytes = skops.io.dumps(dict(estimators), compression=zipfile.ZIP_DEFLATED)
    return made


def read_estimators(path: Path) -> dict[str, Any]:
    """Read fitted estimators; nothing in the file is executed.

    Raises:
        ModelError: the file is missing, damaged, too large, or holds types that are not trusted.
    """
    import skops.io

    try:
        with zipfile.ZipFile(path) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > SIZE_LIMIT:
                raise ModelError(f"{path} would unpack to more than {SIZE_LIMIT} bytes")
        if unknown := sorted(set(skops.io.get_untrusted_types(file=path)) - set(TRUSTED)):
            raise ModelError(f"{path} holds objects of a type that is not trusted: {unknown[0]}")
        found: dict[str, Any] = skops.io.load(path, trusted=list(TRUSTED))
    except ModelError:
        raise
    except Exception as error:
        # skops, zipfile, NumPy and scikit-learn raise many kinds on a file that somebody made up
        raise ModelError(f"{path} is damaged ({type(error).__name__}): train the model again") from error
    if not isinstance(found, dict):
        raise ModelError(f"{path} holds no classifiers")
    return found


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a model and seal the folder; every other file in it is sealed, too.

    Raises:
        ModelError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SEAL).unlink(missing_ok=True)
        for name, content in files.items():
            _replace(folder / name, content)
        seal(folder)
    except OSError as error:
        raise ModelError(f"cannot write the model to {folder}: {error}") from error


def seal(folder: Path) -> None:
    """Write the hashes of all files of a folder.

    Raises:
        ModelError: a file cannot be read, or the seal not be written.
    """
    try:
        about: dict[str, Any] = {"format": FORMAT, "files": _hashes(folder)}
        about["seal"] = _digest(about)
        _replace(folder / SEAL, _written(about))
    except OSError as error:
        raise ModelError(f"cannot seal the model in {folder}: {error}") from error


def check_seal(folder: Path) -> str:
    """Compare all files of a folder with its seal.

    Returns:
        The seal: it stands for every byte of the model.

    Raises:
        ModelError: there is no model, it is of another version, or a file is missing, added or changed.
    """
    place = folder / SEAL
    try:
        content = place.read_bytes()
        about = json.loads(content)
        found = _hashes(folder)
    except OSError as error:
        raise ModelError(
            f"no usable model in {folder} ({error.strerror or error}): train one with `embers classify --train`"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{place} is damaged ({error}): train the model again") from error
    version = about.get("format") if isinstance(about, dict) else None
    if version != FORMAT:
        raise ModelError(f"{place} has format version {version}, this embers reads {FORMAT}: train the model again")
    if content != _written(about) or about.get("seal") != _digest(about) or not isinstance(about.get("files"), dict):
        raise ModelError(f"{place} was changed after the model was saved: train the model again")
    for name in sorted({*found, *about["files"]}):
        if name not in found:
            raise ModelError(f"{folder / name} is missing: train the model again")
        if found[name] != about["files"].get(name):
            raise ModelError(f"{folder / name} is not the file that was sealed with the model: train the model again")
    return str(about["seal"])


def _written(about: dict[str, Any]) -> bytes:
    """A seal as bytes."""
    return (json.dumps(about, indent=1, sort_keys=True) + "\n").encode()


def _hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of every file but the seal, by its path in the folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != SEAL:
            if path.stat().st_size > SIZE_LIMIT:
                raise ModelError(f"{path} is larger than {SIZE_LIMIT} bytes: it is not one of ours")
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _digest(about: Mapping[str, Any]) -> str:
    """SHA-256 of everything in a seal but itself."""
    rest = {key: value for key, value in about.items() if key != "seal"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    """Write a file at once or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
