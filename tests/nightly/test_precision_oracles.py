"""The precision, device, compiled and timing oracles: what they report, what they refuse."""

import shutil
import sys

import pytest
import torch

import torch_embers as embers
from torch_embers.oracles import compiled, pairs, timing
from torch_embers.oracles.precision import PrecisionOracle

BF16 = torch.bfloat16


def test_honest_operators_are_no_findings():
    torch.manual_seed(0)
    with PrecisionOracle() as oracle:
        for dtype in (BF16, torch.float16, torch.float32):
            x = torch.randn(256, 64).to(dtype).requires_grad_()
            y = torch.nn.functional.softmax(torch.nn.functional.gelu(x @ x.t()[:, :64]), -1)
            (y.sum(0).exp().mean() + x.cumsum(0)[-1].sum()).backward()
    assert oracle.findings == []
    assert sum(oracle.checked.values()) > 30


def drops_multiplication(graph, inputs):
    for node in list(graph.graph.nodes):
        if node.op == "call_function" and "mul" in str(node.target):
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
    graph.recompile()
    return graph.forward


def test_a_compiler_that_drops_an_operation_is_found_and_an_honest_one_is_not():
    oracle = compiled.CompiledOracle("eager")
    x = torch.randn(16)
    assert oracle.check(lambda x: (x * 3).sin(), x, name="sine") == []
    oracle.backend = drops_multiplication
    found = oracle.check(lambda x: (x * 3).sin(), x, name="sine")
    assert {finding.severity for finding in found} == {"wrong_value", "wrong_gradient"}


@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
def test_code_that_inductor_makes_is_compared_and_an_honest_one_is_quiet():
    oracle = embers.CompiledOracle()

    def layer(x, weight):
        return torch.nn.functional.gelu(x @ weight).softmax(-1).sum(0)

    assert oracle.check(layer, torch.randn(16, 8), torch.randn(8, 4)) == []
    assert oracle.findings == []


def test_a_compiler_that_raises_is_a_finding_and_one_that_cannot_run_is_refused():
    def raising(text):
        def backend(graph, inputs):
            def run(*args):
                raise RuntimeError(text)

            return run

        return backend

    oracle = compiled.CompiledOracle(raising("shape"))
    assert [finding.severity for finding in oracle.check(torch.sin, torch.randn(4))] == ["refusal"]
    oracle.backend = raising("No working C++ compiler found")
    with pytest.raises(pairs.CannotCompareError, match="cannot run here"):
        oracle.check(torch.sin, torch.randn(4))


def test_an_interval_covers_the_truth():
    import random

    draw = random.Random(1)
    inside = 0
    for seed in range(60):
        first, second = ([draw.lognormvariate(0, 0.1) for _ in range(15)] for _ in range(2))
        _, low, high = timing.interval(first, second, seed)
        inside += low <= 1 <= high
    assert inside >= 52


def test_too_few_pairs_and_failing_scripts_are_refused(tmp_path):
    with pytest.raises(ValueError, match="at least 6 pairs"):
        timing.TimingOracle("a", "b", pairs=3)
    script = tmp_path / "fails.py"
    script.write_text("raise ValueError('shape')\n")
    with pytest.raises(timing.TimingError, match="ValueError: shape"):
        timing.seconds(sys.executable, str(script), (), 120)
