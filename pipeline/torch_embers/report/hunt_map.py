"""The coverage map of hunts: which operator was called in which mode, and with what result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
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
COUNTS = ("tested", "wrong", "outside", "died", "refused", "undecided")
COLUMNS = ("build", "op", "mode", "layout", "reason", *COUNTS)
SCHEMA = pa.schema([(name, pa.int64() if name in COUNTS else pa.string()) for name in COLUMNS])
_CALLS = """
SELECT {by}, {{tested: sum(tested)::BIGINT, bad: sum(wrong + outside + died)::BIGINT,
               other: sum(refused + undecided)::BIGINT}} AS calls
FROM coverage WHERE mode <> '' GROUP BY {by} ORDER BY sum(tested) DESC, {by}
"""
"""Of calls: how many were compared with the result of dense copies; wrong values or promises, writes outside the
destination and ends of the process; refused by torch, or undecided."""
_LEFT_OUT = """
SELECT op, list(DISTINCT reason ORDER BY reason) FILTER (reason <> '') FROM coverage GROUP BY op ORDER BY op
"""


@dataclass(frozen=True, slots=True)
class Map:
    """The map of one build; calls have the keys ``tested``, ``bad`` and ``other``.

    Attributes:
        modes: columns of the map that have a call, with the number of operators called in it and all calls of them.
        operators: by operator its calls by mode; no entry for a mode without a call.
        layouts: calls by layout of an argument or destination, most calls first.
        left_out: by operator why calls were left out.
    """

    build: str
    modes: Mapping[str, tuple[int, Mapping[str, int]]]
    operators: Mapping[str, Mapping[str, Mapping[str, int]]]
    layouts: Sequence[tuple[str, Mapping[str, int]]]
    left_out: Mapping[str, Sequence[str]]


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
        return _map(rows) if rows.num_rows else None
    except (parquet.UnfitError, duckdb.OutOfRangeException) as error:
        raise InputError(f"{path} {error}; `embers research hunt coverage` writes it anew") from error


def _map(rows: pa.Table) -> Map:
    build = max(rows["build"].unique().to_pylist(), key=version_key)
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute("CREATE TEMP TABLE coverage AS FROM rows WHERE build = ?", [build])
        asked = ("op, mode", "mode", "layout")
        of_operators, of_modes, layouts = (connection.execute(_CALLS.format(by=by)).fetchall() for by in asked)
        left_out: dict[str, list[str] | None] = dict(connection.execute(_LEFT_OUT).fetchall())
    operators: dict[str, dict[str, Any]] = {op: {} for op in left_out}
    for op, mode, calls in of_operators:
        operators[op][mode] = calls
    found = dict(sorted(of_modes, key=lambda one: ([*MODES, one[0]].index(one[0]), one[0])))
    return Map(
        build,
        {mode: (sum(mode in calls for calls in operators.values()), calls) for mode, calls in found.items()},
        operators,
        layouts,
        {op: reasons or [] for op, reasons in left_out.items()},
    )
