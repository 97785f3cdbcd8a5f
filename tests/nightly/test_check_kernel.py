"""check_kernel finds each injected fault by name, and leaves correct but awkward kernels alone."""

import re
from pathlib import Path

import pytest

import embedding_kernel
import precision_kernels as kernels
import torch_embers as embers
from helpers.check_kernel import _one_thread, check  # noqa: F401 - fixtures
from torch_embers.oracles.kernel import check_kernel


@pytest.mark.parametrize("kernel", kernels.AWKWARD, ids=lambda kernel: kernel.name)
def test_a_correct_but_awkward_kernel_passes(kernel):
    report = check(kernel)
    assert report.findings == (), report.text()


def test_low_precision_accumulation_is_told_from_other_faults():
    by_name = {kernel.name: kernel for kernel in kernels.FAULTS}
    for name, expected in (("running sum in bf16", "bfloat16"), ("running sum in fp16", "float16")):
        assert check(by_name[name]).accumulation.accumulator == expected
    for name in ("bias added after rounding", "zeros", "last term left out"):
        assert check(by_name[name]).accumulation is None, name


def test_the_fused_embedding_gradient_passes_uniform_tokens_and_is_caught_under_zipf():
    def report_on(kernel):
        return check_kernel(
            kernel,
            embedding_kernel.reference,
            embedding_kernel.make_inputs,
            counts=embedding_kernel.counts,
            sizes=(64, 512, 4096),
            tolerance=(1.6e-2, 1e-2),
            gradients=False,
        )

    report = report_on(embedding_kernel.planted)
    assert "uniform" in report.accumulation.spared
    assert "zipf" in report.accumulation.distributions
    assert report_on(embedding_kernel.honest).findings == ()


def test_the_examples_of_the_page_run():
    page = (Path(__file__).parents[2] / "docs" / "oracles-precision.md").read_text(encoding="utf-8")
    space = {}
    for example in re.findall(r"(?ms)^```python\n(.*?)^```$", page):
        exec(compile(example, "oracles-precision.md", "exec"), space)
    assert space["report"].findings
    assert str(space["operator"]) == "my_kernels.total"  # the kernel that was caught is one of torch.library
    assert space["checked"].verdict == "findings"
    assert space["compiled"].findings == []


def test_a_picture_shows_error_against_count(tmp_path):
    report = check(kernels.FAULTS[1])
    drawn = embers.plot_growth(report, tmp_path, "error")
    assert [path.name for path in drawn] == ["error.svg", "error.png"]
    text = drawn[0].read_text(encoding="utf-8")
    assert all(name in text for name in ("terms per element", "zipf", "increments"))
