"""``pytest --embers-oracle layout``: runs each test under an oracle, and fails the test where it finds something.

Fixtures run outside of it. A test that fails by itself keeps its own failure.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of embers."""
    group = parser.getgroup("embers", "embers: oracles for code that uses torch")
    group.addoption(
        "--embers-oracle",
        choices=["layout"],
        help="run tests under this oracle: calls that meet tensors which are not dense are repeated on dense copies",
    )
    group.addoption("--embers-every", type=_positive, default=1, help="look at one call in so many (1: at all)")


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return number


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Watch one test."""
    if not item.config.getoption("--embers-oracle"):
        return (yield)
    from torch_embers import LayoutOracle
    from torch_embers.oracles.finding import describe

    with LayoutOracle(every=item.config.getoption("--embers-every"), reproduce=False) as oracle:
        result = yield
    if oracle.findings:
        pytest.fail("\n".join(map(describe, oracle.findings)), pytrace=False)
    return result
