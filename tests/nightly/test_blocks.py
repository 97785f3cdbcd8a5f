"""Blocks of a report: what is Python, what is a session, and what everything else is."""

from __future__ import annotations

import time

import pytest

from torch_embers.repro.blocks import blocks


@pytest.mark.parametrize(
    "piece",
    ["```\n", "`", ">>> x = 1\n", "<pre>\n", "    x = torch.ones(2)\n", "x\n\n", "python - <<EOF\n", "'", "print x\n"],
)
def test_a_megabyte_takes_time_in_proportion(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        blocks(text)
        return time.process_time() - start

    assert seconds(1_000_000) < 40 * max(seconds(100_000), 0.01)
