"""How alike runs of one start are, and what they are worth."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.statistics.clusters import design_effect, effective_runs, intraclass_correlation


def test_starts_that_are_all_hits_or_none_are_worth_one_run_each() -> None:
    correlation = intraclass_correlation([5, 0, 5, 5, 0, 0], 5)
    assert correlation == pytest.approx(1)
    assert effective_runs(30, correlation or 0, 5) == pytest.approx(6)


def test_independent_runs_are_worth_as_many_as_they_are() -> None:
    generator = random.Random(3)
    hits = [sum(generator.random() < 0.4 for _ in range(5)) for _ in range(4000)]
    correlation = intraclass_correlation(hits, 5)
    assert correlation == pytest.approx(0, abs=0.02)
    assert effective_runs(20, min(correlation or 0, 0), 5) == 20


def test_the_estimate_finds_a_known_correlation() -> None:
    generator = random.Random(5)
    # a beta-binomial with a = b = 1 has the correlation 1 / (a + b + 1)
    hits = [sum(generator.random() < rate for _ in range(6)) for rate in (generator.random() for _ in range(4000))]
    assert intraclass_correlation(hits, 6) == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.parametrize(("hits", "size"), [([3], 5), ([0, 0, 0], 5), ([5, 5], 5), ([1, 0, 1], 1)])
def test_it_is_not_defined_without_two_starts_and_two_kinds_of_outcome(hits: list[int], size: int) -> None:
    assert intraclass_correlation(hits, size) is None


@given(st.lists(st.integers(0, 4), min_size=2, max_size=20))
def test_it_lies_between_its_bounds_and_an_effect_never_adds_runs(hits: list[int]) -> None:
    correlation = intraclass_correlation(hits, 4)
    if correlation is not None:
        assert -1 / 3 - 1e-9 <= correlation <= 1 + 1e-9
        assert 1 <= design_effect(correlation, 4) <= 4 + 1e-9
