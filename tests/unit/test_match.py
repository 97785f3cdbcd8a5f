"""What was observed, looked for in the text of a report. The texts are made up after shapes that reports have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from torch_embers.extract.script import ReportText
from torch_embers.timeline.match import matched, with_quoted_errors
from torch_embers.timeline.model import Observation, Segment
from torch_embers.timeline.segments import segments

if TYPE_CHECKING:
    from pathlib import Path

SPARSE = Observation("ok", printed="tensor([[1., 0., 0.],\n        [2., 0., 0.]])\n")
DIES = Observation("signal", "SIGSEGV")
NODES = Observation("ok", printed="tensor([3., 3.], grad_fn=<WhereBackward0>)\nx.grad = tensor([nan, nan])\n")
CONSTRUCTED = {
    900101: (SPARSE, "as_reported"),
    900102: (SPARSE, "as_reported"),
    900103: (SPARSE, "as_reported"),
    900104: (SPARSE, "as_reported"),
    900105: (
        Observation(
            "exception", "RuntimeError", "Storage size calculation overflowed with sizes=[4096] and strides=[0]"
        ),
        "as_expected",
    ),
    900106: (SPARSE, "as_reported"),
    900107: (DIES, "as_reported"),
    900108: (DIES, "as_reported"),
    900109: (Observation("ok", printed="tensor([16777217], dtype=torch.int32)\n"), "other"),
    900110: (NODES, "as_reported"),
    900111: (NODES, "as_reported"),
    900112: (Observation("exception", "RuntimeError", "shape '[7]' is invalid for input of size 6"), "as_reported"),
    900113: (Observation("ok", printed="tensor([100663305,  50331652,  16777217])\n"), "other"),
}
"""What torch 2.13.0 does on a CPU, and what that is for the report."""
BUG = Observation("exception", "RuntimeError", "expected scalar type Float but found Half")


def report(body: str, title: str = "something is odd", *comments: str) -> ReportText:
    return ReportText(title, body, comments)


def of(seen: Observation, text: ReportText) -> Segment:
    runs = {"2.13.0": [seen]}
    [found] = matched(segments(runs), runs, text)
    return found


def verdict(seen: Observation | str, body: str, title: str = "something is odd", *comments: str) -> str | None:
    run = Observation("ok", printed=seen) if isinstance(seen, str) else seen
    return of(run, report(body, title, *comments)).match


def fenced(text: str) -> str:
    return f"```\n{text}\n```\n"


def test_the_constructed_reports_are_read_right(shared_data: Path) -> None:
    path = shared_data.parent / "reports" / "constructed.jsonl"
    found = {}
    for item in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        text = ReportText(item["title"], item["body"])
        found[item["number"]] = of(CONSTRUCTED[item["number"]][0], text)
    assert {number: one.match for number, one in found.items()} == {
        number: match for number, (_, match) in CONSTRUCTED.items()
    }
    assert "the reported words went on here" in found[900112].evidence


@pytest.mark.parametrize(
    "line",
    ["Segmentation fault (core dumped)", "fish: Job 1, 'python t.py' terminated by signal SIGSEGV (Address boundary error)",
     "zsh: segmentation fault  python t.py", "==1==ERROR: AddressSanitizer: SEGV on unknown address", "it segfaults",
     "Process finished with exit code 139", "the kernel died"],
)  # fmt: skip
def test_a_signal_is_known_by_all_its_names(line: str) -> None:
    assert verdict(DIES, fenced(line)) == "as_reported"


@pytest.mark.parametrize(
    ("signal", "line"),
    [("SIGABRT", "free(): invalid pointer"), ("SIGABRT", "Aborted (core dumped)"), ("SIGABRT", "terminate called after x"),
     ("SIGFPE", "Floating point exception (core dumped)"), ("SIGILL", "Illegal instruction")],
)  # fmt: skip
def test_each_signal_has_its_own_names(signal: str, line: str) -> None:
    assert verdict(Observation("signal", signal), fenced(line)) == "as_reported"
    assert {verdict(Observation("signal", other), fenced(line)) for other in ("SIGBUS", "SIGSEGV")} == {"other"}


@pytest.mark.parametrize(
    "line",
    ["This does not segfault.", "It should raise an error instead of a segfault, but got nothing.", "It crashes."],
)
def test_a_denied_or_nameless_crash_decides_nothing(line: str) -> None:
    assert verdict(DIES, line) == "other"


def test_a_run_that_does_not_end_is_named_by_the_title() -> None:
    assert verdict(Observation("timeout"), "", "conv2d hangs forever") == "as_reported"
    assert verdict(Observation("timeout"), "it hangs", "conv2d is odd") == "other"
    assert verdict(Observation("timeout"), "", "torch.jit.freeze is wrong") == "other"
    assert verdict(Observation("out_of_memory"), "it runs out of memory") == "as_reported"
    assert verdict(Observation("out_of_memory"), "Checkpoints reduce memory usage.") == "other"


MESSAGES = [
    ("RuntimeError: expected scalar type Float but found Half", "as_reported"),
    ("RuntimeError: expected scalar type Float but found Half (while checking arguments)", "as_reported"),
    ("RuntimeError: expected scalar type Float", "as_reported"),
    ("ValueError: expected scalar type Float but found Half", "other"),
    ("RuntimeError", "other"),
    ("RuntimeError: CUDA error: device-side assert triggered", "other"),
]


@pytest.mark.parametrize(("line", "match"), MESSAGES)
def test_an_exception_is_its_class_and_enough_of_its_message(line: str, match: str) -> None:
    trace = f'Traceback (most recent call last):\n  File "t.py", line 2, in <module>\n{line}'
    assert verdict(BUG, fenced(trace)) == match
    assert verdict(BUG, f"It ends with {line}.") == match
    assert verdict(BUG, f"### Expected behavior\n\n{fenced(line)}") == match.replace("reported", "expected")


def test_a_short_message_counts_where_it_is_whole() -> None:
    old = Observation("exception", "ZeroDivisionError", "float division by zero")
    assert verdict(old, fenced("ZeroDivisionError: division by zero")) == "as_reported"
    key = Observation("exception", "KeyError", "'class_type'")
    assert verdict(key, fenced("KeyError: 'class_type'")) == "as_reported"
    assert verdict(key, fenced("KeyError: 'class_name'")) == "other"


def test_an_error_inside_that_of_a_compiler_counts() -> None:
    wrapped = Observation("exception", "InductorError", "RuntimeError: expected scalar type Float but found Half")
    body = fenced("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nRuntimeError: " + BUG.message)
    assert verdict(wrapped, body) == "as_reported"


def test_an_error_is_not_what_a_report_of_a_missing_error_calls_wrong() -> None:
    body = f"It gives:\n{fenced('RuntimeError: ' + BUG.message)}"
    assert verdict(BUG, body, "torch.compile does not raise an error for Half") == "other"
    assert verdict(BUG, body, "conv2d on Half") == "as_reported"


def test_a_name_that_is_missing_is_a_gap_but_where_the_report_quotes_that_error() -> None:
    missing = Observation("lacks_api", "torch.foo", "module 'torch' has no attribute 'foo'")
    quoting = report(fenced("AttributeError: module 'torch' has no attribute 'foo'"))
    [seen] = with_quoted_errors({"2.6.0": [missing]}, quoting)["2.6.0"]
    assert (seen.ending, seen.what) == ("exception", "AttributeError")
    assert with_quoted_errors({"2.6.0": [missing]}, report("torch.foo is wrong"))["2.6.0"] == [missing]


@pytest.mark.parametrize("printed", ["True\n", "0.\n", "tensor(0.)\n", "tensor(True)\n", "nan\n", "1\n"])
def test_a_lone_common_value_is_no_match(printed: str) -> None:
    assert verdict(printed, f"Output:\n{fenced(printed)}") == "other"


def test_words_of_a_comment_count_where_they_were_printed() -> None:
    body = "```python\nprint(f.kind)  # (<class 'torch.Tensor'>, <class 'torch.Tensor'>)\n```"
    assert verdict("(<class 'torch.Tensor'>, <class 'torch.Tensor'>)\n", body) == "as_reported"
    assert verdict("typing.Tuple[torch.Tensor, torch.Tensor]\n", body) == "other"


PRINTED = "sum 12.5000 of 7\ntensor([1.5000, 2.5000])\n"


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (f"Output:\n{fenced(PRINTED)}", "as_reported"),
        (f"Output:\n{fenced('tensor([1.5000, 2.5000])')}", "as_reported"),
        ("```python\nprint(f(x))  # tensor([1.5000, 2.5000])\n```", "as_reported"),
        ("```python\nprint(f(x))\n# Expected: tensor([1.5000, 2.5000])\n```", "as_expected"),
        ("I get `tensor([1.5000, 2.5000])` here.", "as_reported"),
        ("The result should be `tensor([1.5000, 2.5000])`.", "as_expected"),
        ("The result should not be `tensor([1.5000, 2.5000])`.", "other"),
        ("The result should be a view rather than `tensor([1.5000, 2.5000])`.", "other"),
        ("It should differ from `tensor([1.5000, 2.5000])`.", "other"),
        ("It was updated, as expected: `tensor([1.5000, 2.5000])`.", "other"),  # the part that works
        ("With lr `12.5` and `7` steps the loss explodes.", "other"),  # what it was given
        ("It should be `tensor([3., 4.])` but we get `tensor([1.5000, 2.5000])`.", "other"),
        (f"### Expected behavior\n\n{fenced(PRINTED)}", "as_expected"),
        (f"After the fix it prints:\n{fenced(PRINTED)}", "other"),
        (f"NumPy gives:\n{fenced(PRINTED)}", "other"),
        (f"Output:\n{fenced('sum 12.5000 of 7' + chr(10) + 'tensor([1.5000, 2.6000])')}", "other"),  # not all of it
        (f"### Versions\n\n{fenced(PRINTED)}", "other"),
        ("```python\nx = torch.tensor([1.5000, 2.5000])\nprint(x)\n```", "other"),  # the input
        (f"{fenced(PRINTED + 'RuntimeError: it ends so, in an error')}", "other"),
        (fenced("Expected:\nsum 11.0000 of 7\nGot:\nsum 12.5000 of 7"), "as_reported"),
        (fenced("sum 12.5000 of 8\ntensor([1.5000, 2.5000])"), "other"),
    ],
)
def test_printed_values_are_looked_for_where_the_report_shows_them(body: str, match: str) -> None:
    assert verdict(PRINTED, body) == match


SHAPES = "```python\nprint(x.shape)  # torch.Size([2, 3])\nprint(f(x))  # tensor(5.25)\n```\n"


@pytest.mark.parametrize(
    "body",
    [
        f"1.9 prints\n{fenced('torch.Size([2, 3])')}and 1.10\n{fenced('torch.Size([4, 5])')}",  # one of two is a fragment
        SHAPES,
        "```python\nx.var(0)  # => 0\nx.var()  # tensor(7.5000)\n```",
        "```python\nprint(x.shape)  # torch.Size([2, 3])\n```\n" + fenced("RuntimeError: it ends so, in an error"),
        fenced("torch.Size([2, 3])\nSegmentation fault"),
        fenced("caught: RuntimeError: one two three four five\ntensor([1., 2.])"),
    ],
)
def test_what_is_printed_before_the_error_or_beside_the_wrong_value_is_no_match(body: str) -> None:
    fixed = "torch.Size([2, 3])\ntensor(7.5000)\ntensor(7.5000)\ncaught: RuntimeError: one two three four five\n"
    assert verdict(fixed, body) == "other"
    assert verdict(fixed, fenced("torch.Size([2, 3])"), "it hangs behind the first line") == "other"


def test_labels_that_the_script_prints_itself_are_part_of_its_output() -> None:
    body = fenced("expected: 12.5000 7\nactual: 13.5000 7")
    assert verdict("expected: 12.5000 7\nactual: 13.5000 7\n", body) == "as_reported"
    assert verdict("expected: 12.5000 7\nactual: 12.5000 7\n", body) == "other"


def test_numbers_are_compared_as_exactly_as_they_are_printed() -> None:
    assert verdict("0.12345 7.5001", fenced("0.12346 7.5001")) == "as_reported"
    assert verdict("0.12345 7.5001", fenced("0.12355 7.5001")) == "other"
    assert verdict("0.026000000000000002 5.5", fenced("0.026000000000000006 5.5")) == "as_reported"
    assert verdict("16777217.0 5.5", fenced("16777216.0 5.5")) == "other"
    assert verdict("tensor([0.0000, 2.5000])", fenced("tensor([0.0001, 2.5000])")) == "other"


def test_a_comment_by_somebody_who_sees_it_fixed_is_no_evidence() -> None:
    said = f"I cannot reproduce this on main, I get\n{fenced(PRINTED)}"
    assert verdict(PRINTED, "", "odd", said) == "other"
    assert verdict(PRINTED, "", "odd", f"Same here:\n{fenced(PRINTED)}") == "as_reported"


@pytest.mark.parametrize(("more", "match"), [("", "other"), (" It still shows.", "as_reported")])
def test_what_a_comment_tells_of_a_newer_build_is_what_was_reported_only_where_it_is_still_there(
    more: str, match: str
) -> None:
    comment = f"On nightly this prints:{more}\n\n" + fenced("tensor([1.5000, 2.5000])")
    assert verdict("tensor([1.5000, 2.5000])\n", "It is odd.", "something is odd", comment) == match


def test_a_heading_may_be_underlined() -> None:
    body = "Expected behavior\n-----------------\n\n" + fenced("tensor([1.5000, 2.5000])")
    assert verdict("tensor([1.5000, 2.5000])\n", body) == "as_expected"


@pytest.mark.parametrize(
    ("line", "match"), [("Output:", "other"), ("Actual:", "as_reported"), ("The sum:", "as_expected")]
)
def test_a_line_that_tells_what_happens_ends_a_section_of_what_is_expected(line: str, match: str) -> None:
    body = f"### Expected behavior\n\nIt adds.\n\n{line}\n" + fenced("1") + "and\n" + fenced("tensor([1.5000, 2.5000])")
    assert verdict("1\ntensor([1.5000, 2.5000])\n", body) == match


def test_that_a_script_itself_tells_of_an_error_is_not_what_was_expected() -> None:
    said = "No ValueError was raised by the call\n"
    assert verdict(said, f"### Expected behavior\n\n{fenced(said)}") == "other"
    assert verdict(said, f"It prints\n{fenced(said)}") == "as_reported"


@pytest.mark.parametrize(
    "block",
    [
        "    >>> f(x)\n    tensor([1.5000, 2.5000])\n",
        ">>> f(x)\ntensor([1.5000, 2.5000])\n",
        "<pre>\ntensor([1.5000, 2.5000])\n</pre>\n",
        "```python\nimport torch\nprint(f(x))\ntensor([1.5000, 2.5000])\n```\n",
        "> ```\n> tensor([1.5000, 2.5000])\n> ```\n",
        "    import torch\n    print(f(x))  # tensor([1.5000, 2.5000])\n",
    ],
)
def test_outputs_are_read_in_every_form_of_markdown(block: str) -> None:
    assert verdict("tensor([1.5000, 2.5000])\n", f"It prints this:\n\n{block}") == "as_reported"


def test_what_one_end_of_a_segment_shows_is_not_said_of_the_other() -> None:
    runs = {"2.6.0": [Observation("ok", printed="9.5367e-06")], "2.13.0": [Observation("ok", printed="4.7683e-10")]}
    [found] = matched(segments(runs), runs, report("It should be `4.7683e-10`."))
    assert found.match == "other"


def test_of_mixed_runs_one_that_does_as_reported_decides() -> None:
    runs = {"2.13.0": [Observation("ok"), DIES]}
    [found] = matched(segments(runs), runs, report("segmentation fault"))
    assert (found.ending, found.match) == ("mixed", "as_reported")


def test_beside_what_was_not_found_stands_the_error_that_the_report_quotes() -> None:
    body = fenced('Traceback (most recent call last):\n  File "a.py", line 1\ntorch.Odd.RecursionError: too deep\n')
    assert of(Observation("ok", printed="1"), report(body)).evidence == "the report quotes RecursionError"
    assert of(Observation("ok", printed="1"), report("It raises RecursionError: too deep")).evidence == ""


def test_a_message_is_compared_with_that_of_the_report_and_not_with_the_code_around_it() -> None:
    seen = Observation(
        "exception", "RuntimeError", "Given groups=1, weight of size [2, 2, 1, 1], expected input to have 2"
    )
    trace = "RuntimeError     Traceback (most recent call last)\n  groups weight of size expected input to have 2\n"
    assert verdict(seen, fenced(trace + "RuntimeError: Cannot insert a Tensor that requires grad")) == "other"
    long = Observation(
        "exception", "RuntimeError", "The operation failed.\nTraceback, most recent call last:\nmat2 is no matrix"
    )
    body = fenced(
        "RuntimeError:\nmatrices expected, got 2D, 3D tensors:\nThe operation failed.\nTraceback, most recent"
    )
    assert verdict(long, body.replace("RuntimeError:\n", "RuntimeError: ")) == "other"


def test_an_error_of_now_in_a_comment_is_not_the_reported_one() -> None:
    trace = fenced(f"RuntimeError: {BUG.message}")
    assert verdict(BUG, "It is silent.", "odd", f"Errors now.\n{trace}") == "other"
    assert verdict(BUG, "It is silent.", "odd", f"I still see this:\n{trace}") == "as_reported"


def test_one_of_two_errors_that_differ_is_not_the_reported_difference() -> None:
    trace = fenced(f"RuntimeError: {BUG.message}")
    assert verdict(BUG, trace, "x[100] and x[-100] raise different error messages") == "other"


def test_of_two_programs_the_title_says_which_one_dies() -> None:
    body = f"It prints nothing.\n\n{fenced('import torch')}\n2. A segfault with this:\n\n{fenced('import torch, os')}"
    assert verdict(DIES, body) == "other"
    assert verdict(DIES, body, "segfault in the profiler") == "as_reported"
    assert verdict(DIES, f"It dies by a segfault.\n\n{body}") == "as_reported"


def test_the_same_error_about_another_name_is_another_error() -> None:
    seen = Observation("exception", "AttributeError", "'Tensor' object has no attribute 'foo'")
    assert verdict(seen, fenced("AttributeError: 'NoneType' object has no attribute 'shape'")) == "other"
    assert verdict(seen, fenced("AttributeError: 'Tensor' object has no attribute 'foo'")) == "as_reported"
    lacks = {"1.13.1": [Observation("lacks_api", "torch.compile", "module 'torch' has no attribute 'compile'")]}
    quoted = report(fenced("AttributeError: module 'torch' has no attribute 'frobnicate'"))
    assert with_quoted_errors(lacks, quoted) == lacks


@pytest.mark.parametrize(
    "body",
    [
        "I also tried this, then:\n\n{}",
        "It prints garbage instead of raising:\n\n{}",
        "MATLAB gives:\n\n{}",
        "Here's a related issue:\n\n{}",
        "It should fail with\nRuntimeError: " + BUG.message,
    ],
)
def test_errors_of_something_else_are_not_the_reported_one(body: str) -> None:
    assert verdict(BUG, body.format(fenced(f"RuntimeError: {BUG.message}"))) != "as_reported"


def test_words_that_are_no_signal_match_none() -> None:
    assert verdict(Observation("signal", "SIGFPE"), "The difference is larger than floating point error.") == "other"
    assert verdict(Observation("signal", "SIGKILL"), "I killed it after an hour.") == "other"
    assert verdict(Observation("signal", "SIGABRT"), "I aborted the run.") == "other"
