"""What a program does stays as it is under an oracle: its results, its random numbers, its exceptions, its processes."""

import random
import threading

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402 - needs torch
from torch.optim import optimizer as optimizers  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode  # noqa: E402

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


@BOTH
def test_a_call_in_which_other_processes_take_part_is_made_once(kind):
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        values = torch.ones(8)
        with kind() as oracle:
            dist.all_reduce(values[4:])
            dist.broadcast(values.reshape(2, 4).t()[1:], 0)
    finally:
        dist.destroy_process_group()
    assert oracle.findings == []
    assert oracle.looked() == {"compared": 0, "refused": []}


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
@pytest.mark.skipif(not hasattr(TorchDispatchMode, "supports_higher_order_operators"), reason="refused by this torch")
def test_an_operator_that_takes_functions_runs_and_is_told_as_not_seen(kind):
    given = (torch.tensor(1.0) > 0, lambda x: x.sin(), lambda x: x.cos(), (torch.ones(3, 4).t(),))
    with kind() as oracle:
        made = torch.ops.higher_order.cond(*given)
    assert torch.equal(made, torch.ones(4, 3).sin())
    assert oracle.looked()["refused"] == [["cond", "a higher-order operator: its parts are not seen", 1]]


@BOTH
@pytest.mark.skipif(not hasattr(TorchDispatchMode, "ignore_compile_internals"), reason="this torch does not compile")
def test_what_a_program_compiles_is_compiled(kind):
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph

    compiled = torch.compile(lambda x: x.t() + 1, backend=backend, fullgraph=True)
    with kind() as oracle:
        assert torch.equal(compiled(torch.ones(3, 4)), torch.full((4, 3), 2.0))
    assert len(graphs) == 1
    assert oracle.findings == []


@BOTH
def test_an_exception_of_the_call_itself_reaches_the_program(kind):
    with kind() as oracle, pytest.raises(RuntimeError, match="singular"):
        torch.linalg.inv(torch.zeros(3, 3).t())
    assert oracle.findings == []
    assert _get_current_dispatch_mode() is None


def test_a_tensor_that_gets_other_memory_is_not_held_against_wider_memory():
    with embers.PrecisionOracle() as oracle:
        torch.empty(0).set_(torch.ones(8).untyped_storage(), 0, (8,))
    assert (oracle.findings, oracle.looked()["refused"]) == ([], [])


def test_a_factor_that_is_rounded_where_two_terms_cancel_is_lossy_and_no_finding():
    torch.manual_seed(0)
    x = torch.randn(4096).bfloat16()
    with embers.PrecisionOracle() as oracle:
        torch.add((x * -0.9), x, alpha=0.9)
    assert oracle.findings == []
    assert oracle.lossy["add"] == 1
