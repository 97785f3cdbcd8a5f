"""What a program does stays as it is under an oracle: its results, its random numbers, its exceptions, its processes."""

import random
import threading

import pytest

torch = pytest.importorskip("torch")

from torch.optim import optimizer as optimizers  # noqa: E402 - needs torch
from torch.utils._python_dispatch import _get_current_dispatch_mode  # noqa: E402

import torch_embers as embers  # noqa: E402
from torch_embers.oracles import precision, repeat  # noqa: E402

BOTH = pytest.mark.parametrize("kind", [embers.LayoutOracle, embers.PrecisionOracle])


@pytest.fixture(scope="module")
def drawing():
    """Operators of a library that draw numbers without saying so."""
    library = torch.library.Library("embers_drawing_test", "DEF")
    library.define("of_torch(Tensor x) -> Tensor")
    library.define("of_python(Tensor x) -> Tensor")
    library.impl("of_torch", lambda x: x + torch.rand(x.shape), "CPU")
    library.impl("of_python", lambda x: x + random.random(), "CPU")
    yield torch.ops.embers_drawing_test
    library._destroy()


@BOTH
@pytest.mark.parametrize("name", ["of_torch", "of_python"])
def test_an_operator_that_draws_without_saying_so_leaves_the_random_numbers_of_the_program(drawing, kind, name):
    def program():
        torch.manual_seed(0)
        random.seed(0)
        made = getattr(drawing, name)(torch.ones(3, 4).t())
        return made, torch.rand(2), torch.tensor(random.random())

    plain = program()
    with kind() as oracle:
        watched = program()
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))
    assert oracle.findings == []


@BOTH
def test_an_oracle_that_is_entered_twice_leaves_nothing_on_the_stack(kind):
    oracle, hooks = kind(every=3), len(optimizers._global_optimizer_post_hooks)
    with oracle:
        with oracle:
            torch.ones(2, 3).t().bfloat16().sum(0)
        assert _get_current_dispatch_mode() is oracle
    assert _get_current_dispatch_mode() is None
    assert len(optimizers._global_optimizer_post_hooks) == hooks


@BOTH
def test_an_oracle_is_of_one_thread_and_says_so(kind):
    oracle, said = kind(), []

    def enter():
        try:
            with oracle:
                pass
        except RuntimeError as error:
            said.append(str(error))

    with oracle:
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    assert said == ["this oracle watches another thread already: make one for each thread"]
    assert _get_current_dispatch_mode() is None


def test_a_gradient_that_shares_memory_with_itself_does_not_end_the_backward():
    x = torch.randn(3, 4, requires_grad=True)
    with embers.LayoutOracle() as oracle:
        x.masked_fill(x.detach() > 0, 0.0).sum().backward()
    assert torch.equal(x.grad, (x <= 0).float())
    assert oracle.findings == []


def test_values_that_torch_itself_cannot_compare_are_compared():
    x = torch.ones(3, 4, dtype=torch.complex32).t()
    with embers.LayoutOracle() as oracle:
        torch.cat([x, x])
    assert (oracle.findings, oracle.looked()) == ([], {"compared": 1, "refused": []})


@pytest.mark.parametrize(
    ("kind", "module", "name", "why"),
    [
        (embers.LayoutOracle, repeat, "compare", "the comparison fails: no such luck"),
        (embers.PrecisionOracle, precision, "judge_call", "no fp64 reference: RuntimeError"),
    ],
)
def test_what_fails_in_a_comparison_is_counted_and_does_not_reach_the_program(monkeypatch, kind, module, name, why):
    def fail(*_, **__):
        raise RuntimeError("no such luck")

    monkeypatch.setattr(module, name, fail)
    with kind() as oracle:
        assert torch.ones(3, 4).t().add(1).sum().item() == 24.0
    assert {reason for _, reason, _ in oracle.looked()["refused"]} == {why}


@BOTH
def test_an_exception_of_the_call_itself_reaches_the_program(kind):
    with kind() as oracle, pytest.raises(RuntimeError, match="singular"):
        torch.linalg.inv(torch.zeros(3, 3).t())
    assert oracle.findings == []
    assert _get_current_dispatch_mode() is None


def test_a_factor_that_is_rounded_where_two_terms_cancel_is_lossy_and_no_finding():
    torch.manual_seed(0)
    x = torch.randn(4096).bfloat16()
    with embers.PrecisionOracle() as oracle:
        torch.add((x * -0.9), x, alpha=0.9)
    assert oracle.findings == []
    assert oracle.lossy["add"] == 1
