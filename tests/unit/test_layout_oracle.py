"""The layout oracle: it finds every injected fault, is quiet about correct kernels, and names the user's line."""

import ast
import itertools
import re

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode  # noqa: E402 - needs torch

from injected_kernels import KERNELS, examined  # noqa: E402 - needs torch
from torch_embers import resources  # noqa: E402
from torch_embers.oracles import compare, repeat, reproducer  # noqa: E402
from torch_embers.oracles.layout import LayoutOracle  # noqa: E402
from torch_embers.oracles.oracle_rules import OracleRules  # noqa: E402
from torch_embers.oracles.precision import PrecisionOracle  # noqa: E402

RULES = resources.load_toml("oracles.toml")


@pytest.fixture(scope="module")
def table():
    return {row["name"]: row for row in examined(RULES)}


@pytest.mark.parametrize("name", [one.name for one in KERNELS])
def test_an_injected_fault_is_found_and_a_correct_kernel_is_not_reported(table, name):
    row = table[name]
    assert row["found"] == ([row["wrong"]] if row["wrong"] else []), row["about"]


def adds_to_copy(x, y):
    x.contiguous().add_(y)
    return x


@pytest.fixture(scope="module")
def broken():
    library = torch.library.Library("embers_layout_test", "DEF")
    library.define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    library.impl("add_", adds_to_copy, "CPU")
    return library, torch.ops.embers_layout_test.add_


def test_a_finding_names_the_line_and_brings_a_case_that_is_python(broken):
    with LayoutOracle(RULES) as oracle:
        broken[1](torch.zeros(40, 30).t(), torch.ones(30, 40))
    (finding,) = oracle.findings
    assert finding.line.startswith(f"{__file__}:")
    assert finding.source == "broken[1](torch.zeros(40, 30).t(), torch.ones(30, 40))"
    assert finding.layouts == ("x: transposed float32[30, 40], strides [1, 30], offset 0", "y: dense float32[30, 40]")
    assert "laid(" in finding.reproducer
    ast.parse(finding.reproducer, feature_version=(3, 8))
    sizes = [int(size) for size in re.findall(r"\((\d+), \d+\)", finding.reproducer)]
    assert max(sizes) <= 4, "it is not shrunk"


def test_the_same_line_is_reported_once(broken):
    with LayoutOracle(RULES, reproduce=False) as oracle:
        for _ in range(3):
            broken[1](torch.zeros(4, 3).t(), torch.ones(3, 4))
    assert len(oracle.findings) == 1
    assert oracle.counts["wrong"] == 3


def test_sampling_and_a_filter_look_at_fewer_calls(broken):
    with LayoutOracle(RULES, every=10, reproduce=False) as sampled:
        for _ in range(200):
            broken[1](torch.zeros(4, 3).t(), torch.ones(3, 4))
    assert 5 <= sampled.counts["repeated"] <= 60
    with LayoutOracle(RULES, ops=["mul"]) as filtered:
        broken[1](torch.zeros(4, 3).t(), torch.ones(3, 4))
    assert filtered.findings == []


def test_the_backward_is_watched(broken):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return broken[1](grad.clone(memory_format=torch.preserve_format), torch.ones(grad.shape))

    x = torch.ones(4, 3, requires_grad=True)
    with LayoutOracle(RULES, reproduce=False) as oracle:
        Twice.apply(x).backward(torch.ones(3, 4).t())
    (finding,) = oracle.findings
    assert (finding.op, finding.severity) == ("embers_layout_test.add_", "wrong_value")
    assert finding.source.startswith("return broken[1](grad.clone(")


def product(x, y, *, out):
    """A matrix product that clears its destination first, and so loses an argument that lies there."""
    out.zero_()
    for column, row in zip(x.t(), y, strict=True):
        out += torch.outer(column, row)
    return out


def test_a_destination_that_is_also_an_argument_is_held_against_one_of_its_own():
    library = torch.library.Library("embers_layout_product", "DEF")
    library.define("product(Tensor x, Tensor y, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("product", product, "CPU")
    square, plain = torch.arange(9.0).reshape(3, 3), torch.arange(9.0).reshape(3, 3)
    with LayoutOracle(RULES) as oracle:
        torch.ops.embers_layout_product.product(square, square, out=square)
    (finding,) = oracle.findings
    assert (finding.op, finding.severity, finding.place) == ("embers_layout_product.product", "wrong_value", "out")
    assert finding.layouts[-1] == "out: dense float32[3, 3], the same as x and y"
    with LayoutOracle(RULES) as oracle:
        plain.add_(plain).mul_(plain).addcmul_(plain, plain).copy_(plain)
        torch.sqrt(plain, out=plain), torch.neg(plain, out=plain), torch.abs(plain, out=plain)
        torch._foreach_add_([plain, plain.clone()], [plain, plain.clone()])
    assert (oracle.findings, oracle.counts["repeated"] >= 7) == ([], True)


def test_a_training_step_is_left_as_it_is():
    def train(*context):
        torch.manual_seed(0)
        model = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        optimizer = torch.optim.Adam(model.parameters(), foreach=True)
        for one in context:
            one.__enter__()
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(2, 5, 16)).pow(2).mean().backward()
            optimizer.step()
        for one in context:
            one.__exit__(None, None, None)
        return [parameter.detach().clone() for parameter in model.parameters()]

    oracle = LayoutOracle(RULES)
    assert all(torch.equal(a, b) for a, b in zip(train(), train(oracle), strict=True))
    assert oracle.findings == []
    assert oracle.counts["repeated"] > 20


def test_rounding_on_the_way_from_whole_numbers_is_no_finding_and_a_wrong_element_is():
    torch.manual_seed(0)
    with LayoutOracle(RULES) as oracle:
        for _ in range(20):
            torch.fft.fftn(torch.randint(-9, 9, (5, 6, 7)).permute(2, 0, 1))
    assert (oracle.findings, oracle.counts["repeated"] > 0) == ([], True)
    exact = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)
    reference = compare.Reference(exact, torch.zeros(3, dtype=torch.float64))
    assert compare.compare(exact.float() + 1e-5, exact.float(), lambda: reference).verdict == compare.HONEST
    assert compare.compare(exact.flip(0).float(), exact.float(), lambda: reference).verdict == compare.WRONG


def test_in_double_precision_terms_that_cancel_leave_no_finding():
    exact = torch.tensor([0.0, 0.5], dtype=torch.float64)
    spread = torch.full((2,), 1e-18, dtype=torch.float64)
    got = exact + 1e-15
    assert compare.compare(got, exact, lambda: compare.Reference(exact, spread)).verdict == compare.HONEST
    assert compare.compare(got + 1e-12, exact, lambda: compare.Reference(exact, spread)).verdict == compare.WRONG


def test_a_tolerance_that_lets_zeros_pass_is_refused():
    got, twin = torch.tensor([1e-3]), torch.tensor([2e-3])
    reference = compare.Reference(torch.tensor([1.5e-3], dtype=torch.float64), torch.tensor([1.0], dtype=torch.float64))
    found = compare.compare(got, twin, lambda: reference)
    assert (found.verdict, found.why) == (compare.REFUSED, "the tolerance would let a tensor of zeros pass")


@pytest.mark.parametrize(
    "entry", [e for key in ("skip", "ties", "alias") for e in RULES[key]], ids=lambda e: e["ops"][0]
)
def test_every_rule_has_a_reason(entry):
    assert len(entry["reason"]) > 20


@pytest.mark.skipif(not hasattr(torch._C, "_TorchDispatchModeKey"), reason="before 2.2 tracers are ordinary modes")
def test_what_is_traced_is_not_looked_at_and_the_graph_stays_as_it_is():
    from torch.fx.experimental.proxy_tensor import make_fx

    def traced():
        return [node.name for node in make_fx(lambda x: x.t().exp() + 1)(torch.ones(2, 3)).graph.nodes]

    alone = traced()
    with LayoutOracle(RULES) as oracle, PrecisionOracle() as precision:
        assert traced() == alone
    assert (oracle.counts["repeated"], precision.checked) == (0, {})


def test_a_case_is_not_shrunk_until_its_destination_has_the_wrong_size():
    def leaves_gaps(x, *, out):
        out.resize_(x.shape)
        memory = out.as_strided((2 * x.numel(),), (1,), out.storage_offset())
        memory.fill_(3.0)
        return out.copy_(x)

    plan = repeat.Plan("embers.leaves_gaps", "out", ("x", "out"), ("out",))
    memory = torch.zeros(200)
    out = memory.as_strided((6, 5), (20, 2), 40)
    problem = repeat.Problem("outside_write", "around out", "memory outside out was changed")
    shrinker = reproducer.Shrinker(leaves_gaps, plan, problem.severity, OracleRules(RULES))
    origin = reproducer.Origin([torch.ones(6, 5)], {"out": out}, plan)
    args, kwargs = shrinker.shrink((origin.args, origin.kwargs))
    assert args[0].size == kwargs["out"].size


def test_what_another_oracle_computes_for_itself_is_not_looked_at():
    x = torch.randn(6, 5).t()
    with LayoutOracle(RULES) as oracle, PrecisionOracle() as precision:
        x.exp(), x @ x.t()
    assert sum(precision.checked.values()) == 2
    assert oracle.counts["repeated"] == 2


def seen_by_step(number, broken, oracle):
    """A loop that calls a broken operator once and steps an optimizer: how many calls were seen in each step."""
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], lr=0.1, foreach=False)
    seen = [0]
    for _ in range(number):
        (parameter * 2).sum().backward()
        broken[1](torch.zeros(4, 3).t(), torch.ones(3, 4))
        optimizer.step()
        seen.append(oracle.counts["seen"])
    return [after - before for before, after in itertools.pairwise(seen)]


def test_of_a_training_whole_steps_are_watched_and_between_them_the_mode_is_off_the_stack(broken):
    on_stack = []
    with LayoutOracle(RULES, every=5, reproduce=False) as oracle:
        seen = seen_by_step(60, broken, oracle)[1:]
        on_stack.append(_get_current_dispatch_mode() is oracle)
    watched = [count for count in seen if count]
    assert 6 <= len(watched) <= 25
    assert len(set(watched)) == 1  # all calls of a step, or none
    assert len(oracle.findings) == 1
    assert _get_current_dispatch_mode() is None
    calls = oracle.counts["seen"]
    seen_by_step(20, broken, oracle)
    assert oracle.counts["seen"] == calls


def test_a_mode_of_the_user_inside_keeps_its_place_while_an_oracle_comes_and_goes(broken):
    class Counting(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return func(*args, **(kwargs or {}))

    with LayoutOracle(RULES, every=2, reproduce=False) as oracle:
        for _ in range(5):
            seen_by_step(3, broken, oracle)
            with Counting() as counting:
                seen_by_step(3, broken, oracle)
                assert _get_current_dispatch_mode() is counting
            assert counting.calls > 10
    assert _get_current_dispatch_mode() is None


def test_two_sampled_oracles_leave_the_stack_as_it_was(broken):
    with LayoutOracle(RULES, every=3, reproduce=False) as layout, PrecisionOracle(every=3) as precision:
        seen_by_step(40, broken, layout)
    assert _get_current_dispatch_mode() is None
    assert layout.counts["wrong"] > 0
    assert sum(precision.checked.values()) > 0
