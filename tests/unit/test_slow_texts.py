"""Texts made to be slow: work grows with the length of a text, has an end, and what was left unread is recorded.

Work is counted in characters read where the code counts them, so that these tests do not depend on the machine. Where
only time tells, 8 times the text may take 40 times as long: linear takes 8 times, quadratic 64 times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.repro import budget, rules
from torch_embers.repro.blocks import blocks
from torch_embers.repro.complete import complete
from torch_embers.repro.extract import ItemText, extract
from torch_embers.repro.shell import scripts

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

REPO = "pytorch/pytorch"


def spent(work: Callable[[], object]) -> int:
    """Characters that some work counts."""
    with budget.limited(10**12, 600) as own:
        work()
    return own.spent


# ---- work that once grew faster than the text ------------------------------------------------------------------------


def test_a_chain_of_device_calls_does_not_double_the_work_with_each_link() -> None:
    def work(links: int) -> int:
        return spent(lambda: complete(f"import torch\nx = torch.ones(2){'.cuda()' * links}\nprint(x)\n"))

    assert work(40) < 20 * work(5)  # 2 ** 35 times before


def test_a_chain_of_device_calls_is_rewritten_whole() -> None:
    made = complete("import torch\nx = torch.ones(2).cuda().cuda(0)\nprint(x)\n")
    assert "torch.ones(2).to(embers_device).to(embers_device)" in made.script


def test_commands_in_a_shell_do_not_each_keep_the_rest_of_the_text() -> None:
    def kept(count: int) -> int:
        found = blocks("```\n" + 'python -c "import torch"\n' * count + "```\n")
        return sum(len(output) for block in found for output in block.outputs)

    assert len(list(scripts('python -c "import torch"\n' * 2000))) == 2000
    assert kept(4000) <= rules.load().limits.blocks * 4000 * 25  # one rest per command before: 200 MB


# ---- what was left unread is recorded --------------------------------------------------------------------------------


def test_an_item_over_its_budget_gets_that_reason_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules.load().limits, "__dict__", {**vars(rules.load().limits), "work_chars": 5_000})
    item = ItemText(REPO, 1, "t", "".join(f"```python\nimport torch\nx{n} = torch.ones({n})\n```\n" for n in range(50)))
    first, second = extract(item), extract(item)
    assert (first.status, first.reason) == ("not_possible", "over_budget")
    assert first.detail == "more than 5,000 characters to read, counting repetitions"
    assert first == second


def test_an_item_that_takes_too_long_gets_that_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules.load().limits, "__dict__", {**vars(rules.load().limits), "work_seconds": 0.0})
    found = extract(ItemText(REPO, 1, "t", "```python\nimport torch\ntorch.ones(1)\n```\n"))
    assert (found.reason, found.detail) == ("over_budget", "more than 0 s")


def test_a_body_that_is_cut_off_is_no_body_without_code() -> None:
    longest = rules.load().limits.text_chars
    found = extract(ItemText(REPO, 1, "t", "word " * (longest // 5 + 10)))
    assert found.reason == "over_budget"
    assert found.detail == f"only the first {longest:,} of {longest // 5 * 5 + 50:,} characters were read"
    assert extract(ItemText(REPO, 1, "t", "word " * 1000)).reason == "prose_only"


def test_a_script_before_the_cut_counts() -> None:
    script = "```python\nimport torch\nprint(torch.ones(2).sum())\n```\n"
    found = extract(ItemText(REPO, 1, "t", script + "word " * 100_000))
    assert found.status == "runnable"


def test_the_budget_of_one_item_is_no_burden_on_the_next() -> None:
    with budget.limited(1_000, 60) as outer:
        extract(ItemText(REPO, 1, "t", "word " * 1000))
        assert outer.spent == 0
    budget.spend(10**12)  # outside of an item nothing is counted
