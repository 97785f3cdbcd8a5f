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


def test_an_error_that_ends_the_script_and_that_the_title_complains_of_is_clear() -> None:
    found = report("flip fails on a view", SCRIPT + ERROR)
    assert [str(one) for one in found.expectation.signature] == ["RuntimeError: flip is not made for this tensor"]
    assert found.expectation.doubt == ""


@pytest.mark.parametrize(
    "title",
    [
        "flip doesn't validate its axes",
        "No bounds check in flip",
        "flip silently takes axes twice",
        "flip should raise for axes out of range",
        "Missing check in flip",
    ],
)
def test_where_the_title_asks_for_an_error_the_error_that_is_shown_may_be_right(title: str) -> None:
    # 6472: a comment shows the error that a later release rightly raises
    assert doubt(title, SCRIPT + ERROR) == "the title asks for an error: the one that is shown may be right"


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


def test_an_error_that_lacks_words_and_an_error_in_a_wish_are_meant() -> None:
    # 32988, 33298
    assert doubt("The error of flip doesn't say which axis", SCRIPT + ERROR) == (
        "the title complains of the words of an error"
    )
    for title in ("[feature request] flip of a view", "Support flip of views", "[debatable] flip of a view"):
        assert doubt(title, SCRIPT + ERROR) == "the title asks for a feature: the error that is shown may be meant"


def test_an_error_in_a_report_about_a_hang_may_be_that_of_an_interruption() -> None:
    # 3001: the error is seen once somebody pressed Ctrl-C
    assert doubt("flip of a view hangs", SCRIPT + ERROR) == (
        "the title says that it hangs, the text shows an error: it may have been interrupted"
    )


def test_lines_of_the_template_are_no_output() -> None:
    # 17699
    template = (
        "wget https://example.org/collect_env.py\n# For security purposes, please check it\npython collect_env.py"
    )
    assert infer([PrintedOutput(template)], "print(x)", "", "flip is broken for half").actual == ()


def test_an_error_in_a_report_about_a_value_or_about_time_may_be_another_story() -> None:
    assert doubt("flip gives wrong values", SCRIPT + ERROR) == (
        "the title complains of a value, the text shows an error"
    )
    assert doubt("flip has a huge overhead", SCRIPT + ERROR) == (
        "the title complains of time or memory, the text shows an error"
    )


def test_a_traceback_that_quotes_no_line_of_the_script_is_of_another_script() -> None:
    other = ERROR.replace("y = x.view(2, 3).flip(0)", "trainer.step(batch)")
    assert doubt("flip fails on a view", SCRIPT + other) == "the traceback quotes no line of the script"


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


def test_values_beside_the_expected_ones_are_clear() -> None:
    body = SCRIPT + output("tensor([[0, 1, 2],", "Output:") + output("tensor([[3, 4, 5],", "Expected output:")
    assert doubt("flip gives the wrong order", body) == ""


@pytest.mark.parametrize("line", ["False", "nan", "tensor(nan)", "tensor([nan, nan])", "True", "0.0", "tensor([0, 1])"])
def test_a_single_value_that_many_programs_print_does_not_suffice(line: str) -> None:
    # 5406: a line of False among the prints, any program with a False had been taken for the bug
    assert doubt("flip gives the wrong order", SCRIPT + output(line)).endswith("many programs print that")


def test_values_of_a_script_with_random_inputs_are_no_expectation() -> None:
    script = "```python\nimport torch\nprint((torch.randn(3) - torch.rand(3)).norm())\n```\n"
    assert doubt("norm gives wrong results", script + output("tensor(33.4710)")) == (
        "its input is random: its values are others each time"
    )


def test_values_in_comments_are_told_in_words_alone() -> None:
    # 7645: the values stand behind the statements; some of them are right
    script = "```python\nimport torch\na = torch.ones(2)\nprint(a.max())  # tensor(nan)\n```\n"
    assert doubt("max is inconsistent for nan", script) == "the wrong value is told in words alone"


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


def test_two_outputs_of_which_none_is_said_to_be_the_scripts_are_in_doubt() -> None:
    # 25176: the second output is that of a counter-example
    body = SCRIPT + output("tensor([5, 4])") + output("tensor([1, 2, 4])")
    assert doubt("flip gives wrong values", body) == (
        "the text shows several outputs and does not say which is the script's"
    )


def test_lines_that_tell_versions_are_no_output() -> None:
    # 4408: the block of the environment was taken for what the script prints
    environment = "sys.platform = linux\ntorch.version.cuda = 9.9\ntorch.__version__ = '0.4.0'\n2.1.0+cpu"
    found = infer([PrintedOutput(environment)], "print(x)", "", "flip gives wrong values")
    assert found.actual == ()
    assert found.doubt == "the wrong value is told in words alone"


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


def test_a_value_that_the_title_does_not_call_wrong_is_in_doubt() -> None:
    assert doubt("Add flip to the docs", SCRIPT + output("tensor([[3, 4, 5],")) == (
        "the title does not say that a value is wrong"
    )


def test_a_script_that_was_changed_may_print_other_values() -> None:
    script = "```python\nimport torch\nx = torch.arange(3, device='cuda')\nprint(x.float().half())\n```\n"
    assert "device_agnostic" in doubt("half gives wrong values", script + output("tensor([5., 1., 2.])"))


# ---- the rest ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "is_clear"),
    [
        ("DataLoader hangs", True),
        ("Deadlock in flip", True),
        ("flip gets stuck", True),
        ("flip is slow", False),
        ("Out of memory in flip", False),
        ("Segfault in flip", True),
    ],
)
def test_time_and_memory_are_not_the_reporters_but_a_hang_and_a_signal_are(title: str, *, is_clear: bool) -> None:
    assert (doubt(title, SCRIPT) == "") is is_clear


def test_an_error_that_is_named_without_its_message_fits_too_many() -> None:
    assert doubt("flip raises IndexError", SCRIPT) == "an error is named without its message"
    assert doubt("flip raises `IndexError: axis is out of the range`", SCRIPT) == ""


def test_several_assertions_leave_open_which_one_the_report_is_about() -> None:
    one = "```python\nimport torch\nassert torch.ones(1).flip(0) == 1\n```\n"
    assert doubt("flip is broken", one) == ""
    assert doubt("flip is broken", one.replace("assert", "assert torch.ones(1) == 1\nassert")) == (
        "the script makes 2 assertions"
    )


def test_a_text_that_tells_nothing_is_in_doubt() -> None:
    assert doubt("flip", SCRIPT) == "the text does not say how it fails"


SUMS = """
```python
import torch
x = torch.tensor([100, 27, 3])
print(torch.cumsum(x, 0))
```
"""
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


def test_a_printed_shape_counts_where_the_title_is_about_shapes() -> None:
    body = SUMS.replace("torch.cumsum(x, 0)", "torch.cumsum(x, 0).shape") + "```\ntorch.Size([4, 1])\n```\n"
    assert doubt("cumsum returns a wrong shape", body) == ""


@pytest.mark.parametrize(
    "shown", ["2.1.2 True", "1.13.1 8500", "PyTorch built with:\n  - GCC 9.3\n  - C++ Version: 201402"]
)
def test_lines_of_versions_are_no_value(shown: str) -> None:
    body = SUMS.replace("print(", "print(torch.__version__, True)\nprint(", 1) + f"```\n{shown}\n```\n"
    assert doubt("cumsum gives a wrong result", body) == "the wrong value is told in words alone"


def test_an_output_shorter_than_what_the_script_prints_may_lack_the_wrong_line() -> None:
    body = SUMS.replace("print(", "print(x * 2)\nprint(", 1) + "```\ntensor([200,  54,   6])\n```\n"
    assert doubt("cumsum gives a wrong result", body) == (
        "fewer lines are shown than the script prints: the wrong one may be missing"
    )


@pytest.mark.parametrize(
    "words",
    [
        "The CPU version gives a proper error:",
        "which raises a clear and helpful exception:",
        "This is a legitimate error, I think",
        "and this one is fine",
        "Now:",
    ],
)
def test_an_error_under_words_that_approve_of_it_may_be_right(words: str) -> None:
    assert doubt("flip fails on a view", f"{SCRIPT}\n{words}\n{ERROR}") == (
        "words beside the error say that it is right, or gone"
    )


def test_an_error_under_words_about_a_side_that_the_title_does_not_name_may_be_the_right_side() -> None:
    body = f"{SCRIPT}\nIn eager mode:\n{ERROR}"
    assert doubt("flip fails on a view", body) == (
        "the error stands under words about eager, the title does not: it may be the right side"
    )
    assert doubt("flip fails in eager mode", body) == ""


def test_a_failure_that_the_title_places_on_an_accelerator_is_not_looked_for_on_the_processor() -> None:
    assert doubt("flip crashes on CUDA", SCRIPT + ERROR) == "the title says 'on CUDA', the script runs on the CPU"
    assert doubt("[MPS] flip crashes", SCRIPT + ERROR).endswith("the script runs on the CPU")


def test_an_error_of_another_class_than_the_title_names_is_another_one() -> None:
    # 180824: the title names a RecursionError, the text shows what eager mode raises as well
    assert doubt("flip fails with RecursionError on a view", SCRIPT + ERROR) == (
        "the title names RecursionError, the text shows RuntimeError"
    )


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


def test_a_script_of_a_question_that_raises_an_error_itself_need_not_show_a_failure() -> None:
    # 22549: the script shows how a version would be refused
    check = 'import torch\nif torch.__version__ > "0":\n    raise ImportError("this version is not supported here")\n'
    assert doubt("How to check the version of torch", f"```python\n{check}```\n") == (
        "the title is a feature request or a question: the script need not show a failure"
    )


@pytest.mark.parametrize("words", ["This is not a segfault.", "It is similar to the segfault of another report."])
def test_a_crash_that_a_sentence_denies_or_compares_with_is_not_the_failure(words: str) -> None:
    assert doubt("flip goes away", f"{SCRIPT}\n{words}\n") == (
        "the sentence that names the crash may mean another one, or none"
    )


OUTPUT = """
```
tensor([[3, 4, 5],
        [0, 1, 2]])
```
"""


def test_a_printed_value_that_the_title_complains_of_is_clear() -> None:
    assert doubt("flip gives a wrong result", SCRIPT + OUTPUT + "The rows should stay in their order.\n") == ""


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


def test_an_output_that_is_wrong_on_a_device_below_it_is_not_of_the_cpu() -> None:
    said = "On an A100 with CUDA 12 I get the rows in another order.\n"
    assert "'on an a100 with cuda'" not in doubt("flip gives a wrong result", SCRIPT + OUTPUT).lower()
    assert doubt("flip gives a wrong result", SCRIPT + OUTPUT + said).endswith("the failure may be there alone")


def test_words_of_the_next_section_do_not_speak_of_an_output() -> None:
    said = "\n### Versions\n\nEverything works fine with 2.0.\n"
    assert doubt("flip gives a wrong result", SCRIPT + OUTPUT + said) == ""


def test_what_stands_under_a_summary_of_what_works_is_not_the_failure() -> None:
    body = f"<details><summary>What works</summary>\r\n{SCRIPT}{OUTPUT}</details>\n\nWith int16 it is incorrect on my machine.\n"
    assert doubt("flip gives a wrong result", body) == "the wrong value is told in words alone"


def test_a_traceback_that_ends_in_a_package_that_the_script_does_not_name_is_of_another_script() -> None:
    other = ERROR.replace(
        "RuntimeError: flip",
        '  File "/usr/lib/python3/dist-packages/PIL/Image.py", line 2953, in open\n    raise Unidentified(\nRuntimeError: flip',
    )
    assert doubt("flip fails on a view", SCRIPT + other) == "the traceback ends in PIL, which the script does not name"
    assert doubt("flip fails on a view", SCRIPT + other.replace("PIL", "torch")) == ""
