"""Findings cross a process as lines of JSON."""

import pytest

from torch_embers.oracles import finding
from torch_embers.oracles.finding import Difference, Finding

ADDCMUL = Finding(
    oracle="layout",
    op="aten.addcmul_",
    overload="default",
    severity="wrong_value",
    message="addcmul_ ignores the strides of self",
    layouts=("self: transposed float32[3, 4]",),
    dtype="float32",
    device="cpu",
    place="self",
    difference=Difference((0, 1), "0", "1.5", 1e7, 1.0, 1e-7, 11, 12),
    line="train.py:12",
    source="optimizer.step()",
)


def test_a_finding_survives_the_way_through_an_output():
    text = f"epoch 1\n{ADDCMUL.dump()}\nembers-finding {{broken\nembers-finding {{}}\n"
    assert finding.read(text) == [ADDCMUL]


def test_a_finding_without_a_known_severity_is_refused():
    with pytest.raises(ValueError, match="no severity"):
        finding.parse({**ADDCMUL.row(), "severity": "odd"})


def test_a_description_names_line_layout_and_worst_element():
    text = finding.describe(ADDCMUL)
    assert text.splitlines()[1:] == [
        "    at train.py:12: optimizer.step()",
        "    self: transposed float32[3, 4]",
        "    self: got 0, expected 1.5, 1e+07 ulps at [0, 1]; 11 of 12 elements",
    ]
