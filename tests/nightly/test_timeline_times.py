"""Long and hostile texts are compared and searched in time in proportion to their length."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from torch_embers.extract.script import ReportText
from torch_embers.timeline.behaviour import tokens
from torch_embers.timeline.match import matched
from torch_embers.timeline.model import Observation
from torch_embers.timeline.segments import segments

if TYPE_CHECKING:
    from collections.abc import Callable

PRINTS = ("tensor([1.0000, ", "/a/b.c/d ", "1.2.3.4.5", "a.b.c.", "((((", "[W1126 ", "0x", "1:22:33", "x = ` nan\n")
TEXTS = ("tensor([1.5, ", "```\n", "x `1.5` ", "# Expected\n", "RuntimeError: a b c d ", "> ", "(((")
SEEN = (Observation("exception", "RuntimeError", "a b c d e f"), Observation("ok", printed="sum 1.5 of 7\n" * 50))


def assert_linear(work: Callable[[int], object]) -> None:
    def once(times: int) -> float:
        start = time.process_time()
        work(times)
        return time.process_time() - start

    def seconds(times: int) -> float:
        return min(once(times) for _ in range(3))  # a busy machine makes single runs slow

    assert seconds(20_000) < 40 * seconds(2000) + 0.2


@pytest.mark.parametrize("part", PRINTS)
def test_a_long_print(part: str) -> None:
    assert_linear(lambda times: tokens(part * times))


@pytest.mark.parametrize("part", TEXTS)
def test_a_long_report(part: str) -> None:
    def work(times: int) -> None:
        for seen in SEEN:
            runs = {"2.6.0": [seen]}
            matched(segments(runs), runs, ReportText("title", part * times))

    assert_linear(work)
