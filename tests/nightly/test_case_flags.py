"""Cases that look as if they were about something else than their issue: tools/case_flags.py."""

from __future__ import annotations

from typing import Any

import support
from torch_embers.repro import case as cases
from torch_embers.resources import data_file
from torch_embers.run import perf_cases

TOOL: Any = support.tool("case_flags")


# ---- the cases that ship -------------------------------------------------------------------------------------------


def test_every_doubt_about_a_shipped_case_has_an_exception_and_every_exception_a_doubt() -> None:
    excuses = TOOL.read_excuses(data_file(TOOL.EXCEPTIONS).read_text(encoding="utf-8"))
    bare, stale = TOOL.unexplained(TOOL.flags(cases.shipped(), TOOL.shipped_facts(), perf_cases.all_timed()), excuses)
    assert not bare, "mend the case, cut its link, or give a reason in data/case_flags.toml"
    assert not stale, "take these out of data/case_flags.toml"
