"""From an item's texts to one script with its edits and its expected failure, or to one reason."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers.repro import rules
from torch_embers.repro.extract import ItemText, extract
from torch_embers.repro.repair import try_parse

PIECES = st.sampled_from(
    [
        "```python\nimport torch\nx = torch.ones(2)\n```",
        "```\nprint(x.sum())\n```",
        "```\n>>> torch.randn(2)\ntensor([1., 2.])\n```",
        "```\nRuntimeError: no\n```",
        "It is wrong.",
        "    y = torch.zeros(3).cuda()\n    print y",
        "```cpp\n#include <a>\n```",
        "```\nclass M(nn.Module):\n    def forward(self, x): return x\n```",
        "```\nM()(x)\n```",
        "```",
        "\u0000\ud800 <!--",
        "`torch.sum(torch.ones(0))`",
    ]
)


@pytest.mark.parametrize(
    "line",
    [
        f"x = {'-' * 50_000}1",
        f"x = {'lambda: ' * 7_000}1",
        f"x = {'1 if 1 else ' * 4_000}1",
        f"x = {'(' * 20_000}1{')' * 20_000}",
        f"x = f{'()' * 20_000}",
        f"x = 1{'+1' * 20_000}",
        "\n".join(f"{' ' * depth}if 1:" for depth in range(300)),
        f"x = {'[' * 50}1{' for a in b]' * 50}",
        "x = 9**9**9**9",
    ],
)
def test_code_that_is_made_to_exhaust_parsers_gets_a_reason_or_a_script(line: str) -> None:
    found = extract(
        ItemText("a/b", 1, "sum returns a wrong value", f"```python\nimport torch\n{line}\nprint(1)\n```\n")
    )
    assert found.status == "runnable" or found.reason in rules.load().reasons


@settings(max_examples=example_count(60))
@given(st.lists(PIECES, max_size=6), st.lists(PIECES, max_size=2), st.text(max_size=30))
def test_any_item_is_runnable_or_has_a_listed_reason(body: list[str], comments: list[str], title: str) -> None:
    found = extract(ItemText("a/b", 1, title, "\n".join(body), comments))
    if found.status == "runnable":
        assert not found.reason
        ast.parse(found.script)
        assert all(edit.action in rules.load().actions for edit in found.edits)
    else:
        assert found.reason in rules.load().reasons
        assert not found.script
    assert found.found_in or found.status == "not_possible"
    assert try_parse(found.script) is not None
