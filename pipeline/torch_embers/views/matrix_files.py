"""The matrix of verdicts as files: for spreadsheets, test dashboards and programs, and added to shipped verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import folders
from torch_embers.cases import shipped_verdicts
from torch_embers.cases.case import shipped as shipped_cases
from torch_embers.errors import InputError
from torch_embers.store import lock
from torch_embers.verdicts import matrix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.store.store import Store


def save_matrix(
    store: Store, csv: Path | None, junit: Path | None, jsonl: Path | None, *, only_own: bool = False
) -> list[matrix.MatrixEntry]:
    """Read the matrix, or that of own runs, and write it to the files that are asked for.

    Raises:
        InputError: no verdict yet, or a file cannot be written.
    """
    entries = [entry for entry in matrix.entries(store) if not only_own or entry.provenance == matrix.OWN]
    if not entries:
        raise InputError("no verdicts yet: `embers mine` brings the shipped ones, `embers run` makes more")
    forms = (
        (csv, matrix.as_csv(entries).encode()),
        (junit, matrix.as_junit(entries)),
        (jsonl, matrix.as_json_lines(entries)),
    )
    for path, content in forms:
        if path is not None:
            folders.write(path, content)
    return entries


def add_to_file(entries: Sequence[matrix.MatrixEntry], path: Path) -> list[matrix.MatrixEntry]:
    """Add verdicts to a file of verdicts.

    Returns:
        Verdicts of a former text of a shipped case: they say nothing of the case and are not added.

    Raises:
        InputError: the file is no file of verdicts or cannot be written.
        StoreError: another process adds to it.
    """
    present = {case.name: case.hash for case in shipped_cases(None)}
    fresh: list[matrix.MatrixEntry] = []
    former: list[matrix.MatrixEntry] = []
    for entry in entries:
        (fresh if present.get(entry.case, entry.case_hash) == entry.case_hash else former).append(entry)
    try:
        place = path.resolve(strict=True)
        with lock.writer_lock(place, "embers list --matrix --add-to"):
            before = shipped_verdicts.parse(place.read_text(encoding="utf-8"), str(path))
            folders.write(place, matrix.as_csv(fresh, before).encode())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--add-to {path}: {error}; `embers list --matrix --csv` makes such a file") from error
    return former
