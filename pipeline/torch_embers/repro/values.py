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
_CONSTANT = re.compile(r"\b(?:[Tt]rue|[Ff]alse|nan|inf|None)\b")
_COMMON = frozenset({"True", "False", "true", "false", "nan", "inf", "None", "0", "-0", "1", "-1"})
_FEW = 3
"""So many constants of a line say nothing; more of them make a pattern."""
_CODE = 20_000
"""Characters of a script whose numbers are taken for inputs."""
_STOP = re.compile(r"(?<=[.!?])\s{1,9}|(?:^|\s)#{1,6}\s|\b(?i:but|while|whereas)\s")
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
        after: the first lines of prose below it, which may say that it is right.
    """

    text: str
    before: str = ""
    own: bool = False
    after: str = ""


@dataclass(frozen=True, slots=True)
class Values:
    """What a report shows of printed values.

    Attributes:
        actual: lines that the script printed.
        expected: lines that it should have printed.
        wrong: lines of ``actual`` that are not expected: all where nothing is said of what to expect.
        is_certain: whether the text leaves no choice which output is the script's.
        contrast: the word of a heading by which the report compares two sides; empty where there is none.
        shown: lines of the output that was chosen, with those of the environment; 0 where the code itself has them.
    """

    actual: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    is_certain: bool = False
    contrast: str = ""
    shown: int = 0


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
        next((match[0] for shown in candidates if (match := _contrast(shown)) is not None), ""),
        0 if own else sum(bool(line.strip()) for shown in chosen for line in shown.text.split("\n")),
    )


def introduction(before: str) -> str:
    """The words that introduce a block: what stands behind the last full stop, heading mark or "but" above it."""
    return _STOP.split(before[-_HEADING:])[-1]


def _contrast(shown: PrintedOutput) -> re.Match[str] | None:
    return None if shown.own else rules.load().values.contrast.search(introduction(shown.before))


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


def telling(lines: Sequence[str], code: str, title: str) -> list[str]:
    """Lines that a right run would not print as well, as far as their form tells.

    Left out are lines of nothing but True, False, nan, 0 and 1, shapes where the title is not about shapes, and lines
    whose numbers all stand in the script in the same order: they show an input.

    Args:
        lines: printed, and perhaps wrong.
        code: the script as reported.
        title: of the item.
    """
    own = rules.load().values
    inputs = f" {' '.join(_numbers(code[:_CODE]))} "
    is_shape = (lambda _: None) if own.about_shape.search(title) else own.shape.search
    return [line for line in lines if not (own.trivial.search(line) or is_shape(line) or _is_input(line, inputs))]


def _is_input(line: str, inputs: str) -> bool:
    """Whether the values of a line are few or equal constants, or stand in the script."""
    numbers, constants = _numbers(line), _CONSTANT.findall(line)
    if not numbers and not constants:
        return False
    found = [*numbers, *constants]
    is_common = set(found) <= _COMMON and (len(found) <= _FEW or len(set(found)) == 1)
    return is_common or (bool(numbers) and f" {' '.join(numbers)} " in inputs)


def _numbers(text: str) -> list[str]:
    return [f"{float(number):.3g}" for number in _NUMBER.findall(rules.load().values.described.sub(" ", text))]
