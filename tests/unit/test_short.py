"""The few lines that show a finding: they fail where the fault is, and are left out where it does not show in them."""

import pytest

torch = pytest.importorskip("torch")

from torch_embers.oracles import reproducer, short  # noqa: E402 - needs torch


def fails(text):
    try:
        exec(compile(text, "short", "exec"), {})
    except AssertionError:
        return True
    return False


def called(source, *args, written=(), names=("x", "y")):
    return short.Called(source, args, {}, names, written, reproducer.literal)


def laid(tensor):
    return reproducer.laid_of(tensor)


@pytest.mark.parametrize("severity", ["wrong_value", "outside_write", "crash", "wrong_gradient"])
def test_a_correct_operator_has_no_script(severity):
    strided = torch.arange(12.0).reshape(3, 4)[:, ::2]
    assert short.write(called("torch.Tensor.add_", laid(strided), 1, written=("x",)), severity) == ""


@pytest.mark.parametrize("operator", ["torch.embers_draws", "torch.linalg.inv"])
def test_a_fault_of_dense_tensors_and_a_call_that_is_refused_show_nothing(monkeypatch, operator):
    monkeypatch.setattr(torch, "embers_draws", lambda x: torch.rand(3), raising=False)
    assert short.write(called(operator, laid(torch.zeros(6)[::2])), "wrong_value") == ""


def test_lazy_and_overlapping_tensors_are_laid_as_they_were(monkeypatch):
    def forgets(x):
        return -x.clone() if x.is_neg() else x.clone()

    monkeypatch.setattr(torch, "embers_forgets", forgets, raising=False)
    lazy = torch.tensor([1 + 2j, 3 + 4j]).conj().imag
    text = short.write(called("torch.embers_forgets", laid(lazy)), "wrong_value")
    assert "torch._neg_view(" in text
    assert fails(text)
    monkeypatch.setattr(torch, "embers_adds", lambda x: x + (x.stride(0) == 0), raising=False)
    text = short.write(called("torch.embers_adds", laid(torch.tensor([5.0]).expand(3))), "wrong_value")
    assert "[torch.arange(" in text
    assert fails(text)


def test_an_argument_without_a_text_and_long_values_give_no_script(monkeypatch):
    monkeypatch.setattr(torch, "embers_odd", lambda x, y: x + x.storage_offset(), raising=False)
    assert short.write(called("torch.embers_odd", laid(torch.ones(9)[2:4]), 1), "wrong_value")
    assert short.write(called("torch.embers_odd", laid(torch.ones(9)[2:4]), object()), "wrong_value") == ""
    assert short.write(called("torch.embers_odd", laid(torch.rand(99)[2:]), 1), "wrong_value") == ""
