"""Synthesis: operators that a report names, the case of the smallest finding, and what is stored."""

import pytest

from helpers.synthesis import BUILD, CASE, REPORT, found
from torch_embers.repro.named_operators import named_dtypes, named_operators
from torch_embers.run import synthesis

KNOWN = [
    *("masked_fill", "masked_select", "narrow_copy", "sort", "where", "gather", "mm", "linalg.qr", "normal"),
    *("normal.in_place", "nn.functional.nll_loss", "nn.functional.conv_transpose2d", "nn.functional.batch_norm"),
    *("nn.functional.avg_pool3d", "nn.functional.adaptive_max_pool3d", "sparse.mm.reduce"),
    *("aten._int_mm", "aten._fused_sgd_", "aten.lift"),
]


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("masked_fill_ gives other numbers", ["masked_fill"]),
        ("Wrong gradient of `torch.Tensor.masked_select`", ["masked_select"]),
        ("stable `torch.sort` crash", ["sort"]),
        ("I sort my files where I gather them", ["gather"]),
        ("NLLLoss and nn.ConvTranspose2d fail", ["nn.functional.conv_transpose2d", "nn.functional.nll_loss"]),
        ("BatchNorm3d is slow", ["nn.functional.batch_norm"]),
        ("`adaptive_max_pool3d_backward` reads strided", ["nn.functional.adaptive_max_pool3d"]),
        ("aten::narrow_copy", ["narrow_copy"]),
        ("normal_ ignores strides", ["normal.in_place", "normal"]),
        ("torch.linalg.qr of a view", ["linalg.qr"]),
        ("sparse.mm has wrong derivatives", []),
        ("[ATen] I lift nothing", []),
        ("torch._int_mm silent failure on CPU", ["aten._int_mm"]),
        ("`_fused_sgd_` takes other strides", ["aten._fused_sgd_"]),
        ("nothing works", []),
    ],
)
def test_operators_are_found_by_their_names_in_a_title(title, names):
    assert named_operators(title, KNOWN) == names


def test_dtypes_are_found_beside_single_precision():
    assert named_dtypes("bf16 and half-precision sums of complex numbers") == [
        *("float32", "bfloat16", "float16", "complex64")
    ]


def test_the_first_finding_with_a_text_becomes_a_sibling_case_of_the_report():
    case = synthesis.case_of(REPORT, BUILD, [found("outside_write"), found("wrong_value", CASE)])
    assert (case.name, case.origin, case.known_bad) == ("s7", "synthesized", ("2.0.1",))
    assert case.relations == {("pytorch/pytorch", 7): "sibling"}
    assert synthesis.case_of(REPORT, BUILD, [found("wrong_value")]) is None
