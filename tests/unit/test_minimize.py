"""Minimisation: smaller scripts, the same failure, always an end."""

from __future__ import annotations

import ast
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.timeline_rows import crashed, ended, put
from support import assert_clean_error, example_count, run_embers
from torch_embers.cli.print_runs import print_reduction
from torch_embers.extract.script import Script
from torch_embers.minimize.invented_failures import invents
from torch_embers.minimize.minimize import Minimized, MinimizeError, minimize
from torch_embers.minimize.reduction import PassingError, Reduction, Trial, sides_of
from torch_embers.minimize.shrink import PASSES, apply
from torch_embers.sandbox.runner import RunResult
from torch_embers.timeline.item_script import ItemScript
from torch_embers.timeline.model import Segment, Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch_embers.sandbox.runner import Attempt

pytest.importorskip("pysource_minimize")

SCRIPT = """
import torch
import numpy as np


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 128)
        self.second = torch.nn.Linear(128, 10)

    def forward(self, x):
        return self.second(self.first(x))


model = Model().double()
x = torch.randn(32, 64, dtype=torch.float64, device="cpu")
for epoch in range(100):
    out = model(x)
    print(epoch, out.sum())
values = [1, 2, 3]
raise_here = values[7]
"""


def needs(*words: str) -> Callable[[str], bool]:
    """A test that is passed by every script that still has these words."""
    return lambda text: all(word in text for word in words)


def test_sizes_that_belong_together_shrink_together() -> None:
    made = apply(SCRIPT, "sizes_together", needs("Linear", "randn"))
    numbers = {node.value for node in ast.walk(ast.parse(made)) if isinstance(node, ast.Constant)}
    assert numbers.isdisjoint({64, 128, 32, 100})


def test_loops_get_short_and_types_plain() -> None:
    assert "range(1)" in apply(SCRIPT, "loops", needs("range"))
    made = apply(SCRIPT, "plain_types", needs("randn", "Model()"))
    assert "dtype" not in made
    assert ".double()" not in made


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=example_count(15))
@example(set())
@given(st.sets(st.sampled_from(["Linear", "range(", "randn", "dtype", "64", "double", "values[7]"]), max_size=4))
def test_every_pass_ends_and_keeps_the_script_interesting(name: str, words: set[str]) -> None:
    made = apply(SCRIPT, name, needs(*words))
    assert all(word in made for word in words)
    ast.parse(made)


@pytest.mark.parametrize("text", ["def f(:", "\0", "(" * 3000])
def test_what_is_no_python_is_left_alone(text: str) -> None:
    assert all(apply(text, name, lambda _: True) == text for name in PASSES)


def test_a_script_shrinks_to_what_its_failure_needs() -> None:
    found = minimize(
        SCRIPT, lambda text: "values[7]" in text.replace("values[ 7]", "values[7]") and "values = [" in text
    )
    assert len(found.code) < 60
    assert not found.stopped


def test_a_script_without_a_failure_is_refused_and_the_number_of_tests_is_bounded() -> None:
    with pytest.raises(MinimizeError, match="does not show"):
        minimize(SCRIPT, lambda _: False)
    found = minimize(SCRIPT, needs("values"), most_tests=5)
    assert found.stopped
    assert found.tests <= 5
    assert "values" in found.code
    assert found.code.endswith("\n")
    asked = iter([False] * 20)
    found = minimize(SCRIPT, needs("values"), is_over=lambda: next(asked, True))
    assert found.stopped, "in time, with what it has"
    assert found.tests <= 22
    assert "values" in found.code


def test_a_script_that_fails_only_as_it_is_written_keeps_its_layout() -> None:
    commented = "x = 1  # here\nvalues[7]\n"
    found = minimize(commented, needs("# here"))
    assert found.code == commented
    assert not found.stopped


@pytest.mark.parametrize(
    ("original", "candidate", "invented"),
    [
        ("print(a == b)", "print(False)", True),
        ("print(False)", "print(False)", False),
        ("f(x)", "raise ValueError", True),
        ("assert f(x)", "assert False", True),
        ("f(x)", "f(", True),
        ("f(x, True)", "f(x)", False),
        ("torch.zeros(10)[-11]", "torch.zeros(0)[-1]", True),
        ("torch.tensor([1])[7]", "torch.tensor([])[7]", True),
        ("f([], 0, 2)", "f(0)", False),
        ("torch.manual_seed(0)\nassert not f(x)", "assert 0", True),
        ("assert not f(x)", "assert not x", True),
        ("assert x.y\nassert f(x)", "assert x", True),
        ("assert len(x) == 2\nf(x)", "assert len(x) == 1", True),
        ("f(x)\nassert len(x) == 2", "assert len(x) == 2", False),
        ("def f(x):\n    return x.any()\nassert f(y)", "def f(x):\n    return x\nassert f(y)", True),
        ("torch.LongTensor([1])", "torch.LongTensor(1)", True),
        ("torch.LongTensor(4, 4)", "torch.LongTensor(1)", False),
        ("torch.ones(3)", "torch.empty(3)", True),
        ("np.random.seed(0)", "np.random.seed()", True),
        # 185659: the annotation's name is bound within the function; without its import the error is the script's own
        ("def f():\n    import a\n    def g(x: a.B): pass", "def f():\n    def g(x: a.B): pass", True),
        ("from a import B\nx: B = f()", "x: B = f()", True),
        ("import a.b\nf(a.b.c)", "import a.b\nf(a)", False),
    ],
)
def test_shortcuts_to_the_same_symptom_are_refused(original: str, candidate: str, invented: bool) -> None:
    assert invents(original, candidate) is invented


# ---- what a script does on both sides of a flip ----------------------------------------------------------------------

FLIPS = """
import torch
values = [1, 2, 3]
boom = 1
check = 2
for value in values:
    print(value)
"""


def side(name: str, does: Callable[[str], tuple[str, str]]) -> tuple[Any, Any]:
    """A build, and a runner that ends a text as told: ``ok`` and what it prints, a signal, an error, or a limit."""

    def run(attempts: Sequence[Attempt]) -> list[RunResult]:
        made = []
        for attempt in attempts:
            ended, said = does(attempt.code)
            code, number, how, stderr = {
                "ok": (0, None, "exited", ""),
                "signal": (None, 11, "signalled", ""),
                "error": (1, None, "exited", f"Traceback (most recent call last):\n{said}\n"),
            }.get(ended, (None, None, ended, ""))
            stdout = said if ended == "ok" else ""
            made.append(
                RunResult(attempt.key, code, number, how, "", stdout, stderr, 1.0, 0.0, 0.0, 0, "z", "hostile", (), {})
            )
        return made

    return SimpleNamespace(name=name, public_version=name), SimpleNamespace(run=run)


def report(code: str = FLIPS) -> ItemScript:
    return ItemScript("o/n", 7, Script(code))


def old(code: str) -> tuple[str, str]:
    return ("signal", "") if "boom" in code else ("ok", "fine\n")


def new(code: str) -> tuple[str, str]:
    if "boom" not in code:
        return "ok", "fine\n"
    return ("error", "ValueError: wrong size") if "check" in code else ("error", "RuntimeError: other")


def test_a_small_script_keeps_what_happens_on_both_sides_of_a_flip() -> None:
    trial = Trial(report(), [side("2.6.0", old), side("2.7.1", new)])
    small = minimize(FLIPS, trial.is_interesting).code
    assert "boom" in small
    assert "check" in small, "on the old side alone it would go"
    assert "values" not in small
    assert trial.holds(small, lambda _: False)
    assert not trial.holds("boom = 1", lambda _: False)
    assert trial.shows == "dies by SIGSEGV on 2.6.0 and raises ValueError on 2.7.1"


def test_where_the_last_line_does_not_tell_two_sides_apart_all_lines_are_kept() -> None:
    values = {"2.6.0": "3", "2.7.1": "4"}

    def prints(version: str) -> Callable[[str], tuple[str, str]]:
        return lambda code: ("ok", (f"sum {values[version]}\n" if "check" in code else "") + "done\n")

    trial = Trial(report(), [side(version, prints(version)) for version in values])
    other = FLIPS.replace("check = 2\n", "")
    assert not trial.is_interesting(other)
    alone = Trial(report(), [side("2.7.1", prints("2.7.1"))])
    assert alone.is_interesting(other), "of one build the last line is kept"


@pytest.mark.parametrize("ended", ["timeout", "memory", "sandbox_error"])
@pytest.mark.parametrize("before", [0, 2])
def test_a_script_is_not_refused_for_good_because_of_the_machine(ended: str, before: int) -> None:
    ends = iter(["signal"] * before + [ended] * 3)
    with pytest.raises(PassingError):
        Trial(report(), [side("2.6.0", lambda _: (next(ends), ""))])


def test_what_shows_nothing_to_keep_is_refused() -> None:
    turns = iter(["signal", "ok", "signal"])
    with pytest.raises(MinimizeError, match=r"does not do the same thing twice on 2\.6\.0"):
        Trial(report(), [side("2.6.0", lambda _: (next(turns), ""))])
    with pytest.raises(MinimizeError, match=r"does the same on 2\.6\.0 and 2\.7\.1 here"):
        Trial(report(), [side("2.6.0", old), side("2.7.1", old)])
    with pytest.raises(MinimizeError, match="prints nothing: there is nothing to keep"):
        Trial(report(), [side("2.6.0", lambda _: ("ok", ""))])


def test_the_sides_are_installed_builds_beside_the_newest_flip() -> None:
    builds: Any = [
        SimpleNamespace(public_version=text, order=lambda at=n: at) for n, text in enumerate(("1", "2", "3"))
    ]
    names = [build.public_version for build in builds]

    def sides(*segments: Segment) -> list[str]:
        timeline = Timeline("o/n", 7, "s", "e", segments) if segments else None
        return [build.public_version for build in sides_of(timeline, builds)]

    assert names == ["1", "2", "3"]
    assert sides(crashed("0", "1"), ended("2", "3")) == ["1", "2"]
    assert sides(crashed("1"), replace(crashed("2"), flip="class"), ended("3")) == ["2", "3"]
    assert sides(crashed("1"), replace(crashed("2"), flip="wording")) == [], "wording is no flip to keep"
    assert sides(crashed("0"), ended("2", "3")) == [], "nothing is installed on the other side"
    assert sides() == []


def test_what_came_out_is_said_first_and_of_one_build_the_whole_script_stands_below(
    capsys: pytest.CaptureFixture[str],
) -> None:
    builds: Any = ("2.6.0", "2.7.1")
    both = Reduction(report(), builds, Minimized("boom = 1\n", 9, stopped=False), 1.5, "dies by SIGSEGV on 2.6.0")
    print_reduction(both)
    said = capsys.readouterr().out
    assert said.startswith("o/n#7: 6 lines to 1; it still dies by SIGSEGV on 2.6.0.\n\nboom = 1\n")
    assert "values" not in said
    print_reduction(replace(both, builds=builds[:1]))
    assert FLIPS in capsys.readouterr().out


def test_a_script_without_a_flip_is_refused_unless_a_build_is_named(tmp_path: Path) -> None:
    database = tmp_path / "one.duckdb"
    put(database, 7, [crashed("2.6.0")])
    done = run_embers("research", "minimize", 7, "--database", database, EMBERS_BUILDS_DIR=str(tmp_path))
    assert_clean_error(done, 3, "pytorch/pytorch#7 has no known flip with a build on each side here", "--build NAME")


def test_one_report_or_all_are_named() -> None:
    assert_clean_error(
        run_embers("research", "minimize"), 3, "give the number of one report, or all of them with --all"
    )
    assert_clean_error(
        run_embers("research", "minimize", 7, "--all"), 3, "give the number of one report, or all of them"
    )
