"""Makes a script that fails small, without letting it slide to another failure.

The test that decides is the caller's: it runs a candidate in the sandbox and compares what is seen with what the whole
script showed. Torch-aware passes come first, then pysource-minimize, then the torch-aware ones again on what is left.

Why pysource-minimize: it is a function to call with a test of our own, works on the syntax tree, and its result stands
on its own. The release of shrinkray that PyPI has for Python 3.11 (0.0.2) cuts bytes and lines without knowing Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.minimize.invented_failures import invents
from torch_embers.minimize.shrink import PASSES, apply

if TYPE_CHECKING:
    from collections.abc import Callable

GENERAL = "pysource_minimize"
ORDER = (*PASSES, GENERAL, *PASSES)
MOST_TESTS = 3_000
"""A reduction that takes more tests than this stops with what it has."""


class MinimizeError(InputError):
    """A script cannot be made smaller: it does not fail in the first place, or not always in the same way."""


@dataclass(frozen=True, slots=True)
class Minimized:
    """The smallest script found, with how it was found."""

    code: str
    tests: int
    stopped: bool
    """Whether it ran out of tests, or of time."""


class _OutOfTestsError(Exception):
    """The budget is used up."""


def minimize(
    code: str,
    is_interesting: Callable[[str], bool],
    most_tests: int = MOST_TESTS,
    is_over: Callable[[], bool] = lambda: False,
) -> Minimized:
    """Make a script smaller while it stays interesting.

    Args:
        code: a script that is interesting.
        is_interesting: the test; must not be fooled by another failure. Texts are tested once.
        most_tests: how many candidates may be tested.
        is_over: whether to stop before the next test with what there is.

    Raises:
        MinimizeError: the script is not interesting, or pysource-minimize is not installed.
    """
    general = _general()
    known: dict[str, bool] = {}
    best = [code]

    def test(candidate: str) -> bool:
        if candidate not in known:
            if len(known) >= most_tests or (known and is_over()):
                raise _OutOfTestsError
            known[candidate] = not invents(code, candidate) and is_interesting(candidate)
            if known[candidate] and len(candidate) <= len(best[0]):
                best[0] = candidate
        return known[candidate]

    if not test(code):
        raise MinimizeError("the script does not show its failure: there is nothing to keep while it shrinks")
    try:
        for name in ORDER:
            made = general(best[0], test) if name == GENERAL else apply(best[0], name, test)
            if test(made) and len(made) <= len(best[0]):
                best[0] = made
    except _OutOfTestsError:
        return Minimized(best[0], len(known), stopped=True)
    return Minimized(best[0], len(known), stopped=False)


def require_reducer() -> None:
    """Make sure that the general reducer is installed.

    Raises:
        MinimizeError: it is not.
    """
    _general()


def _general() -> Callable[[str, Callable[[str], bool]], str]:
    try:
        from pysource_minimize import CouldNotMinimize
        from pysource_minimize import minimize as reduce
    except ImportError as error:
        raise MinimizeError("pysource-minimize is missing: pip install 'torch-embers[repro]'") from error

    def run(code: str, test: Callable[[str], bool]) -> str:
        try:
            made: str = reduce(code, lambda candidate: test(candidate + "\n"))
        except (CouldNotMinimize, RecursionError):
            return code  # not the same failure without its comments and layout, or nested too deeply to be walked
        return made + "\n"

    return run
