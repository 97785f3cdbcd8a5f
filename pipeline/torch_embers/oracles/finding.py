"""One finding of an oracle, in the shape that all oracles report: plain data that crosses a process as one line."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Dict, List, Literal, Optional, Tuple, get_args

Severity = Literal[
    "outside_write", "crash", "wrong_value", "wrong_gradient", "low_precision", "broken_promise", "slow", "refusal"
]
"""The worst first: memory outside the destination was changed; the process died; values; gradients; precision below
that of fp32 accumulation; strides, aliasing or untouched inputs that the operator promises; time; the call is refused
although the dense twin is accepted."""
SEVERITIES = get_args(Severity)
MARK = "embers-finding "
"""What a line on standard output begins with that holds a finding."""


@dataclass(frozen=True)
class Difference:
    """The worst element of a comparison.

    Attributes:
        index: its position in the result.
        got: what was computed.
        expected: what should have been.
        ulps: the error in units in the last place of the result's dtype at the expected value; None for exact dtypes.
        relative: the error divided by the expected value; None where that is zero or no number.
        allowed: the error that an honest implementation may have at this place.
        wrong: how many elements are wrong.
        total: how many were compared.
    """

    index: Tuple[int, ...] = ()
    got: str = ""
    expected: str = ""
    ulps: Optional[float] = None
    relative: Optional[float] = None
    allowed: Optional[float] = None
    wrong: int = 0
    total: int = 0


@dataclass(frozen=True)
class Finding:
    """What an oracle found wrong in one call of one operator.

    Attributes:
        oracle: layout, precision, device, compiled or timing.
        op: operator with its namespace, such as ``aten.addcmul_``.
        overload: of the operator, such as ``default`` or ``out``.
        severity: one of ``SEVERITIES``.
        message: one plain sentence: what was called how, and what is wrong.
        layouts: per tensor argument ``name: layout``, such as ``self: transposed float32[3, 4]``.
        dtype: of the result, without ``torch.``.
        device: type of the device.
        place: which value is wrong: ``result``, ``result 1``, ``gradient of self``, ``out``, ``around out``.
        difference: worst element; None where values were not compared.
        line: the user's source line as ``file:line``; empty where unknown.
        source: text of that line.
        reproducer: text of a case file that repeats this one call; empty where none could be made.
    """

    oracle: str
    op: str
    overload: str
    severity: str
    message: str
    layouts: Tuple[str, ...] = ()
    dtype: str = ""
    device: str = ""
    place: str = ""
    difference: Optional[Difference] = None
    line: str = ""
    source: str = ""
    reproducer: str = ""

    def row(self) -> Dict[str, Any]:
        """As plain data."""
        return dataclasses.asdict(self)

    def dump(self) -> str:
        """One line for standard output."""
        return MARK + json.dumps(self.row(), separators=(",", ":"))


@lru_cache(maxsize=None)
def _adapter() -> Any:
    from pydantic import TypeAdapter  # asked for outside of builds alone, which need not have it

    return TypeAdapter(Finding)


def parse(row: Any) -> Finding:
    """A finding from plain data, outside of builds.

    Raises:
        ValueError: the data has not the form of a finding.
    """
    found: Finding = _adapter().validate_python(row)
    if found.severity not in SEVERITIES:
        raise ValueError("no severity: %r" % found.severity)
    return found


def read(text: str) -> List[Finding]:
    """The findings among the lines of an output; lines that hold none are passed over."""
    found = []
    for line in text.splitlines():
        if line.startswith(MARK):
            try:
                found.append(parse(json.loads(line[len(MARK) :])))
            except ValueError:
                continue
    return found


def describe(finding: Finding) -> str:
    """A finding for a terminal: the sentence, then what was measured."""
    lines = ["%s: %s" % (finding.severity, finding.message)]
    if finding.line:
        lines.append("    at %s: %s" % (finding.line, finding.source))
    lines += ["    %s" % layout for layout in finding.layouts]
    worst = finding.difference
    if worst is not None:
        where = list(worst.index)
        size = "" if worst.ulps is None else ", %.3g ulps" % worst.ulps
        share = "%d of %d elements" % (worst.wrong, worst.total)
        lines.append(
            "    %s: got %s, expected %s%s at %s; %s" % (finding.place, worst.got, worst.expected, size, where, share)
        )
    return "\n".join(lines)
