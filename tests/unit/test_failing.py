"""The failing call of a script: which one it is, and which reductions keep it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.repro.failing import Place, calls_of, failing, keeps, keeps_calls, place_of

if TYPE_CHECKING:
    from pathlib import Path

# ---- where -----------------------------------------------------------------------------------------------------------


def test_the_innermost_line_of_the_script_is_the_place_and_the_marks_are_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "x7.py"
    file.write_text("def f(n):\n    values = [n]\n    return 1 + values[3]\nf(5)\n")
    ended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    found = place_of(ended.stderr, "x7.py")
    assert found is not None
    assert found.line == 3
    assert failing(file.read_text(), found) == ("Subscript", ("list", "int"), "int")


def test_the_frames_of_user_code_that_the_compiler_names_come_first() -> None:
    said = (
        'Traceback (most recent call last):\n  File "/tmp/x7.py", line 9, in <module>\n    compiled(x)\n'
        '  File "/site-packages/torch/a.py", line 1, in b\nUnsupported: no\n\nfrom user code:\n'
        '   File "/tmp/x7.py", line 5, in f\n    return x.flip(0)\n\nSet TORCHDYNAMO_VERBOSE=1\n'
    )
    assert place_of(said, "x7.py") == Place(5)
    assert place_of(said, "x8.py") is None


def test_of_a_fatal_signal_the_first_frame_of_the_script_counts() -> None:
    said = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
        '  File "/usr/lib/torch/a.py", line 5 in b\n  File "/tmp/x7.py", line 4 in g\n  File "/tmp/x7.py", line 5 in <module>\n'
    )
    assert place_of(said, "x7.py") == Place(4)


# ---- what ------------------------------------------------------------------------------------------------------------


def is_kept(original: str, reduced: str) -> bool:
    """Whether the last statement of a reduced script fails in the call of the last one of the original."""

    def last(code: str) -> Place:
        return Place(len(code.strip("\n").split("\n")))

    wanted = failing(original, last(original))
    return wanted is not None and keeps(wanted, failing(reduced, last(reduced)))


CONCATENATED = "x = data.ConcatDataset((range(10), range(10)))\n"


@pytest.mark.parametrize(
    ("original", "reduced"),
    [
        # 22013: the index was a list of tuples, the tensor had an axis
        ("M = torch.tensor([0.] * 31)\ni = [(a,) for a in range(31)]\nM[i]", "M = torch.tensor(0.)\nM[0]"),
        ("M = torch.tensor([0.] * 31)\ni = [(a,) for a in range(31)]\nM[i]", "M = torch.tensor([0.])\nM[0, 0]"),
        ("M = torch.tensor([0.] * 31)\ni = [(a,) for a in range(31)]\nM[i]", "M = torch.tensor(0.)\nM[[(0,)]]"),
        # 6472: a tensor as index became a number
        ("torch.zeros(10)[torch.LongTensor([-11])]", "torch.zeros(10)[-11]"),
        ("torch.zeros(10)[torch.LongTensor([-11])]", "torch.zeros(10)[torch.LongTensor([11])]"),
        # 23054: the data set that was asked is not the one of the report any more
        (CONCATENATED + "x[-100]", CONCATENATED.replace("Concat", "Tensor") + "x[-1]"),
        (CONCATENATED + "x[-100]", CONCATENATED + "x[1]"),
        ("torch.bmm(torch.ones(2, 3, 4), b)", "torch.bmm(torch.ones(2, 3), b)"),
        ("torch.bmm(torch.ones(2, 3, 4), b)", "torch.mm(torch.ones(2, 3, 4), b)"),
        ("x = torch.ones(2)\nf(x.half())", "x = torch.ones(2)\nf(x)"),
        ("f(torch.ones(2), dim=-1)", "f(torch.ones(2))"),
        ("f(torch.ones(2, dtype=torch.half))", "f(torch.ones(2))"),
        ("f('bicubic')", "f('')"),
        ("f([1, 2])", "f([])"),
        ("x = 1.5\nf(x)", "x = 1\nf(x)"),
        ("a = [3]\nassert len(a) == 2", "a = 'b'\nassert len(a) == 2"),
    ],
)
def test_a_reduction_that_slides_to_another_operator_or_argument_is_refused(original: str, reduced: str) -> None:
    assert not is_kept(original, reduced)
    assert is_kept(original, original)


@pytest.mark.parametrize(
    ("original", "reduced"),
    [
        ("M = torch.tensor([0.] * 31)\ni = [(a,) for a in range(31)]\nM[i]", "M = torch.tensor([0.])\nM[[(1,)]]"),
        ("torch.zeros(10)[torch.LongTensor([-11])]", "torch.zeros(1)[torch.LongTensor([-2])]"),
        ("x = torch.ones(64, 128)\nf(x)", "f(torch.ones(1, 2))"),
        ("def g(n):\n    return torch.ones(n)[n]\ng(5)", "torch.ones(1)[1]\ng(5)"),
        ("f([1, 2, 3], 'sum')", "f([1], 'sum')"),
        ("for a in b:\n    f(a)", "f(anything)"),
    ],
)
def test_smaller_numbers_shorter_lists_and_names_put_in_their_place_are_kept(original: str, reduced: str) -> None:
    assert is_kept(original, reduced)


def test_of_the_functions_of_the_title_one_call_is_kept_with_its_arguments() -> None:
    # 28347: the range of a fractional step became a range of one number
    wanted = calls_of("for n in range(9):\n    torch.arange(-1, 1, 2 / n, out=line)\n    torch.arange(n)\n", {"arange"})
    assert keeps_calls(wanted, calls_of("torch.arange(-1, 1, 2 / n, out=line)", {"arange"}))
    assert keeps_calls(wanted, calls_of("for n in f():\n    torch.arange(n)", {"arange"}))
    assert not keeps_calls(wanted, calls_of("torch.arange(1, out=line)", {"arange"}))
    assert not keeps_calls(wanted, calls_of("torch.arange(-1, 1, 1 / n, out=line)", {"arange"}))
    assert not keeps_calls(wanted, calls_of("torch.ones(1)", {"arange"}))
    assert keeps_calls({}, {})


def test_layers_of_a_module_are_followed_to_where_they_are_made() -> None:
    module = (
        "class M(nn.Module):\n    def __init__(self):\n        self.conv = nn.Conv2d({}, 8, 3)\n"
        "    def forward(self, x):\n        return self.conv(x)\n"
    )
    wanted = failing(module.format(64), Place(5))
    assert keeps(wanted, failing(module.format(1), Place(5)))
    assert not keeps(wanted, failing(module.format(64).replace("Conv2d", "Linear"), Place(5)))


def test_of_a_script_that_only_prints_the_last_printed_value_counts() -> None:
    wanted = failing("x = torch.ones(3).flip(0)\nprint('in', y)\nprint('out', x)\nprint('done')\n", None)
    assert keeps(wanted, failing("print('out', torch.ones(1).flip(0))\n", None))
    assert not keeps(wanted, failing("print('out', torch.ones(1))\n", None))
    assert failing("x = 1\n", None) is None


def test_what_a_raise_depends_on_is_its_test() -> None:
    wanted = failing("a = f(x)\nif a.any():\n    raise ValueError('bad')\n", Place(3))
    assert wanted == ("call", (".any", ("call", "f", "x")))
    assert failing("raise ValueError('bad')\n", Place(1)) is None


@given(st.text(max_size=80), st.integers(0, 5), st.integers(0, 20), st.integers(0, 40))
def test_any_text_and_any_place_are_taken(text: str, line: int, start: int, end: int) -> None:
    found = failing(text, Place(line, start, end))
    assert found is None or keeps(found, found)
    place_of(text, "x.py")


def test_names_that_refer_to_each_other_end() -> None:
    assert failing("a = b\nb = a\nf(a)\n", Place(3)) is not None
