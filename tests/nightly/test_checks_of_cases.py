"""What the checks of cases say of those that ship: each passes, or has an exception with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import support
from torch_embers.repro import case as cases
from torch_embers.repro.checks import refusals
from torch_embers.resources import data_file
from torch_embers.run import perf_cases

if TYPE_CHECKING:
    import pytest


def test_every_shipped_case_names_its_refusals_or_has_a_reason() -> None:
    assert refusals.check(cases.shipped()) == []


def test_the_injected_fault_of_every_shipped_case_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert support.tool("injected_faults").main([]) == 0
    assert capsys.readouterr().out.endswith(" cases, 0 refused, 0 with an exception\n")


def test_every_doubt_about_a_shipped_case_has_an_exception_and_every_exception_a_doubt() -> None:
    tool: Any = support.tool("case_flags")
    excuses = tool.read_excuses(data_file(tool.EXCEPTIONS).read_text(encoding="utf-8"))
    bare, stale = tool.unexplained(tool.flags(cases.shipped(), tool.shipped_facts(), perf_cases.all_timed()), excuses)
    assert not bare, "mend the case, cut its link, or give a reason in data/case_flags.toml"
    assert not stale, "take these out of data/case_flags.toml"
