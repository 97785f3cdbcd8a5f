"""Groups stay whole, classes stay spread, and nothing later is learned from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.errors import InputError
from torch_embers.statistics.splits import join_groups, linked_groups, near_duplicates, parse_split, time_split

REPORT = "conv2d gives a wrong gradient for channels_last input on cuda when the weight is not contiguous"


def test_a_repost_with_other_numbers_case_and_spaces_is_the_same_report() -> None:
    other = "  " + REPORT.upper().replace(" ", "  ")
    assert near_duplicates([REPORT + " 1.12", other + " 2.05", "DataLoader hangs at exit"]).tolist() == [0, 0, 1]


def test_reports_of_different_bugs_stay_apart() -> None:
    texts = ["DataLoader hangs at exit", "cumsum overflows at 2**31", "MPS returns nan for softmax", REPORT]
    assert near_duplicates(texts).tolist() == [0, 1, 2, 3]
    assert near_duplicates(["", " ", "", "a", "a"]).tolist() == [0, 1, 2, 3, 3]


def test_groupings_are_joined_along_chains() -> None:
    assert join_groups(["x", "x", "y", "z"], [1, 2, 2, 3]).tolist() == [0, 0, 0, 1]
    assert join_groups([None, None], [None, None]).tolist() == [0, 1]


def test_pairs_group_by_way_of_others() -> None:
    assert linked_groups(5, [(3, 1), (4, 3)]).tolist() == [0, 1, 2, 1, 1]
    assert linked_groups(0, []).tolist() == []


def test_a_split_is_read_from_a_word() -> None:
    assert parse_split("folds") is None
    assert parse_split("time:2023-01-01") == datetime(2023, 1, 1, tzinfo=UTC)
    assert parse_split("time:2023-01-01T02:00+02:00") == datetime(2023, 1, 1, tzinfo=UTC)
    for wrong in ("", "time", "time:", "time:x", "date:2023-01-01", "2023-01-01"):
        with pytest.raises(InputError, match="time:2023-01-01"):
            parse_split(wrong)


def test_a_time_split_learns_nothing_from_later_and_asks_nothing_it_has_seen() -> None:
    cut = datetime(2023, 1, 1, tzinfo=UTC)
    dates = [cut - timedelta(days=2), cut - timedelta(seconds=1), cut, cut + timedelta(days=1), None]
    made = time_split(dates, [1, 2, 3, 2, 4], cut)
    assert (made.train.tolist(), made.test.tolist(), made.undated, made.straddling) == ([0, 1], [2], 1, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: near_duplicates(["a"], similar=0),
        join_groups,
        lambda: join_groups([1], [1, 2]),
        lambda: time_split([None], [1], datetime(2023, 1, 1, tzinfo=UTC)),
        lambda: time_split([], [1], datetime(2023, 1, 1, tzinfo=UTC)),
    ],
)
def test_impossible_splits_are_refused(call) -> None:
    with pytest.raises(InputError):
        call()


@given(st.lists(st.text(max_size=60), max_size=12))
def test_equal_texts_are_always_grouped_and_any_text_is_accepted(texts: list[str]) -> None:
    groups = near_duplicates(texts + texts)
    for place, text in enumerate(texts):
        assert not text.strip() or groups[place] == groups[place + len(texts)]
