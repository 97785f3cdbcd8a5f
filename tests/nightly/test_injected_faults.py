"""The injected fault of a case goes through what the case observes: repro/checks/injected_faults.py, tools/injected_faults.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import support

if TYPE_CHECKING:
    import pytest

TOOL: Any = support.tool("injected_faults")


def test_every_shipped_case_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert TOOL.main([]) == 0
    assert capsys.readouterr().out.endswith(" cases, 0 refused, 0 with an exception\n")
