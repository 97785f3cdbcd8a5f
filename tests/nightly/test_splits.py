"""Groups stay whole, classes stay spread, and nothing later is learned from."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from torch_embers.statistics.splits import (
    near_duplicates,
)

REPORT = "conv2d gives a wrong gradient for channels_last input on cuda when the weight is not contiguous"


@given(st.lists(st.text(max_size=60), max_size=12))
def test_equal_texts_are_always_grouped_and_any_text_is_accepted(texts: list[str]) -> None:
    groups = near_duplicates(texts + texts)
    for place, text in enumerate(texts):
        assert not text.strip() or groups[place] == groups[place + len(texts)]


def test_long_and_many_similar_texts_take_linear_time() -> None:
    start = time.process_time()
    near_duplicates(["error " * 200_000, *(f"{REPORT} case {number} {number * 7919}" for number in range(1_500))])
    assert time.process_time() - start < 20  # about 1 s; quadratic time would be minutes
