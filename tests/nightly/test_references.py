"""What texts say about other items: forms, traps, the real revert chain, and time linear in hostile text."""

from __future__ import annotations

import time

import pytest

from torch_embers.link.references import parse

REPO = "pytorch/pytorch"


UNITS = (
    *("#", "#1", "#1 ", "fix ", "fixes #1 ", 'revert "', 'revert "\n', 'back out "', "`", "` `` ``` ", "```\n"),
    *("<!--", "<!-- -->", ">\n", "http://", "https://github.com/", "a/b#1 ", "[", "[1.7] (", "abc1234 revert "),
    *("stack from x\n* #1\n", "* #1\n", "reland of the ", "#1 and ", " ", "not ", "cherry pick ", "\n \n", "a/", "1"),
)


@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear_in_hostile_text(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length] + " fixes #13 revert #14"
        best = 9.0
        for _ in range(5):
            # the processor time of this thread: other work on the machine does not count
            start = time.thread_time()
            parse(text, repo=REPO, number=1)
            best = min(best, time.thread_time() - start)
        return best

    # sixteen times the text: linear takes 16 times as long, quadratic 256 times
    assert seconds(320_000) <= 64 * max(seconds(20_000), 0.002)
