"""A refusal counts as right behaviour only with the expected type and message."""

from __future__ import annotations

from torch_embers.repro import case as cases
from torch_embers.repro.checks import refusals


def test_every_shipped_case_names_its_refusals_or_has_a_reason() -> None:
    assert refusals.check(cases.shipped()) == []
