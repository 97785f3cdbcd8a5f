"""What a program compiles, hands to other processes or gives as functions stays as it is under an oracle."""

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402 - needs torch
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import torch_embers as embers  # noqa: E402

BOTH = pytest.mark.parametrize("kind", [embers.LayoutOracle, embers.PrecisionOracle])


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
