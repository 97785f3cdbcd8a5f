"""Arguments that make no sense: refused, accepted or fatal, and a line for each call that is fatal."""

import os
import signal

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


def dies(x, number):
    if number < 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    if x.dim() != 2:
        raise RuntimeError("two axes, please")
    return x


def test_calls_are_refused_accepted_or_fatal_and_the_others_go_on():
    calls = [lambda: dies(torch.ones(1, 1), 1), lambda: dies(torch.ones(1, 1), -1), lambda: dies(torch.ones(1), 0)]
    assert malformed.outcomes(calls) == ["accepted", "SIGSEGV", "refused"]


def test_a_call_without_an_end_is_named_so_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(malformed, "SECONDS", 0.1)

    def endless():
        while True:
            pass

    assert malformed.outcomes([endless, lambda: 1]) == [malformed.ENDLESS, "accepted"]


def test_a_fatal_call_is_made_small_and_repeated(monkeypatch):
    monkeypatch.setattr(torch, "embers_dies", dies, raising=False)
    tried, (death,) = malformed.deaths(dies, "torch.embers_dies", [torch.randn(7, 5), 3], {})
    assert (death.kind, death.argument, death.ended) == ("number", "argument 1", "SIGSEGV")
    assert death.line == "torch.embers_dies(torch.full([1, 1], 0, dtype=torch.float32), -1)"
    assert sum(how == "SIGSEGV" for _, how in tried) == 2
