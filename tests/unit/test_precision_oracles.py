"""The precision, device, compiled and timing oracles: what they report, what they refuse."""

import ast
from pathlib import Path

import pytest
import torch

import precision_kernels as kernels
from torch_embers.oracles import device, numerics, pairs, timing
from torch_embers.oracles.growth import Point, accumulation, simulated
from torch_embers.oracles.kernel import statement_of
from torch_embers.oracles.precision import PrecisionOracle, judge

ORACLES = Path(numerics.__file__).parent
BF16 = torch.bfloat16


def hot_tokens(n=2048, rows=16):
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(0, rows, (n,), generator=generator)
    return torch.where(torch.rand(n, generator=generator) < 0.5, torch.tensor(3), tokens)


def test_oracles_keep_to_the_syntax_of_python_38():
    for path in sorted(ORACLES.glob("*.py")):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 8))


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [(BF16, 1.0, 2**-7), (BF16, 255.0, 1.0), (torch.float16, 1.5, 2**-10), (torch.float32, 1e-3, 2**-33)],
)
def test_a_ulp_is_the_distance_to_the_next_number(dtype, value, expected):
    assert float(numerics.ulp(torch.tensor([value]).double(), dtype)[0]) == expected


@pytest.mark.filterwarnings("ignore:.*other operators may also be overridden:UserWarning")
def test_the_mode_finds_an_operator_that_sums_in_bf16_with_the_line():
    def summed(gradient, tokens, *_):
        return (kernels.scatter_in_bf16 if gradient.dtype is BF16 else kernels.scatter)(gradient, tokens)

    torch.manual_seed(0)
    table = torch.nn.Embedding(kernels.ROWS, kernels.WIDTH).to(BF16)
    cotangent = torch.randn(2048, kernels.WIDTH).to(BF16)
    library = torch.library.Library("aten", "IMPL")
    library.impl("embedding_dense_backward", summed, "CPU")
    try:
        with PrecisionOracle() as oracle:
            table(hot_tokens()).backward(cotangent)
    finally:
        library._destroy()
    (finding,) = oracle.findings
    assert (finding.severity, finding.dtype) == ("low_precision", "bfloat16")
    assert finding.op == "aten.embedding_dense_backward"
    assert finding.source == "table(hot_tokens()).backward(cotangent)"
    assert "accumulates in low precision" in finding.message
    assert finding.difference.ulps > 8


def test_the_mode_names_the_result_that_loses_and_the_dimension_along_which_it_grows():
    def doubled_and_summed(x):
        return x * 2, (kernels.running(BF16) if x.dtype is BF16 else kernels.total)(x)

    library = torch.library.Library("embers_sums", "DEF")
    library.define("doubled_and_summed(Tensor x) -> (Tensor, Tensor)")
    library.impl("doubled_and_summed", doubled_and_summed, "CPU")
    x = torch.rand(2048, 16, generator=torch.Generator().manual_seed(0)).to(BF16)
    with PrecisionOracle() as oracle:
        torch.ops.embers_sums.doubled_and_summed(x)
    (finding,) = oracle.findings
    assert (finding.op, finding.place) == ("embers_sums.doubled_and_summed", "result 1")
    assert "grows along the dimension of 2048 elements: it accumulates in low precision" in finding.message


@pytest.mark.parametrize("dtype", [torch.float32, BF16, torch.float16, torch.complex64])
@pytest.mark.parametrize("spread", [0.25, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e-3, 1.0, 1e30])
def test_what_the_first_look_lets_pass_is_no_finding_of_the_whole_judgement(dtype, spread, scale):
    draw = torch.Generator().manual_seed(7)
    exact = torch.randn(64, generator=draw, dtype=torch.float64) * scale
    exact[:4] *= torch.tensor([0.0, 1e-6, 1e3, 1.0], dtype=torch.float64)
    noise = torch.randn(64, generator=draw, dtype=torch.float64) * torch.finfo(dtype).eps * spread
    result = (exact * (1 + noise)).to(dtype)
    reference = exact.to(torch.complex128) if dtype.is_complex else exact
    passed = numerics.plainly_honest(result, reference, 64, 8.0)
    assert passed or not (spread < 1 and scale in (1e-3, 1.0))  # an honest result does not go the long way
    if passed:
        whole = judge(result, reference, count=64)
        assert whole.excess <= 8.0
        assert not whole.refusal


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf")])
def test_the_first_look_leaves_numbers_that_are_none_to_the_whole_judgement(odd):
    good, bad = torch.ones(4), torch.tensor([1.0, odd, 1.0, 1.0])
    assert numerics.plainly_honest(good, good.double(), 1, 8.0)
    assert not numerics.plainly_honest(bad, good.double(), 1, 8.0)
    assert not numerics.plainly_honest(good, bad.double(), 1, 8.0)


def test_the_mode_looks_at_the_named_operators_and_at_each_nth_call():
    with PrecisionOracle(ops=["aten.exp"], every=3) as oracle:
        for _ in range(7):
            torch.randn(4).exp().log()
    assert dict(oracle.checked) == {"exp": 3}


def test_a_quotient_that_is_cut_to_a_whole_number_is_a_step_and_no_finding():
    with PrecisionOracle() as oracle:
        for mode in ("trunc", "floor"):
            torch.div(torch.tensor([8.25], dtype=BF16), torch.tensor([0.4590], dtype=BF16), rounding_mode=mode)
        torch.floor_divide(torch.tensor([17.99]), torch.tensor([1.0]))
    assert (oracle.findings, oracle.skipped["a step: rounding the quotient may cross it"]) == ([], 3)


def test_the_mode_changes_nothing_that_the_program_sees():
    def step():
        torch.manual_seed(3)
        x = torch.randn(32, 8)
        x.add_(1).mul_(torch.rand(8))
        return x, torch.rand(2)

    plain = step()
    with PrecisionOracle():
        watched = step()
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))


def test_a_value_that_only_rounds_is_honest_and_zeros_for_cancelled_terms_are_refused():
    exact = torch.tensor([1.0 + 2**-9], dtype=torch.float64)
    assert judge(exact.to(BF16), exact).excess <= 1
    assert judge(torch.tensor([1.0], dtype=BF16), exact + 1).excess > 8
    tiny = torch.tensor([1e-9], dtype=torch.float64)
    blind = judge(torch.zeros(1), tiny, sensitivity=torch.tensor([1e-7]).double())
    assert "zero tensor" in blind.refusal


def test_a_finite_value_for_an_infinite_one_is_wrong_and_an_overflow_of_the_type_is_not():
    exact = torch.tensor([1e6, float("inf")], dtype=torch.float64)
    assert judge(torch.tensor([float("inf"), float("inf")], dtype=torch.float16), exact).excess <= 1
    assert judge(torch.tensor([float("inf"), 60000.0], dtype=torch.float16), exact).excess == float("inf")


def line(errors, distribution="zipf", honest=1e-3):
    return [Point(distribution, 4096, 4.0**k, error, honest, 64) for k, error in enumerate(errors, 2)]


def test_growth_alone_makes_an_accumulator():
    growing, constant = (1.5e-3, 3e-3, 6e-3, 1.2e-2), (1.2e-2,) * 4
    assert accumulation(line(constant), counted=True) is None
    assert accumulation(line(growing, "uniform"), counted=True) is None  # shows at skewed inputs, or is something else
    assert accumulation(line([error * 1e3 for error in growing]), counted=True) is None  # more than any loses


@pytest.mark.parametrize(
    ("distribution", "factor", "counted", "named"),
    [
        ("zipf", 1, True, "bfloat16"),
        ("zipf", 0.1, True, "float16"),
        ("zipf", 0.1, False, ""),  # a bf16 sum of fewer terms than the inputs have errs as little
        ("zipf", 0.01, True, ""),  # less than both lose
        ("increments", 1, True, ""),  # both lose them all
    ],
)
def test_an_accumulator_is_named_only_where_one_type_loses_as_much_on_a_known_number_of_terms(
    distribution, factor, counted, named
):
    lost = [simulated(distribution, 4**k, BF16) * factor for k in (2, 3, 4, 5)]
    found = accumulation(line(lost, distribution, honest=1e-6), counted=counted)
    assert found.accumulator == named
    assert ("as a sum in" in statement_of(found)) == bool(named)


def test_two_sides_are_judged_by_the_truth():
    x = torch.randn(64)
    truth = pairs.truth_of(torch.exp, (x,), gradients=False)
    right, wrong = {"result": x.exp()}, {"result": x.exp() * 1.001}
    (finding,) = pairs.differing("device", "exp", truth, (("cpu", right), ("mps", wrong)))
    assert finding.message == "exp: result is wrong with mps and right with cpu"
    assert (
        pairs.differing("device", "exp", truth, (("cpu", right), ("mps", {"result": x.double().exp().float()}))) == []
    )
    assert pairs.differing("device", "exp", truth, (("cpu", wrong), ("mps", wrong))) == []


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(device, "present", tuple)
    with pytest.raises(pairs.CannotCompareError, match="needs cuda or mps"):
        device.DeviceOracle()
    with pytest.raises(pairs.CannotCompareError, match="cannot use cuda here"):
        device.DeviceOracle("cuda")


def test_a_tensor_keeps_its_layout_on_the_way_to_a_device():
    x = torch.arange(24.0).view(4, 6)[1:, ::2].t()
    there = device.moved_to(x, "cpu")
    assert torch.equal(there, x)
    assert (there.stride(), there.storage_offset()) == (x.stride(), x.storage_offset())
    assert device.compare_devices(lambda x: x.sin(), (x,), "cpu", gradients=True, name="sin") == []


FIRST = [1.0, 1.02, 0.99, 1.01, 1.0, 0.98, 1.03, 1.0]


def test_times_give_a_verdict_with_what_could_have_been_seen():
    slower = timing.judge_times(FIRST, [1.3 * t for t in FIRST])
    assert (slower.verdict, round(slower.ratio, 2)) == ("slower", 1.3)
    assert timing.judge_times(FIRST, [t / 1.3 for t in FIRST]).verdict == "faster"
    same = timing.judge_times(FIRST, FIRST[::-1])
    assert same.verdict == "no difference shown"
    assert "could have seen" in same.text()
    assert timing.judge_times(FIRST, [1.03 * t for t in FIRST]).verdict == "no difference shown"  # within the margin


def test_runs_are_interleaved_and_the_order_alternates():
    order = []

    def run(python):
        order.append(python)
        return 2.0 if python == "b" else 1.0

    oracle = timing.TimingOracle("a", "b", pairs=6)
    assert oracle.check("step.py", run=run).verdict == "slower"
    assert "".join(order) == "ab" + "abba" * 3
    assert [finding.severity for finding in oracle.findings] == ["slow"]


def test_a_function_that_draws_is_not_compared_over_devices(monkeypatch):
    monkeypatch.setattr(device, "moved_to", lambda x, place: x + 1 if place == "cpu:0" else x)

    def seeded(x):  # the device draws other numbers
        torch.manual_seed(int(x.sum()))
        return torch.rand(8)

    with pytest.raises(pairs.CannotCompareError, match="seeded draws random numbers"):
        device.compare_devices(seeded, (torch.ones(8),), "cpu:0", gradients=False, name="seeded")
    found = device.compare_devices(torch.sin, (torch.ones(8),), "cpu:0", gradients=True, name="sin")
    assert [one.message for one in found] == [
        "sin: result is wrong with cpu:0 and right with cpu",
        "sin: gradient of argument 0 is wrong with cpu:0 and right with cpu",
    ]
