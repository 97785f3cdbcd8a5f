"""The failure that a report tells of: what was printed before what was said, what was said before the title."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers.oracles.signature import Signature, from_traceback, parse
from torch_embers.repro.expectation import Expectation, infer, shows, unwrapped
from torch_embers.repro.values import PrintedOutput

TRACEBACK = """Traceback (most recent call last):
  File "a.py", line 3, in <module>
    torch.foo(x)
  File "/usr/lib/python3/site-packages/torch/x.py", line 41, in foo
    raise
{}
"""


def said(*outputs: str, code: str = "", prose: str = "", title: str = "") -> Expectation:
    return infer([PrintedOutput(text) for text in outputs], code, prose, title)


def names(found: Expectation) -> list[str]:
    return [str(one) for one in found.signature]


def test_the_exception_of_a_traceback_is_taken_without_its_module_numbers_and_place() -> None:
    found = said(TRACEBACK.format("torch.foo.FooError: size 3 of dim 1 at /pytorch/aten/src/THC/x.cpp:35"))
    assert names(found) == ["FooError: size N of dim N"]
    assert found.where == "output"
    assert found.signature[0].place == "x.py:foo"


def test_a_long_message_is_cut_to_its_first_words() -> None:
    found = said(TRACEBACK.format("RuntimeError: " + "word " * 60))
    assert len(found.signature[0].message.split()) == 12


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Segmentation fault (core dumped)", "SIGSEGV"),
        ("Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)", "SIGSEGV"),
        ("Floating point exception (core dumped)", "SIGFPE"),
        ("terminate called after throwing an instance of 'c10::Error'\nAborted (core dumped)", "SIGABRT"),
        ("*** Error in `python': double free or corruption (!prev): 0x0055 ***", "SIGABRT"),
        ("Illegal instruction", "SIGILL"),
        ("Bus error", "SIGBUS"),
        ("AssertionError: Tensor-likes are not close!", "AssertionError: Tensor-likes are not close!"),
        (TRACEBACK.format("AssertionError"), "AssertionError"),
        ("Mismatched elements: 3 / 4 (75.0%)", "mismatch"),
        (TRACEBACK.format("KeyboardInterrupt"), "hang"),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 20 MiB",
            "RuntimeError: CUDA out of memory. Tried to allocate N MiB",
        ),
        ("RuntimeError: expected int, but got: Tensor", "RuntimeError: expected int, but got: Tensor"),
        ("RuntimeError: \nexpected an int", "RuntimeError: expected an int"),
    ],
)
def test_what_ended_the_process_is_read_from_its_output(text: str, expected: str) -> None:
    found = said(text)
    assert names(found) == [expected]
    assert found.where == "output"


def test_outputs_come_before_comments_prose_and_title() -> None:
    found = said("ValueError: no", code="f()  # KeyError", prose="raises `IndexError: x`", title="TypeError in f")
    assert names(found) == ["ValueError: no"]
    found = said(code="f()  # KeyError: 3", prose="raises `IndexError: x`", title="TypeError in f")
    assert (names(found), found.where) == (["KeyError: N"], "code")
    found = said(prose="raises `IndexError: too many`", title="TypeError in f")
    assert (names(found), found.where) == (["IndexError: too many"], "prose")
    assert said(title="TypeError in f").where == "title"


WORKER = "RuntimeError: DataLoader worker (pid 3) is killed by signal: Segmentation fault."


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (said(title="DataLoader hangs with 2 workers"), "hang"),
        (said(title="Memory leak in LSTM"), "memory"),
        (said(title="conv2d is very slow"), "slow"),
        (said(title="sum returns wrong results"), "mismatch"),
        (said(title="softmax gives nan"), "mismatch"),
        (said(title="Segfault in index_put"), "signal"),
        (said(title="torch.roll: INTERNAL ASSERT FAILED"), "exception"),
        (said(title="Graph break on open()"), "exception"),
        (said(title="Document the new function"), ""),
        # an exception that speaks of a signal, a slip, a warning
        (said(TRACEBACK.format(WORKER)), "exception"),
        (said(TRACEBACK.format("NameError: name 'x' is not defined")), ""),
        (said("UserWarning: this will go"), "mismatch"),
        # an exception that the reporter asks for is not the failure
        (said(prose="Eager correctly raises an `IndexError`; compiled code returns garbage"), "mismatch"),
        (said(code="f()  # ValueError: no", title="f should raise when min > max, now wrong"), "mismatch"),
        (said(prose="It should raise ValueError but returns wrong values"), "mismatch"),
        (said("True\nFalse"), "mismatch"),
        (said("tensor([nan, 1.])"), "mismatch"),
        # an assertion of the script, where nothing else is said
        (said(code="assert x == y"), "assertion"),
        (said(code="def f(x):\n    assert x.dim() == 2"), ""),
        (said(code="x.sum()  # expected 3, got 4"), "mismatch"),
        (said(prose="This gives a dimension mismatch error"), ""),
        (said(prose="There is a mismatch between both"), "mismatch"),
    ],
)
def test_words_and_outputs_tell_the_kind(found: Expectation, kind: str) -> None:
    assert found.kind == kind


def test_printed_and_expected_values_are_kept_apart() -> None:
    outputs = [PrintedOutput("tensor(3.)", "Output:"), PrintedOutput("tensor(4.)", "Expected output:")]
    found = infer(outputs, "", "", "")
    assert (found.actual, found.expected, found.kind) == (("tensor(3.)",), ("tensor(4.)",), "mismatch")


# ---- held against a run --------------------------------------------------------------------------------------------


def test_a_run_shows_the_reported_exception_even_if_it_was_reworded() -> None:
    found = said("RuntimeError: expected scalar type Float but found Double")
    assert shows(found, parse("RuntimeError: expected scalar type Float but found Double for x"), "")
    assert shows(found, parse("RuntimeError: expected m1 and m2 scalar type Float but have found Double"), "")
    assert shows(found, parse("TypeError: expected scalar type Float but found Double"), "")
    assert not shows(found, parse("RuntimeError: the device is unknown"), "")
    assert not shows(found, Signature("signal", "SIGSEGV"), "")
    assert not shows(found, None, "")


def test_the_compiler_may_wrap_the_reported_exception() -> None:
    found = said("TypeError: f() got an unexpected keyword", code="torch.compile(f)(x)")
    assert names(found) == [
        "TypeError: f() got an unexpected keyword",
        "exception: TypeError: f() got an unexpected keyword",
    ]
    assert [parse(text).message for text in names(found)] == [one.message for one in found.signature]
    assert shows(found, parse("BackendCompilerFailed: 'x' raised: TypeError: f() got an unexpected keyword 'y'"), "")
    assert not shows(found, parse("BackendCompilerFailed: 'x' raised: TypeError: g() lacks one"), "")


FAKE = """Traceback (most recent call last):
  File "a.py", line 9, in <module>
    compiled(x)
torch._dynamo.exc.TorchRuntimeError: RuntimeError when making fake tensor call
  Explanation: Dynamo failed to run FX node with fake tensors: call_function <function f>(*(FakeTensor(size=(3,)),)): got {}('{}')
"""


def test_of_an_error_that_the_compiler_wraps_the_words_within_count() -> None:
    found = said(FAKE.format("RuntimeError", "start (5) exceeds the size (3)."), code="torch.compile(f)(x)")
    assert names(found)[0] == "RuntimeError: start (N) exceeds the size (N)."
    again = FAKE.format("RuntimeError", "start (7) exceeds the size (2).")
    other = FAKE.format("AssertionError", "sizes differ: [1]")
    assert shows(found, unwrapped(from_traceback(again), again), "")
    assert not shows(found, unwrapped(from_traceback(other), other), "")
    assert not shows(found, from_traceback(other), "")


def test_a_missing_package_that_a_backend_wraps_is_no_failure_of_the_compiler() -> None:
    shown = "BackendCompilerFailed: backend='tvm' raised:\nImportError: cannot import name 'relay' from 'tvm'"
    found = said(shown, code="torch.compile(f, backend='tvm')(x)", title="The tvm backend fails to import")
    run = TRACEBACK.format(
        "torch._dynamo.exc.BackendCompilerFailed: backend='tvm' raised:\nImportError: Please install apache-tvm"
    )
    assert not shows(found, unwrapped(from_traceback(run), run), "")
    assert not shows(found, from_traceback(run), "")


def test_an_error_shown_short_and_with_its_frames_is_one_error() -> None:
    short = "BackendCompilerFailed: backend='x' raised:\nRuntimeError: a weak reference is gone"
    assert said(short, TRACEBACK.format(short), title="f crashes", code="torch.foo(x)").doubt == ""
    assert "2 different" in said(short, TRACEBACK.format("ValueError: no"), title="f crashes").doubt


def test_a_mismatch_is_shown_by_the_same_print() -> None:
    found = infer(
        [PrintedOutput("tensor([3.14159, 2.0])", "Output:"), PrintedOutput("tensor(1.)", "Expected:")], "", "", ""
    )
    assert shows(found, None, "hello\ntensor([3.1416,   2.])\n")
    assert not shows(found, None, "tensor([1., 2.])")
    assert shows(said(title="sum gives nan"), None, "tensor(nan)") is None


def test_a_run_must_print_every_wrong_line_in_order_and_no_volatile_one() -> None:
    lines = "a\nb\nc\nd\ne\nvalues=tensor([4, 4])\nobject at 0x7f00aa00bb00\ntook 3.1 ms"
    found = infer([PrintedOutput(lines)], "print(x)", "", "min() gives wrong indices")
    assert found.kind == "mismatch"
    assert shows(found, None, "a\nb\nc\nd\ne\nvalues=tensor([4, 4])\n")
    assert not shows(found, None, lines.replace("4, 4", "1, 2"))
    assert not shows(found, None, lines.replace("a\n", ""))
    assert not shows(found, None, "values=tensor([4, 4])\na\nb\nc\nd\ne\n")


def test_of_values_that_are_partly_right_only_the_wrong_lines_count() -> None:
    outputs = [PrintedOutput("x 1\nsum 5", "Output:"), PrintedOutput("x 1\nsum 6", "Expected output:")]
    found = infer(outputs, "", "", "")
    assert (found.actual, found.doubt) == (("sum 5",), "")
    assert shows(found, None, "x 1\nsum 5\n")
    assert not shows(found, None, "x 1\nsum 6\n")


def test_an_assertion_without_words_counts_where_the_script_makes_it() -> None:
    found = said(code="assert f(x) == y")
    assert shows(found, Signature("assertion", "AssertionError", "", "x77.py:<module>"), "")
    assert not shows(found, Signature("assertion", "AssertionError", "", "lowering.py:full"), "")
    tested = said(code="torch.testing.assert_close(a, b)")
    words = "Tensor-likes are not close! Mismatched elements: N / N"
    assert shows(tested, Signature("assertion", "AssertionError", words, "_comparison.py:assert_close"), "")
    assert not shows(tested, Signature("assertion", "AssertionError", "", "lowering.py:full"), "")


@settings(max_examples=example_count(80))
@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200), st.text(max_size=100))
def test_any_text_gives_an_expectation(output: str, code: str, prose: str, title: str) -> None:
    found = said(output, code=code, prose=prose, title=title)
    assert bool(found.signature) == bool(found.where)
    assert len(found.evidence) <= 300
    assert shows(found, None, output) in (True, False, None)


def test_nothing_is_claimed_without_evidence() -> None:
    assert shows(said(title="Document this"), None, "x") is None
    assert shows(said(title="conv2d is slow"), None, "x") is None
    assert shows(said(title="wrong results"), None, "x") is None
