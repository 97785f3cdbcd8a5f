"""Cells of the hunt: one call each, named by what is varied in it, how they are counted, and how they leave a build."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections import Counter
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple
from typing import Counter as Counts

MODES = ("forward", "backward", "inplace", "out", "kernels")
"""The last one: operators of the dispatcher that the samples reach and that have no samples of their own."""
GUESSED = "aten."
"""What the names of operators begin with that have no samples; only their mode kernels is run."""
LINE = "embers-hunt "
"""What the lines of output begin with; the rest is JSON, compressed, because only the end of an output is kept."""
CELL = "embers-cell "
"""What a line on standard error begins with that names the call which comes next."""
ANY = "*"
"""Stands for every argument or layout in a cell that is left out."""
COUNTED = ("tested", "guarded", "wrong", "outside", "refused", "undecided", "died")
"""What is counted of a cell: calls that were compared; those of them with watched memory around destinations; wrong
results, gradients and promises; writes outside; calls that torch refuses; comparisons that decide nothing;
calls that ended their process."""


class Cell(NamedTuple):
    """What is varied in a call.

    Attributes:
        mode: one of ``MODES``; ``samples`` and ``dense`` stand for what is called before any is varied.
        operator: what is called: the name in the samples; in ``kernels`` the dispatcher's operator with its overload,
            as ``aten.tril.out``.
        argument: number of the tensor that has the layout; ``all``; ``destination``, with its number where one of
            several has it.
        layout: that it has; of destinations outside ``kernels`` with that of the others.
    """

    mode: str
    operator: str
    argument: str
    layout: str


def identity(cell: Cell) -> Tuple[str, str]:
    """Operator and overload as a finding names them; the overload of an operator with samples is the mode."""
    if cell.mode != "kernels":
        return cell.operator, cell.mode
    operator, _, overload = cell.operator.rpartition(".")
    return operator, overload


class Skipped:
    """Cells that ended the process before; ``ANY`` stands for all arguments or layouts.

    Args:
        cells: as lists of the four names.
    """

    def __init__(self, cells: Sequence[Sequence[str]]) -> None:
        self.cells: FrozenSet[Tuple[str, ...]] = frozenset(tuple(cell) for cell in cells)

    def __contains__(self, cell: Cell) -> bool:
        """Whether a cell is left out."""
        return tuple(cell) in self.cells or (cell.mode, cell.operator, ANY, ANY) in self.cells


class Tally:
    """How often each cell of one operator was called, over its samples, and what came of it."""

    def __init__(self) -> None:
        self.cells: Dict[Cell, Counts[str]] = {}
        self.skipped: Counts[str] = Counter()

    def add(self, cell: Cell, what: str) -> None:
        """Count one of ``COUNTED``."""
        self.cells.setdefault(cell, Counter())[what] += 1

    def rows(self) -> List[List[object]]:
        """Plain rows: the four names and the counts in the order of ``COUNTED``."""
        return [[*cell, *(counts[what] for what in COUNTED)] for cell, counts in sorted(self.cells.items())]


def pack(row: Any) -> str:
    """Plain data as one line."""
    body = zlib.compress(json.dumps(row, sort_keys=True).encode(), 9)
    return LINE + base64.b64encode(body).decode("ascii")


def unpack(text: str) -> List[Any]:
    """The plain data of all whole lines among an output."""
    rows = []
    for line in text.splitlines():
        if line.startswith(LINE):
            try:
                rows.append(json.loads(zlib.decompress(base64.b64decode(line[len(LINE) :]))))
            except (ValueError, zlib.error):
                continue
    return rows


def announce(op: str, cell: Cell) -> None:
    """Say before a call which it is, so that the driver knows when it ends the process."""
    os.write(2, ("%s%s\n" % (CELL, json.dumps([op, *cell]))).encode())


def last_cell(stderr: str) -> Optional[Tuple[str, Cell]]:
    """The operator and the cell that was announced last."""
    for line in reversed(stderr.splitlines()):
        if line.startswith(CELL):
            try:
                op, *names = json.loads(line[len(CELL) :])
                return op, Cell(*names)
            except (TypeError, ValueError):
                continue
    return None
