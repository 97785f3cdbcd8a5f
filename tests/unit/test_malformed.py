"""Arguments that make no sense: refused, accepted or fatal, and a line for each call that is fatal."""

import pytest

torch = pytest.importorskip("torch")

from torch_embers.oracles import malformed  # noqa: E402 - needs torch


def test_each_variant_differs_in_one_argument_and_covers_every_kind():
    args = [torch.ones(2, 3), torch.tensor([0, 1]), 1, [2, 2]]
    found = list(malformed.variants(args, {"dim": 0}))
    assert {one.kind for one in found} == set(malformed.KINDS)
    for one in found:
        assert len(one.args) == 4
    assert [one.kwargs["dim"] for one in found if one.argument == "dim"] == [-1, 1 << 31, (1 << 62) - 1, -(1 << 62)]


def test_positions_are_written_out():
    tensor = malformed.Tensor((2,), torch.int64, (5, -1))
    assert tensor.text() == "torch.tensor([5, -1], dtype=torch.int64).reshape([2])"
