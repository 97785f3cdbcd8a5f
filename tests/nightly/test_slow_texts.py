"""Texts made to be slow: work grows with the length of a text, has an end, and what was left unread is recorded.

8 times the text may take 40 times as long: linear takes 8 times, quadratic 64 times.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import pytest

from helpers.rows import Comment, Commit, Item, put
from support import rows
from torch_embers.extract import reading, sessions
from torch_embers.extract.blocks import blocks
from torch_embers.extract.script import ReportText
from torch_embers.link import relations
from torch_embers.link.components import Components
from torch_embers.link.references import read
from torch_embers.link.update_links import link_changed
from torch_embers.statistics.splits import near_duplicates
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REPO = "pytorch/pytorch"


def repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


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


def blank_lines_and_dots(size: int) -> list[str]:
    return [">>> x", *[""] * size, *["... y"] * size]


@pytest.mark.serial
@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda size: Components.load().by_path("a/" * 20 * size), id="a deep path"),
        pytest.param(lambda size: list(sessions.chunks(blank_lines_and_dots(size))), id="dots behind blank output"),
        pytest.param(
            lambda size: blocks("```\n" + "".join(f"x{n} = torch.ones({n})\n" for n in range(size // 3))),
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
    "indented": "    x = torch.ones(2)\n", "paragraphs": "x\n\n", "heredocs": "python - <<EOF\n", "quotation mark": "'",
    "hashes": "abc1234 revert ", "versions": "[1.7] (", "relands": "reland of the ", "picks": "cherry pick ", "pairs": "#1 and ",
    "device": "x = x.cuda()\n", "conditions": "a if b else ", "surrogates": "\ud800", "escapes": "\x1b[31m",
}  # fmt: skip


@pytest.mark.serial
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_time_grows_with_the_length_of_any_text(unit: str) -> None:
    def work(length: int) -> None:
        text = repeated(unit, length)
        reading.read(ReportText(text, text, ["torch fails " + text[: length // 3]] * 6))
        read(text, repo=REPO, number=1)
        Components.load().by_text(text, text)

    assert grows_with_the_size(work, 8_000)


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


def test_a_text_that_was_not_read_whole_is_a_reject_until_it_is_shorter(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    long = "fixes #1 " + "y" * relations.load().limits.text_chars
    whole = {
        "items": [
            Item(REPO, 5, "pull", "t", long, updated_at="2026-01-01T00:00:00Z"),
            Item(REPO, 6, "pull", "t", "fixes #2"),
        ],
        "comments": [Comment(REPO, 5, "c1", body=long)],
        "commits": [Commit(REPO, "a" * 40, subject="s", message=f"s\n{long}")],
    }
    with store.writer("test", create=True) as writer:
        put(writer, **whole)
    link_changed(store)
    query = "SELECT origin, source, length(raw) FROM rejects ORDER BY origin"
    names = (f"{REPO} comment c1", f"{REPO} commit {'a' * 40}", f"{REPO} item 5")
    assert rows(store.path, query) == [(name, "link", 2_000) for name in names]
    assert rows(store.path, "SELECT DISTINCT number FROM links WHERE relation = 'fixes' AND number IS NOT NULL") != []
    with store.writer("test") as writer:
        put(writer, items=[Item(REPO, 5, "pull", "t", "fixes #1", updated_at="2026-02-01T00:00:00Z")])
    link_changed(store)
    assert [name for name, _, _ in rows(store.path, query)] == list(names[:2])


def test_long_and_many_similar_texts_are_compared_in_linear_time() -> None:
    start = time.process_time()
    near_duplicates(
        [
            "error " * 200_000,
            *(f"conv2d gives a wrong gradient on cuda, case {number} {number * 7919}" for number in range(1_500)),
        ]
    )
    assert time.process_time() - start < 20  # about 1 s; quadratic time would be minutes
