"""Printed values of a report: what its script printed, which lines are wrong, and whether a run prints them again.

Only lines that a run elsewhere can print again are compared: not versions, addresses, times and amounts of memory.
Numbers count to three digits. A run must print every wrong line, in the order of the report.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.repro import rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,3})?")
_LONGEST_LINE = 300
_LINES_COMPARED = 40
_HEADING = 300
"""Characters of the line above an output that are looked at."""


@dataclass(frozen=True, slots=True)
class PrintedOutput:
    """Something that a report says was printed.

    Attributes:
        text: what was printed.
        before: the line of prose above it, which may say "expected" or "actual".
        own: whether it stands in the block of the script, behind the statement that printed it.
    """

    text: str
    before: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Values:
    """What a report shows of printed values.

    Attributes:
        actual: lines that the script printed.
        expected: lines that it should have printed.
        wrong: lines of ``actual`` that are not expected: all where nothing is said of what to expect.
        is_certain: whether the text leaves no choice which output is the script's.
    """

    actual: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    is_certain: bool = False


def is_expected(shown: PrintedOutput) -> bool:
    """Whether an output stands under a heading such as "expected"."""
    return not shown.own and bool(rules.load().values.expected.search(shown.before[:_HEADING]))


def is_aside(shown: PrintedOutput) -> bool:
    """Whether an output is not of the failure: expected, of a fix, of what works."""
    return is_expected(shown) or (not shown.own and bool(rules.load().values.aside.search(shown.before[:_HEADING])))


def values(outputs: Sequence[PrintedOutput]) -> Values:
    """Tell the script's printed lines from those that it should have printed.

    Args:
        outputs: nearest to the script first.
    """
    expected = [line for shown in outputs if is_expected(shown) for line in _lines(shown.text)]
    candidates = [s for s in outputs if not is_aside(s) and "Traceback" not in s.text and any(_lines(s.text))]
    own = [shown for shown in candidates if shown.own]
    labelled = [shown for shown in candidates if rules.load().values.actual.search(shown.before[:_HEADING])]
    chosen = own or labelled[:1] or candidates[:1]
    actual = [line for shown in chosen for line in _lines(shown.text)]
    right = {rounded(line) for line in expected}
    wrong = [line for line in actual if rounded(line) not in right]
    return Values(
        tuple(actual[:_LINES_COMPARED]),
        tuple(expected[:_LINES_COMPARED]),
        tuple(wrong[:_LINES_COMPARED]),
        bool(own) or len(labelled) == 1 or len(candidates) == 1,
    )


def _lines(text: str) -> Iterator[str]:
    """Lines that say anything, without those of the environment."""
    environment = rules.load().values.environment
    for line in text.split("\n")[: 4 * _LINES_COMPARED]:
        if line.strip() and not environment.search(line[:_LONGEST_LINE]):
            yield line.strip()[:_LONGEST_LINE]


def without_volatile(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines that a run elsewhere can print again."""
    volatile = rules.load().values.volatile
    return tuple(line for line in lines if not volatile.search(line))


def prints_again(printed: str, lines: Sequence[str]) -> bool:
    """Whether a run printed all these lines, in this order."""
    left = iter([rounded(line) for line in printed.split("\n")])
    return all(any(rounded(line) == one for one in left) for line in lines)


def rounded(line: str) -> str:
    """A line with its numbers to three digits and its blanks single."""
    return " ".join(_NUMBER.sub(lambda m: f"{float(m[0]):.3g}", line[:_LONGEST_LINE]).split())
