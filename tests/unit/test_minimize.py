"""Minimisation: smaller scripts, the same failure, always an end."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support import assert_clean_error, case_text, example_count, run_embers
from torch_embers.oracles.signature import Signature
from torch_embers.repro.case import parse
from torch_embers.repro.minimize import MinimizeError, minimize
from torch_embers.repro.shortcuts import called, invents, subjects
from torch_embers.repro.shrink import PASSES, apply
from torch_embers.run import reduction
from torch_embers.run.reduction import is_same
from torch_embers.run.verdict import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    assert sum(step.tests for step in found.steps) + 1 == found.tests


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


def test_the_functions_that_the_title_names_are_the_subject() -> None:
    script = "import torch\nx = torch.arange(3, out=y)\nprint(x.shape)\nnn.Embedding(3, 3)"
    assert subjects("arange sometimes changes the shape; print it", script) == {"arange", "print"}
    assert subjects("nothing of it", script) == frozenset()
    assert called("not Python (") == frozenset()


def seen(kind: str, name: str, message: str, place: str, outcome: str = "reproduced") -> Observation:
    return Observation(outcome, Signature(kind, name, message, place), "")  # type: ignore[arg-type]


def test_the_same_failure_has_the_same_class_message_and_frame_of_torch() -> None:
    one = seen("exception", "RuntimeError", "size N", "functional.py:linear")
    assert is_same(one, seen("exception", "RuntimeError", "size N", "functional.py:linear"))
    assert not is_same(one, seen("exception", "RuntimeError", "other", "functional.py:linear"))
    assert not is_same(one, seen("exception", "RuntimeError", "size N", "functional.py:conv2d"))
    assert not is_same(one, seen("exception", "ValueError", "size N", "functional.py:linear"))
    assert not is_same(one, seen("exception", "RuntimeError", "size N", "functional.py:linear", "not_reproduced"))
    own = seen("exception", "IndexError", "list", "x1.py:helper")
    assert is_same(own, seen("exception", "IndexError", "list", "x1.py:<module>"))


TOLD = {
    "exited": "IndexError: list index out of range",
    "refused": "RuntimeError: [enforce fail at alloc_cpu.cpp:73] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes",
}


class Ran:
    """A runner of which each run ends as told, the last one over and over."""

    def __init__(self, *ends: str) -> None:
        self.ends = list(ends)

    def __enter__(self) -> Ran:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, attempts: Sequence[Attempt]) -> list[Any]:
        told = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        stderr = f'Traceback (most recent call last):\n  File "x1.py", line 2, in <module>\n    [][1]\n{TOLD.get(told, "")}\n'
        ended = {"key": attempts[0].key, "ended": "exited" if told in TOLD else told, "detail": told, "exit_code": 1}
        return [SimpleNamespace(**ended, signal=None, stdout="", stderr=stderr if told in TOLD else "", duration=1.0)]


@pytest.mark.parametrize("ended", ["timeout", "memory", "sandbox_error", "refused"])
@pytest.mark.parametrize("before", [0, 3])
def test_a_script_is_not_refused_for_good_because_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, ended: str, before: int
) -> None:
    build: Any = SimpleNamespace(name="2.5.1", python=Path("python"))
    monkeypatch.setattr(reduction, "Runner", lambda *_, **__: Ran(*["exited"] * before, ended))
    monkeypatch.setattr("torch_embers.sandbox.doctor.prove", lambda: None)
    case = parse(case_text("[][1]", signature=TOLD["exited"], oracle="exception"), "x1", "extracted")
    with pytest.raises(reduction.PassingError):
        reduction.reduce_on(case, "[][1]", "[][1]", build, is_over=lambda _: False)


def test_one_case_or_all_are_named() -> None:
    assert_clean_error(run_embers("minimize"), 3, "name one case, or all of them with --all")
    assert_clean_error(run_embers("minimize", "x1", "--all"), 3, "name one case, or all of them with --all")
