"""What a report shows need not be what it calls wrong: the forms that once led to a wrong verdict, in words of our own."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torch_embers.repro.expectation import infer
from torch_embers.repro.extract import Extraction, ItemText, extract
from torch_embers.repro.values import PrintedOutput


def report(title: str, body: str, *comments: str) -> Extraction:
    return extract(ItemText("pytorch/pytorch", 1, title, dedent(body), [dedent(text) for text in comments]))


def doubt(title: str, body: str, *comments: str) -> str:
    found = report(title, body, *comments)
    assert found.status == "runnable"
    return found.expectation.doubt


SCRIPT = """
```python
import torch
x = torch.arange(6)
y = x.view(2, 3).flip(0)
print(y)
```
"""
ERROR = """
```
Traceback (most recent call last):
  File "a.py", line 4, in <module>
    y = x.view(2, 3).flip(0)
RuntimeError: flip is not made for this tensor
```
"""
OUTPUT = """
```
tensor([[3, 4, 5],
        [0, 1, 2]])
```
"""
SUMS = """
```python
import torch
x = torch.tensor([100, 27, 3])
print(torch.cumsum(x, 0))
```
"""


def test_an_error_that_ends_the_script_and_that_the_title_complains_of_is_clear() -> None:
    found = report("flip fails on a view", SCRIPT + ERROR)
    assert [str(one) for one in found.expectation.signature] == ["RuntimeError: flip is not made for this tensor"]
    assert found.expectation.doubt == ""


def assert_doubt(title: str, body: str, said: str) -> None:
    """The words of the doubt; none where nothing is in doubt."""
    found = doubt(title, body)
    assert said in found
    assert bool(said) is bool(found)


@pytest.mark.parametrize(
    ("title", "said"),
    [
        # 6472: a comment shows the error that a later release rightly raises
        ("flip doesn't validate its axes", "the title asks for an error: the one that is shown may be right"),
        ("No bounds check in flip", "the title asks for an error"),
        ("flip silently takes axes twice", "the title asks for an error"),
        ("flip should raise for axes out of range", "the title asks for an error"),
        ("Missing check in flip", "the title asks for an error"),
        # 32988, 33298
        ("The error of flip doesn't say which axis", "the title complains of the words of an error"),
        ("[feature request] flip of a view", "the title asks for a feature: the error that is shown may be meant"),
        ("Support flip of views", "the title asks for a feature"),
        ("[debatable] flip of a view", "the title asks for a feature"),
        # 3001: the error is seen once somebody pressed Ctrl-C
        ("flip of a view hangs", "the title says that it hangs, the text shows an error"),
        ("flip gives wrong values", "the title complains of a value, the text shows an error"),
        ("flip has a huge overhead", "the title complains of time or memory, the text shows an error"),
        ("flip crashes on CUDA", "the title says 'on CUDA', the script runs on the CPU"),
        ("[MPS] flip crashes", "the script runs on the CPU"),
        # 180824: the title names a RecursionError, the text shows what eager mode raises as well
        ("flip fails with RecursionError on a view", "the title names RecursionError, the text shows RuntimeError"),
    ],
)
def test_an_error_that_the_title_does_not_complain_of_is_in_doubt(title: str, said: str) -> None:
    assert_doubt(title, SCRIPT + ERROR, said)


APPROVED = "words beside the error say that it is right, or gone"
FRAME = '  File "/usr/lib/dist-packages/PIL/Image.py", line 2953, in open\n    raise Unidentified(\nRuntimeError: flip'
IN_PACKAGE = ERROR.replace("RuntimeError: flip", FRAME)


@pytest.mark.parametrize(
    ("below", "said"),
    [
        ("The CPU version gives a proper error:\n" + ERROR, APPROVED),
        ("which raises a clear and helpful exception:\n" + ERROR, APPROVED),
        ("This is a legitimate error, I think\n" + ERROR, APPROVED),
        ("and this one is fine\n" + ERROR, APPROVED),
        ("Now:\n" + ERROR, APPROVED),
        ("In eager mode:\n" + ERROR, "the error stands under words about eager, the title does not"),
        (ERROR.replace("y = x.view(2, 3).flip(0)", "trainer.step(batch)"), "quotes no line of the script"),
        (IN_PACKAGE, "the traceback ends in PIL, which the script does not name"),
        (IN_PACKAGE.replace("PIL", "torch"), ""),
    ],
)
def test_an_error_that_is_called_right_or_comes_from_elsewhere_is_in_doubt(below: str, said: str) -> None:
    assert_doubt("flip fails on a view", f"{SCRIPT}\n{below}", said)


def test_an_error_of_the_side_that_the_title_names_is_clear() -> None:
    assert doubt("flip fails in eager mode", f"{SCRIPT}\nIn eager mode:\n{ERROR}") == ""


def test_where_the_words_of_an_error_are_wrong_its_coming_is_not_the_bug() -> None:
    # 23054: two calls give two errors, the complaint is that they differ; a script stops at the first
    session = """
    ```
    >>> import torch
    >>> x = list(range(3))
    >>> x[9]
    Traceback (most recent call last):
      File "<stdin>", line 1, in <module>
    IndexError: list index out of range
    >>> x.index(9)
    Traceback (most recent call last):
      File "<stdin>", line 1, in <module>
    ValueError: 9 is not in list
    ```
    """
    assert doubt("Lists give different error messages for what they lack", session) == (
        "the title complains of the words of an error"
    )
    assert doubt("Lists fail", session) == "the text shows 2 different errors"


def test_an_error_under_a_heading_of_a_fix_is_not_taken() -> None:
    found = report("flip of a view gives wrong order", SCRIPT + "With this fix it prints:" + ERROR)
    assert found.expectation.kind == "mismatch"
    assert found.expectation.doubt


def test_an_error_that_a_comment_shows_counts_only_where_the_body_names_it() -> None:
    first = "What flip does with a view is odd."
    comment = f"Minimal repro:\n{SCRIPT}\ngives{ERROR}"
    assert doubt("flip fails on a view", first, comment) == "a comment shows it, title and body do not name it"
    assert doubt("flip fails on a view with RuntimeError", first, comment) == ""


# ---- values --------------------------------------------------------------------------------------------------------


def output(text: str, heading: str = "") -> str:
    return f"\n{heading}\n```\n{text}\n```\n"


def python(*lines: str) -> str:
    return "\n".join(["```python", "import torch", *lines, "```", ""])


def values(text: str, heading: str = "") -> str:
    return SCRIPT + output(text, heading)


BESIDE = values("tensor([[0, 1, 2],", "Output:") + output("tensor([[3, 4, 5],", "Expected output:")
RANDOM = python("print((torch.randn(3) - torch.rand(3)).norm())") + output("tensor(33.4710)")
SHAPE = SUMS.replace("torch.cumsum(x, 0)", "torch.cumsum(x, 0).shape") + output("torch.Size([4, 1])")
SHORTER = SUMS.replace("print(", "print(x * 2)\nprint(", 1) + output("tensor([200,  54,   6])")
ASSERTS = ("assert torch.ones(1).flip(0) == 1", "assert torch.ones(1) == 1")
RAISES = python('if torch.__version__ > "0":', '    raise ImportError("this version is not supported here")')
NEXT_SECTION = "\n### Versions\n\nEverything works fine with 2.0.\n"


@pytest.mark.parametrize(
    ("title", "body", "said"),
    [
        ("flip gives a wrong result", SCRIPT + OUTPUT + "The rows should stay in their order.\n", ""),
        ("flip gives the wrong order", BESIDE, ""),
        # 25176: the second output is that of a counter-example
        ("flip gives wrong values", values("tensor([5, 4])") + output("tensor([1, 2])"), "shows several outputs"),
        ("norm gives wrong results", RANDOM, "its input is random"),
        # 7645: the values stand behind the statements; some of them are right
        ("max is inconsistent", python("a = torch.ones(2)", "print(a.max())  # tensor(nan)"), "told in words alone"),
        ("Add flip to the docs", values("tensor([[3, 4, 5],"), "the title does not say that a value is wrong"),
        ("cumsum returns a wrong shape", SHAPE, ""),
        ("cumsum gives a wrong result", SHORTER, "fewer lines are shown than the script prints"),
        ("flip gives a wrong result", SCRIPT + OUTPUT + NEXT_SECTION, ""),
        ("flip", SCRIPT, "the text does not say how it fails"),
        ("flip raises IndexError", SCRIPT, "an error is named without its message"),
        ("flip raises `IndexError: axis is out of the range`", SCRIPT, ""),
        ("flip is broken", python(ASSERTS[0]), ""),
        ("flip is broken", python(*ASSERTS), "the script makes 2 assertions"),
        # 22549: the script shows how a version would be refused
        ("How to check the version of torch", RAISES, "a feature request or a question"),
        ("flip goes away", f"{SCRIPT}\nThis is not a segfault.\n", "the crash may mean another one, or none"),
        ("flip goes away", f"{SCRIPT}\nIt is similar to the segfault of another report.\n", "may mean another one"),
        ("DataLoader hangs", SCRIPT, ""),
        ("Deadlock in flip", SCRIPT, ""),
        ("flip gets stuck", SCRIPT, ""),
        ("Segfault in flip", SCRIPT, ""),
    ],
)
def test_what_is_shown_or_said_is_clear_or_the_doubt_says_why_not(title: str, body: str, said: str) -> None:
    assert_doubt(title, body, said)


@pytest.mark.parametrize("title", ["flip is slow", "Out of memory in flip"])
def test_time_and_memory_are_not_the_reporters(title: str) -> None:
    assert doubt(title, SCRIPT)


def test_an_output_of_a_changed_script_or_of_another_device_is_in_doubt() -> None:
    body = python("x = torch.arange(3, device='cuda')", "print(x.float().half())") + output("tensor([5., 1., 2.])")
    assert "device_agnostic" in doubt("half gives wrong values", body)
    said = "On an A100 with CUDA 12 I get the rows in another order.\n"
    assert doubt("flip gives a wrong result", SCRIPT + OUTPUT + said).endswith("the failure may be there alone")


@pytest.mark.parametrize("line", ["False", "nan", "tensor(nan)", "tensor([nan, nan])", "True", "0.0", "tensor([0, 1])"])
def test_a_single_value_that_many_programs_print_does_not_suffice(line: str) -> None:
    # 5406: a line of False among the prints, any program with a False had been taken for the bug
    assert doubt("flip gives the wrong order", SCRIPT + output(line)).endswith("many programs print that")


def test_an_output_of_a_session_is_compared_whole_so_that_an_input_does_not_suffice() -> None:
    # 17914: the first print is the input, which every release prints
    session = """
    ```
    In [1]: import torch
    In [2]: a = torch.triu(torch.ones((2, 2)))
    In [3]: a
    Out[3]: tensor([[1., 1.], [0., 1.]])
    In [4]: a.argmin(dim=0)
    Out[4]: tensor([1, 0])
    ```
    """
    found = report("argmin returns incorrect positions", session)
    assert found.expectation.actual == ("tensor([[1., 1.], [0., 1.]])", "tensor([1, 0])")
    assert found.expectation.doubt == ""


@pytest.mark.parametrize(
    "lines",
    [
        # 4408, 17699: the block of the environment, and the template, were taken for what the script prints
        "sys.platform = linux\ntorch.version.cuda = 9.9\ntorch.__version__ = '0.4.0'\n2.1.0+cpu",
        "wget https://example.org/collect_env.py\n# For security purposes, please check it\npython collect_env.py",
    ],
)
def test_lines_of_versions_and_of_the_template_are_no_output(lines: str) -> None:
    found = infer([PrintedOutput(lines)], "print(x)", "", "flip gives wrong values")
    assert (found.actual, found.doubt) == ((), "the wrong value is told in words alone")


def test_an_error_in_a_block_that_looks_like_settings_or_c_is_read() -> None:
    # 4408, 160241: lines of advice and braces hid the error
    advice = (
        "torch._dynamo.exc.Unsupported: Call of a marked function\n  Explanation: it is marked\n  Hint: do not call it"
    )
    found = report("export fails on a marked function", SCRIPT + output(advice, "This error occurs:"))
    assert str(found.expectation.signature[0]) == "Unsupported: Call of a marked function"
    braces = "at a.py:3: UserWarning: none\nRuntimeError: Cannot export flip\ngraph(%0 : Float(1)) {\n  return (%1);\n}"
    found = report("export of flip fails", SCRIPT + output(braces))
    assert str(found.expectation.signature[0]) == "RuntimeError: Cannot export flip"
    assert found.expectation.doubt == ""


def test_the_scripts_own_check_is_the_failure_not_a_line_of_the_fix() -> None:
    # 182420: a line that the fix would add was taken for what the script prints
    script = (
        "```python\nimport torch\nbad = [n for n in range(3) if n]\nif bad:\n"
        '    raise AssertionError("nodes lack their mark, "\n        f"these: {bad}")\n```\n'
    )
    body = script + output('node.meta["mark"] = True', "A fix could set it on each node:")
    found = report("The pass should mark nodes", body)
    assert [str(one) for one in found.expectation.signature] == ["AssertionError: nodes lack their mark, these"]
    assert (found.expectation.where, found.expectation.doubt) == ("check", "")


RIGHT = "```\ntensor([100, 127, 130])\n```\n"


@pytest.mark.parametrize(
    "words",
    ["On CPU this prints", "NumPy and torch.int64 give", "eager mode:", "In PyTorch 1.2 the output was", "Before:"],
)
def test_a_value_under_words_that_compare_may_be_the_right_side(words: str) -> None:
    body = SUMS + f"{words}\n{RIGHT}but on the GPU everything is zero.\n"
    assert doubt("cumsum returns wrong values", body).startswith("the output stands under words about ")


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("x.shape", "torch.Size([3])"),
        ("x.shape", "shape: (3,)"),
        ("x", "tensor([100,  27,   3])"),
        ("'close:', bool(x.any())", "close -> False"),
        ("False, x", "(False, nan) max diff = nan"),
    ],
)
def test_inputs_shapes_and_constants_alone_do_not_tell_a_wrong_run_from_a_right_one(printed: str, shown: str) -> None:
    body = SUMS.replace("print(", f"print({printed})\nprint(", 1) + f"```\n{shown}\n```\n"
    assert doubt("cumsum gives a wrong result", body).endswith("and the like is shown: many programs print that")


def test_a_session_that_shows_its_input_and_a_constant_tells_nothing() -> None:
    session = """
    ```python
    >>> import torch
    >>> x = torch.tensor([100, 27, 3], dtype=torch.int8)
    >>> x
    tensor([100,  27,   3], dtype=torch.int8)
    >>> torch.cumsum(x, 0).sum() > 100
    tensor(False)
    ```
    """
    assert doubt("cumsum returns wrong values for int8", session).endswith("many programs print that")


@pytest.mark.parametrize(
    "shown", ["2.1.2 True", "1.13.1 8500", "PyTorch built with:\n  - GCC 9.3\n  - C++ Version: 201402"]
)
def test_lines_of_versions_are_no_value(shown: str) -> None:
    body = SUMS.replace("print(", "print(torch.__version__, True)\nprint(", 1) + f"```\n{shown}\n```\n"
    assert doubt("cumsum gives a wrong result", body) == "the wrong value is told in words alone"


def test_comments_that_approve_of_an_error_or_name_several_are_not_the_failure() -> None:
    def commented(*comments: str) -> str:
        calls = "".join(f"torch.cumsum(x, {place})  # {text}\n" for place, text in enumerate(comments, 7))
        return f"```python\nimport torch\nx = torch.tensor([100, 27, 3])\n{calls}```\n"

    words = "Dimension out of range"
    assert doubt("cumsum crashes", commented(f"IndexError: {words}, fine")).endswith("says that it is right, or gone")
    assert doubt("cumsum crashes", commented(f"IndexError: {words} as documented")).endswith("right, or gone")
    assert doubt("cumsum crashes", commented(f"IndexError: {words}", "TypeError: no such thing as this")) == (
        "comments of the script name 2 different errors"
    )


@pytest.mark.parametrize(
    "said",
    [
        "This is the correct value. In my training I see the rows swapped again.",
        "So far so good. Inside a nested function the last row is lost.",
        "which matches NumPy. The documentation says something else.",
        "Both are as expected. In my C++ program the second is transposed.",
        "The output is right here, but the gradient is not.",
        "> This is expected, as discussed.\n> What I see is that export does not raise.",
        "The first one is right, the second should be 6.",
    ],
)
def test_words_below_an_output_that_call_it_right_leave_it_to_a_person(said: str) -> None:
    assert doubt("flip gives a wrong result", SCRIPT + OUTPUT + said + "\n").startswith(
        "words below the output say that"
    )
    assert doubt("flip fails on a view", SCRIPT + ERROR + said + "\n").startswith("words below the output say that")


def test_what_stands_under_a_summary_of_what_works_is_not_the_failure() -> None:
    body = f"<details><summary>What works</summary>\r\n{SCRIPT}{OUTPUT}</details>\n\nWith int16 it is incorrect on my machine.\n"
    assert doubt("flip gives a wrong result", body) == "the wrong value is told in words alone"
