"""The coverage map of hunts: which operator was called in which mode, and with what result."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers.errors import InputError
from torch_embers.oracles.cells import MODES
from torch_embers.report import parquet
from torch_embers.verdicts.matrix import version_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FILE = "hunt_coverage.parquet"
"""What `embers research hunt coverage` writes beside the study."""
BAD = ("wrong", "outside", "died")
COUNTS = ("tested", *BAD, "refused", "undecided")
COLUMNS = ("build", "op", "mode", "layout", "reason", *COUNTS)
SCHEMA = pa.schema([(name, pa.int64() if name in COUNTS else pa.string()) for name in COLUMNS])


@dataclass(frozen=True, slots=True)
class Calls:
    """What came of calls.

    Attributes:
        tested: compared with the result of dense copies.
        bad: wrong values or promises, writes outside the destination, and calls that ended the process.
        other: refused by torch, or undecided.
    """

    tested: int
    bad: int
    other: int


@dataclass(frozen=True, slots=True)
class Map:
    """The map of one build.

    Attributes:
        modes: columns of the map that have a call.
        operators: by operator its calls by mode; no entry for a mode without a call.
        layouts: calls by layout of an argument or destination, most calls first.
        left_out: by operator why calls were left out.
    """

    build: str
    modes: Sequence[str]
    operators: Mapping[str, Mapping[str, Calls]]
    layouts: Sequence[tuple[str, Calls]]
    left_out: Mapping[str, Sequence[str]]

    def total(self, mode: str) -> tuple[int, Calls]:
        """Operators that were called in a mode, and all calls of them."""
        found = [calls[mode] for calls in self.operators.values() if mode in calls]
        return len(found), Calls(sum(c.tested for c in found), sum(c.bad for c in found), sum(c.other for c in found))


def read(folder: Path) -> Map | None:
    """The map in a folder, of the newest build in it; None where there is none.

    Raises:
        InputError: the file cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        rows = parquet.read(path, SCHEMA, COLUMNS)
    except parquet.UnfitError as error:
        raise InputError(f"{path} {error}; `embers research hunt coverage` writes it anew") from error
    return _map(rows.to_pylist()) if rows.num_rows else None


def _map(rows: Sequence[Mapping[str, Any]]) -> Map:
    build = max((row["build"] for row in rows), key=version_key)
    by_mode: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    by_layout: dict[str, Counter[str]] = defaultdict(Counter)
    left_out: dict[str, set[str]] = defaultdict(set)
    operators: dict[str, dict[str, Calls]] = {}
    for row in rows:
        if row["build"] != build:
            continue
        operators.setdefault(row["op"], {})
        if row["reason"]:
            left_out[row["op"]].add(row["reason"])
        if row["mode"]:
            counts = {name: row[name] for name in COUNTS}
            by_mode[row["op"], row["mode"]].update(counts)
            by_layout[row["layout"]].update(counts)
    for (op, mode), counted in by_mode.items():
        operators[op][mode] = _calls(counted)
    seen = {mode for _, mode in by_mode}
    layouts = sorted(
        ((name, _calls(counted)) for name, counted in by_layout.items()), key=lambda x: (-x[1].tested, x[0])
    )
    return Map(
        build,
        [*(mode for mode in MODES if mode in seen), *sorted(seen - set(MODES))],
        dict(sorted(operators.items())),
        layouts,
        {op: sorted(reasons) for op, reasons in left_out.items()},
    )


def _calls(counted: Counter[str]) -> Calls:
    return Calls(counted["tested"], sum(counted[name] for name in BAD), counted["refused"] + counted["undecided"])
