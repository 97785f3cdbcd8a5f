"""Images of CIFAR-10's shape: read from its binary files or from an array, or made from noise.

The Python version of CIFAR-10 is pickled, and unpickling a file executes what it says: it is refused. The binary
version (https://www.cs.toronto.edu/~kriz/cifar.html) is records of 3,073 bytes: a label of 0 to 9, then 32 x 32 values
of red, of green and of blue, row by row.
"""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SIDE = 32
CHANNELS = 3
PIXELS = SIDE * SIDE * CHANNELS
RECORD = 1 + PIXELS
LABELS = 10
GRAIN = 8
"""Side of the noise from which a smooth image is made."""
LARGEST = 4 * 60_000 * PIXELS
"""Bytes of the largest array that is unpacked from an .npz: four times CIFAR-10. A small file can claim any size."""
HOW = "give CIFAR-10's binary version (data_batch_1.bin ...), or a .npy or .npz of uint8 in (images, 32, 32, 3)"


def load(path: Path | None, count: int, seed: int) -> tuple[NDArray[np.uint8], str]:
    """Up to ``count`` images as uint8 in (images, 32, 32, 3), and in words where they are from.

    Args:
        path: a file, a folder with binary batches, or None for made images.
        count: how many are wanted; a file with fewer gives what it has.
        seed: of made images.

    Raises:
        InputError: the path cannot be read as images.
    """
    if path is None:
        return made(count, seed), f"{count:,} generated images (smooth noise, seed {seed}), not CIFAR-10"
    try:
        images = _read(path, count)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; {HOW}") from error
    if not len(images):
        raise InputError(f"{path}: there is no image in it; {HOW}")
    kind = "CIFAR-10's binary files" if path.is_dir() or path.suffix == ".bin" else "an array file"
    return images, f"{len(images):,} images of {kind}"


def made(count: int, seed: int) -> NDArray[np.uint8]:
    """Smooth noise: a grid of random colours, drawn larger, so that neighbouring pixels are alike."""
    grid = np.random.default_rng(seed).random((count, GRAIN, GRAIN, CHANNELS), dtype=np.float32)
    places = np.linspace(0, GRAIN - 1, SIDE)
    low = np.minimum(places.astype(int), GRAIN - 2)
    share = (places - low).astype(np.float32)
    rows = grid[:, low] * (1 - share)[:, None, None] + grid[:, low + 1] * share[:, None, None]
    both = rows[:, :, low] * (1 - share)[:, None] + rows[:, :, low + 1] * share[:, None]
    return np.ascontiguousarray((both * 255).astype(np.uint8))


def _read(path: Path, count: int) -> NDArray[np.uint8]:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; {HOW}")
    if path.is_dir():
        return _folder(path, count)
    if path.suffix == ".bin":
        return _binary(path, count)
    if path.suffix == ".npy":
        return _shaped(path, _array(path), count)
    if path.suffix == ".npz":
        return _shaped(path, _unpacked(path), count)
    raise InputError(f"{path}: not read, since a pickled file would execute what it says; {HOW}")


def _folder(path: Path, count: int) -> NDArray[np.uint8]:
    batches = sorted(path.glob("data_batch_*.bin")) + sorted(path.glob("test_batch.bin"))
    if not batches:
        raise InputError(f"{path}: there is no data_batch_*.bin in this folder; {HOW}")
    parts: list[NDArray[np.uint8]] = []
    for batch in batches:
        if (left := count - sum(map(len, parts))) > 0:
            parts.append(_binary(batch, left))
    return np.concatenate(parts)


def _binary(path: Path, count: int) -> NDArray[np.uint8]:
    size = path.stat().st_size
    if size % RECORD:
        raise InputError(f"{path}: {size:,} bytes are no whole number of CIFAR-10 records of {RECORD:,} bytes; {HOW}")
    records = np.fromfile(path, dtype=np.uint8, count=min(count * RECORD, size)).reshape(-1, RECORD)
    if (records[:, 0] >= LABELS).any():
        worst = int(records[:, 0].argmax())
        raise InputError(f"{path}: record {worst} has label {records[worst, 0]}, CIFAR-10 has 0 to {LABELS - 1}; {HOW}")
    planes = records[:, 1:].reshape(-1, CHANNELS, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1))


def _array(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{path}: no plain array: {_first_line(error)}; {HOW}") from error


def _unpacked(path: Path) -> Any:
    try:
        with zipfile.ZipFile(path) as packed:
            sizes = {member.filename: member.file_size for member in packed.infolist()}
        if len(sizes) != 1 or max(sizes.values()) > LARGEST:
            raise InputError(f"{path}: one array of at most {LARGEST / 1e6:,.0f} MB is expected; {HOW}")
        with np.load(path, allow_pickle=False) as arrays:
            return arrays[arrays.files[0]]
    except (ValueError, zipfile.BadZipFile, EOFError, MemoryError, RuntimeError) as error:
        raise InputError(f"{path}: no plain array: {_first_line(error)}; {HOW}") from error


def _shaped(path: Path, array: Any, count: int) -> NDArray[np.uint8]:
    shape, kind = getattr(array, "shape", ()), getattr(array, "dtype", "no array")
    if len(shape) != 4 or shape[1:] != (SIDE, SIDE, CHANNELS) or kind != np.uint8:
        raise InputError(f"{path}: {kind} in {tuple(shape)}; {HOW}")
    return np.ascontiguousarray(array[:count], dtype=np.uint8)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
