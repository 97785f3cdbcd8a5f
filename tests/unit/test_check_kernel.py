"""check_kernel finds each injected fault by name, and leaves correct but awkward kernels alone."""

import pytest
import torch

import precision_kernels as kernels
import torch_embers as embers
from helpers.check_kernel import _one_thread, check, fresh  # noqa: F401 - fixtures
from torch_embers.oracles.draws import DISTRIBUTIONS, Draw
from torch_embers.oracles.kernel import check_kernel
from torch_embers.oracles.measure import UnusableReferenceError


@pytest.mark.parametrize("kernel", kernels.FAULTS, ids=lambda kernel: kernel.name)
def test_an_injected_fault_is_caught_by_name(kernel):
    report = check(kernel)
    assert kernel.expected in [(finding.severity, finding.place) for finding in report.findings], report.text()


@pytest.fixture(scope="module")
def operators():
    """Each kernel as an operator of torch.library that is right in all types but the one of its inputs."""
    library, made = torch.library.Library("embers_precision", "DEF"), {}
    for number, kernel in enumerate(map(fresh, (*kernels.FAULTS, *kernels.AWKWARD))):
        inputs = kernel.inputs(Draw("zipf", 16))
        library.define(f"k{number}({', '.join(f'Tensor a{at}' for at in range(len(inputs)))}) -> Tensor")

        def run(*given, kernel=kernel, own=inputs[0].dtype):
            return (kernel.candidate if given[0].dtype == own else kernel.reference)(*given).clone()

        library.impl(f"k{number}", run, "CPU")
        made[kernel.name] = getattr(torch.ops.embers_precision, f"k{number}")
    yield made
    del library


def under_the_mode(operators, kernel):
    with torch.no_grad(), embers.PrecisionOracle(ops=[str(operators[kernel.name])]) as oracle:
        operators[kernel.name](*kernel.inputs(Draw("zipf", 1024)))
    return oracle.findings


@pytest.mark.parametrize(
    "kernel", [one for one in kernels.FAULTS if "chance" not in one.mode], ids=lambda one: one.name
)
def test_the_mode_catches_the_faults_that_are_those_of_one_operator(operators, kernel):
    found = under_the_mode(operators, kernel)
    assert bool(found) == kernel.mode.startswith("caught"), [one.message for one in found]
    if kernel.expected[0] == "low_precision" and found and kernel.reference is not torch.matmul:
        assert "accumulates in low precision" in found[0].message


@pytest.mark.parametrize("kernel", kernels.AWKWARD, ids=lambda kernel: kernel.name)
def test_the_mode_is_quiet_about_correct_but_awkward_operators(operators, kernel):
    assert under_the_mode(operators, kernel) == []


def test_a_tolerance_that_zeros_pass_and_a_reference_with_a_fixed_type_are_refused():
    kernel = kernels.AWKWARD[0]
    report = check(kernel, tolerance=(1e-2, 1e5))
    assert report.verdict == "refused"
    assert "tensor of zeros" in report.refusals[0]
    with pytest.raises(UnusableReferenceError, match="fp64"):
        check_kernel(kernels.doubled, lambda x: (x * 2).float(), kernels.terms(torch.float32), sizes=(16,))


def test_inputs_leave_the_global_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    for name in DISTRIBUTIONS:
        Draw(name, 32).values(32, 4)
        Draw(name, 32).tokens(32, 8)
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(Draw("zipf", 9, 1).tokens(9, 4), Draw("zipf", 9, 1).tokens(9, 4))


def summed(x):
    return x.sum(-1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"sizes": ()}, "sizes must be whole numbers above zero"),
        ({"sizes": (0, -3)}, "sizes must be whole numbers above zero"),
        ({"sizes": (4.5,)}, "sizes must be whole numbers above zero"),
        ({"distributions": ("nope",)}, "no distribution 'nope': use uniform, normal, zipf"),
        ({"distributions": ()}, "no distribution is given: use uniform"),
    ],
)
def test_what_no_input_can_be_drawn_by_is_refused(words, message):
    with pytest.raises(ValueError, match=message):
        check_kernel(summed, summed, lambda draw: (draw.values(4, draw.n),), **words)


def test_a_tensor_alone_is_one_argument_and_anything_else_is_refused():
    report = check_kernel(summed, summed, lambda draw: draw.values(4, draw.n), sizes=(8,), distributions=("normal",))
    assert report.verdict == "passed"
    with pytest.raises(ValueError, match="make_inputs must give a tuple of arguments, and gave int"):
        check_kernel(summed, summed, lambda _: 5, sizes=(8,), distributions=("normal",))
