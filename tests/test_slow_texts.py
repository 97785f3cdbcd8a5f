"""Texts made to be slow: work grows with the length of a text, has an end, and what was left unread is recorded.

Work is counted in characters read where the code counts them, so that these tests do not depend on the machine. Where
only time tells, 8 times the text may take 40 times as long: linear takes 8 times, quadratic 64 times.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import pytest

from support import rows
from torch_embers.link import relations
from torch_embers.link.components import Components
from torch_embers.link.references import read
from torch_embers.link.stage import link_changed
from torch_embers.repro import budget, expectation, rules, sessions
from torch_embers.repro.blocks import blocks
from torch_embers.repro.complete import complete
from torch_embers.repro.expectation import PrintedOutput, infer
from torch_embers.repro.extract import ItemText, extract
from torch_embers.repro.shell import scripts
from torch_embers.store.records import Batch, Comment, Commit, Item
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REPO = "pytorch/pytorch"


def repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def spent(work: Callable[[], object]) -> int:
    """Characters that some work counts."""
    with budget.limited(10**12, 600) as own:
        work()
    return own.spent


def seconds(work: Callable[[], object], rounds: int = 4) -> float:
    """Processor time of this thread, the best of some rounds, without that of the collection of old objects."""
    times = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            start = time.thread_time()
            work()
            times.append(time.thread_time() - start)
    finally:
        gc.enable()
    return min(times)


def grows_with_the_size(work: Callable[[int], object], small: int) -> bool:
    """Whether eight times as much takes less than 40 times as long; asked again where once it did not."""
    work(100)  # rules are read once
    limit = 40 * max(seconds(lambda: work(small)), 0.002)
    return any(seconds(lambda: work(8 * small), 1) < limit for _ in range(3))


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


def test_many_scripts_are_held_against_the_same_outputs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    original = expectation.from_traceback
    monkeypatch.setattr(expectation, "from_traceback", lambda text: seen.append(text) or original(text))
    outputs = [PrintedOutput(f"unseen output number {number}") for number in range(30)]
    for script in range(20):
        infer(outputs, f"x = {script}", "some prose", "some title")
    assert len(seen) == 30


def blank_lines_and_dots(size: int) -> list[str]:
    return [">>> x", *[""] * size, *["... y"] * size]


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda size: Components.load().by_path("a/" * 20 * size), id="a deep path"),
        pytest.param(lambda size: list(sessions.chunks(blank_lines_and_dots(size))), id="dots behind blank output"),
        pytest.param(lambda size: list(scripts("python -c 'x\n" * size)), id="commands without an end"),
        pytest.param(lambda size: list(scripts('python -c "x"\n' * size)), id="commands"),
        pytest.param(lambda size: list(blocks("```\n" + "python <<E\nimport x\nE\n" * size)), id="heredocs"),
        pytest.param(
            lambda size: complete("import torch\n" + "".join(f"x{n} = torch.ones({n})\n" for n in range(size // 3))),
            id="many names",
        ),
    ],
)
def test_time_grows_with_the_size(work: Callable[[int], object]) -> None:
    assert grows_with_the_size(work, 800)


UNITS = {
    "prompts": ">>> x\n", "prompts with output": ">>> f(1)\n1\n", "cells": "In [1]: x\nOut[1]: 3\n",
    "a list of fixes": "fixes #1, ", "a list": "#1, ", "keywords above numbers": "fix\n#1\n", "quotes": "> > > ",
    "fences": "```\n", "two fences": "```\n~~~\n", "back-ticks": "`", "inline": "`a``b```c", "details": "<details>",
    "pre": "<pre>\n", "comments": "<!--", "a table": "| a | b |\n", "a line": "a", "blanks": " ", "lines": "\n",
    "capital letters": "\u0130", "emoji": "\U0001f600", "no width": "\u200b", "frames": '  File "x", line 1\n',
    "frames with source": '  File "x.py", line 1, in f\n    foo()\n', "tracebacks": "Traceback (most recent call last):\n",
    "errors": "RuntimeError: x\n", "dots": "a.b.c.", "addresses": "https://", "repositories": "a/b#1 ", "paths": "/a",
    "prints": 'print "a"\n', "bad lines": "x = = 1\n", "prose": "the quick brown fox ", "quoted": '"', "nul": "\0",
    "reverts": 'revert "', "stacks": "stack from x\n* #1\n", "commands": 'python -c "import torch"\n', "calls": "f(",
    "device": "x = x.cuda()\n", "conditions": "a if b else ", "surrogates": "\ud800", "escapes": "\x1b[31m",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_time_grows_with_the_length_of_any_text(unit: str) -> None:
    def work(length: int) -> None:
        text = repeated(unit, length)
        extract(ItemText(REPO, 1, text, text, ["torch " + text[: length // 3]] * 6))
        read(text, repo=REPO, number=1)
        Components.load().by_text(text, text)

    assert grows_with_the_size(work, 8_000)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["the quick brown fox ", ">>> x\n"])
def test_a_megabyte_is_over_the_budget(unit: str) -> None:
    text = repeated(unit, 1_000_000)
    found = extract(ItemText(REPO, 1, text, text, ["torch " + text[:300_000]] * 6))
    assert (found.status, found.reason) == ("not_possible", "over_budget")


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


def test_references_are_read_up_to_the_limits_and_the_rest_is_named() -> None:
    limits = relations.load().limits
    short = read("fixes #1", repo=REPO, number=9)
    assert (len(short.references), short.unread) == (1, "")
    long = read("fixes #1 " + "x" * limits.text_chars + " fixes #2", repo=REPO, number=9)
    assert [r.target_number for r in long.references] == [1]
    assert "characters were read for references" in long.unread
    many = read(" ".join(f"#{n}" for n in range(1, limits.references + 100)), repo=REPO, number=10**6)
    assert many.unread == f"only the first {limits.references:,} references were read"
    assert [r.target_number for r in many.references] == list(range(1, limits.references + 1))


@pytest.mark.slow
def test_a_text_that_was_not_read_whole_is_a_reject_until_it_is_shorter(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    long = "fixes #1 " + "y" * relations.load().limits.text_chars
    whole = Batch(
        items=[
            Item(REPO, 5, "pull", "t", long, updated_at="2026-01-01T00:00:00Z"),
            Item(REPO, 6, "pull", "t", "fixes #2"),
        ],
        comments=[Comment(REPO, 5, "c1", body=long)],
        commits=[Commit(REPO, "a" * 40, subject="s", message=f"s\n{long}")],
    )
    with store.writer("test", create=True) as writer:
        writer.commit(whole)
    link_changed(store)
    query = "SELECT origin, source, length(raw) FROM rejects ORDER BY origin"
    names = (f"{REPO} comment c1", f"{REPO} commit {'a' * 40}", f"{REPO} item 5")
    assert rows(store.path, query) == [(name, "link", 2_000) for name in names]
    assert rows(store.path, "SELECT DISTINCT number FROM links WHERE relation = 'fixes' AND number IS NOT NULL") != []
    with store.writer("test") as writer:
        writer.commit(Batch(items=[Item(REPO, 5, "pull", "t", "fixes #1", updated_at="2026-02-01T00:00:00Z")]))
    link_changed(store)
    assert [name for name, _, _ in rows(store.path, query)] == list(names[:2])
