"""check_kernel finds each injected fault by name, and leaves correct but awkward kernels alone."""

import re
from pathlib import Path

import pytest
import torch

import precision_kernels as kernels
import torch_embers as embers
from helpers.check_kernel import (
    _one_thread,  # noqa: F401 - fixtures
    check,
)


@pytest.mark.parametrize("kernel", kernels.AWKWARD, ids=lambda kernel: kernel.name)
def test_a_correct_but_awkward_kernel_passes(kernel):
    report = check(kernel)
    assert report.findings == (), report.text()


def test_low_precision_accumulation_is_told_from_other_faults():
    by_name = {kernel.name: kernel for kernel in kernels.FAULTS}
    for name, expected in (("running sum in bf16", "bfloat16"), ("running sum in fp16", "float16")):
        found = check(by_name[name], counts=lambda terms: torch.full(terms.shape[1:], len(terms)))
        assert found.accumulation.accumulator == expected
    found = check(by_name["gradient alone summed in bf16"])
    assert "accumulates in low precision: with" in found.text(), "each row gets fewer terms than there are inputs"
    for name in ("bias added after rounding", "zeros", "last term left out"):
        assert check(by_name[name]).accumulation is None, name


def test_the_embedding_gradient_passes_evenly_spread_tokens_and_is_caught_under_zipf():
    report = check(kernels.FAULTS[0])
    assert all(one.passed for one in report.usual if one.distribution == "uniform" and one.place == "result")
    assert "uniform" in report.accumulation.spared
    assert "zipf" in report.accumulation.distributions


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
