"""Whether what a fix test fails at before the fix is what the fix is about."""

from __future__ import annotations

import pytest

from torch_embers.cases import fix_test_rules
from torch_embers.fixtests.classes import TestClass as ClassOfTest
from torch_embers.fixtests.classes import Trial
from torch_embers.fixtests.doubts import FailingLine, FixTestTexts, doubt, failing_line, may_show_change, with_doubt

CODE = """\
class TestThing(TestCase):
    @mark
    def test_new(self):
        check(1)
        for x in (1, 2):
            def inner():
                check(x)
            inner()
        with self.assertRaises(ValueError):
            check(str(w[0].message))
"""
TEXT = "\n".join(line[4:] for line in CODE.rstrip().split("\n")[1:])
FIRST = 'Traceback (most recent call last):\n  File "/x/case.py", line 4, in test_new\n    check(1)\nE: a\n'
HANDLED = "\nDuring handling of the above exception, another exception occurred:\n\n"


def place(error: str, name: str = "case", code: str = CODE) -> FailingLine | None:
    return failing_line(FixTestTexts(name, "test_new", code, TEXT, None, ""), error)


def test_the_failing_line_is_the_one_of_the_test_in_the_last_traceback() -> None:
    error = (
        FIRST
        + HANDLED
        + (
            'Traceback (most recent call last):\n  File "/lib/unittest.py", line 3, in run\n'
            '  File "/x/case.py", line 8, in test_new\n  File "/x/case.py", line 7, in inner\nE: b\n'
        )
    )
    assert place(error) == FailingLine(7, "inner()", waits_for_error=False)
    assert place(error, name="other") is None
    assert place(error, code="def (") is None
    assert place("ended by SIGSEGV") is None


@pytest.mark.parametrize(
    ("old", "new", "line", "may"),
    [
        ("check(9)", "check(1)", 3, True),
        ("check(y)", "check(x)", 3, False),
        ("check(y)", "check(x)", 4, True),  # a loop comes back
        ("check(y)", "check(x)", 8, True),
        ("@other\n", "@mark\n", 3, True),
        ("check(1)\n    gone()\n", "check(1)\n", 3, True),
        ("(ValueError)", "(ValueError)", 8, False),
    ],
)
def test_a_failure_can_show_a_change_only_where_the_test_gets_to_it(old: str, new: str, line: int, may: bool) -> None:
    before = TEXT.replace(new, old)
    assert may_show_change(before, TEXT, line) is may


def test_a_test_that_was_added_or_cannot_be_parsed_is_not_doubted_for_its_lines() -> None:
    assert may_show_change(None, TEXT, 3)
    assert may_show_change("def (", "def (", 1)
    assert may_show_change("x = 1", "x = 1", 1)


def seen(about: str, failure: str = "RuntimeError: x", line: int = 4, before: str | None = None) -> str | None:
    text = CODE.split("\n")[line - 1].strip()
    error = (
        f'Traceback (most recent call last):\n  File "/x/case.py", line {line}, in test_new\n    {text}\n{failure}\n'
    )
    test = FixTestTexts("case", "test_new", CODE, TEXT, before, about)
    found = doubt(test, failure, error, fix_test_rules.load().doubt)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ("Fix stride of empty tensors (#1)", None),
        ("[JIT] Partially support annotations of tuples (#1)", "feature"),
        ("Add partial support for neg to NestedTensor (#1)", "feature"),
        ("feature: restore shapes (#1)", "feature"),
        ("Add backwards for layer norm (#1)", None),
        ('Reland "[pytorch][PR] Support dataclasses" (#1)', "feature"),
        ("inductor: support sums of strides (#1)", "feature"),
        ("Let norm run without a group (#1)", "feature"),
        ("Add forward AD formulas for pooling (#1)", "feature"),
        ("Add mode property to distributions (#1)", "feature"),
        ("Add argument checks to conv (#1)", None),
        ("add parameters check for transpose (#1)", None),
        ("Change lists to be able to hold anything (#1)", "feature"),
        ("Mend lists (#1)\n[Feature Request] lists of anything", "feature"),
        ("Mend lists (#1)\nLists have no feature left", None),
        ("Fix unsupported dtype of where() (#1)", None),
        ("[nn] zero_grad() set_to_none default True (#1)", "deliberate_change"),
        ("Deprecate masks of integers (#1)", "deliberate_change"),
        ("Improve error message of norm (#1)", "message"),
        ("Better checks of sorter (#1)", None),
        ("[JIT] Add semantics of classes (#1)", "feature"),
        ("To add an order to gradients (#1)", "feature"),
        ("Added handling for empty sums (#1)", None),
        ("fixes #1 #2: complex support for linspace (#3)", "feature"),
        ("Fix optimizers: support for empty gradients (#1)", None),
        ("Finish deprecation cycle of views (#1)", "deliberate_change"),
        ("cleaned up errors of modules (#1)", "deliberate_change"),
        ("Faster sums of sparse tensors (#1)", "performance"),
        ("[nn] speed up loading (#1)", "performance"),
        ("Fix slow and wrong sums (#1)", None),
        ("Mend states of optimizers (#1)", None),
        ("fix bounds in torch.testing.make_tensor (#1)", "testing_package"),
        ("Mend test (#1)\nassert_close takes no scalars", "testing_package"),
        ("Increase tolerance for test_sum (#1)", "test_only"),
        ("Re-enable flaky sums (#1)", "test_only"),
        ("Fix distributed tests on Windows (#1)", "test_only"),
        ("Fix testing of bounds (#1)", None),
        ("Fix cumsum on CUDA (#1)", "other_device"),
        ("Fix pool: cuda & cpu (#1)", None),
        ("[jit] Throw an error for empty containers (#1)", "new_check"),
        ("Show warnings of empty containers (#1)", "new_check"),
        ("Fix the docstring of sums (#1)", "documentation"),
        ("Docs of sums (#1)", "documentation"),
        ("Fix sums of documents (#1)", None),
        ("Round in line with NumPy 1.20 (#1)", "deliberate_change"),
        ("Fix rounding, consistent with NumPy (#1)", None),
        ("Fix cumsum (#1)\ncumsum is wrong on CUDA", "other_device"),
    ],
)
def test_the_subject_and_the_titles_say_what_a_fix_is_about(about: str, reason: str | None) -> None:
    assert seen(about) == reason


@pytest.mark.parametrize(
    ("about", "failure", "reason"),
    [
        ("Forward AD of pooling (#1)", "NotImplementedError: forward AD with pool", "not_implemented"),
        ("Complex sums (#1)", 'RuntimeError: "sum_cpu" not implemented for ComplexHalf', "not_implemented"),
        ("Fix complex sums (#1)", 'RuntimeError: "sum_cpu" not implemented for ComplexHalf', None),
        ("Update search (#1)", "RuntimeError: \"search_cpu\" not implemented for 'Half'", "not_implemented"),
        (
            "Fix search (#1)\nWrong for strides",
            "RuntimeError: \"search_cpu\" not implemented for 'Half'",
            "not_implemented",
        ),
        ("Fix search of half precision (#1)", "RuntimeError: \"search_cpu\" not implemented for 'Half'", None),
        ("Lists in scripts (#1)", "RuntimeError: Only ModuleList modules are subscriptable", "not_implemented"),
        ("Fix lists in scripts (#1)", "RuntimeError: Only ModuleList modules are subscriptable", None),
        ("Orders of gradients (#1)", "RuntimeError: torch.gradient only supports edge_order=1", "not_implemented"),
        ("Mend empty weights (#1)", "AssertionError: UserWarning not triggered", "new_check"),
        ("Warn of empty weights (#1)", "AssertionError: UserWarning not triggered", None),
        ("Take unions (#1)", "Unsupported: call_function", None),
        ("Mend formulas of several outputs (#1)", "AssertionError: RuntimeError not raised", "new_check"),
        ("Check weights of sums (#1)", "AssertionError: RuntimeError not raised", None),
        (
            "Mend equality of modes (#1)",
            "TypeError: __init__(): incompatible constructor arguments.",
            "lacks_interface",
        ),
        (
            "Mend hooks (#1)",
            "torch.nn.modules.module.ModuleAttributeError: 'Sigmoid' object has no attribute 'hook'",
            "lacks_interface",
        ),
        ("Fix attributes of modules (#1)", "ModuleAttributeError: 'Sigmoid' object has no attribute 'hook'", None),
        ("Mend modes (#1)", "TypeError: missing inner keyword argument; pass it", "lacks_interface"),
        (
            "Mend floors (#1)",
            "TypeError: divide() received an invalid combination of arguments - got (Tensor, mode=NoneType), but",
            "lacks_interface",
        ),
        (
            "Take None for a mode (#1)",
            "TypeError: divide() received an invalid combination of arguments - got (Tensor, mode=NoneType), but",
            None,
        ),
    ],
)
def test_a_missing_ability_and_a_guard_that_nothing_speaks_of_are_doubted(
    about: str, failure: str, reason: str | None
) -> None:
    assert seen(about, failure) == reason


def test_another_error_than_the_one_that_a_test_waits_for_is_doubted() -> None:
    waiting = CODE.replace("str(w[0].message)", "w")
    assert place(frame(10), code=waiting) == FailingLine(9, "check(w)", waits_for_error=True)
    assert place(frame(9), code=waiting) == FailingLine(8, "with self.assertRaises(ValueError):", waits_for_error=False)
    test = FixTestTexts("case", "test_new", waiting, TEXT, None, "Check the range (#1)")
    rules = fix_test_rules.load().doubt
    assert doubt(test, "IndexError: out of range", frame(10), rules) == ("other_error", "check(w)")
    assert doubt(test, "AssertionError: ValueError not raised", frame(10), rules) is None
    assert doubt(test, "RuntimeError: INTERNAL ASSERT FAILED", frame(10), rules) is None
    assert doubt(test, "IndexError: out of range", frame(4), rules) is None


def frame(line: int) -> str:
    return f'Traceback (most recent call last):\n  File "/x/case.py", line {line}, in test_new\n    x\nE: y\n'


def test_an_internal_error_or_a_crash_is_a_defect_even_before_a_feature() -> None:
    for failure in ("InternalTorchDynamoError: x", "RuntimeError: INTERNAL ASSERT FAILED", "ended by SIGSEGV"):
        assert seen("Support typing.Union (#1)", failure) is None


def test_a_line_that_looks_into_a_text_and_one_in_front_of_every_change_are_doubted() -> None:
    assert seen("Fix it (#1)", line=10) == "message"
    assert seen("Fix it (#1)", before=TEXT.replace("check(x)", "check(y)")) == "other_line"
    assert seen("Fix it (#1)", before=TEXT.replace("check(1)", "check(2)")) is None


def test_words_looked_for_in_a_printed_graph_are_doubted_and_words_in_an_output_are_not() -> None:
    rules = fix_test_rules.load().doubt
    for call, reason in (
        ("run(fn.graph)", "expected_text"),
        ("run('If', graph)", "expected_text"),
        ("run(out.getvalue())", None),
    ):
        code = CODE.replace("check(1)", f"FileCheck().check('If').{call}")
        failed = frame(next(number for number, line in enumerate(code.split("\n"), 1) if "FileCheck" in line))
        found = doubt(
            FixTestTexts("case", "test_new", code, TEXT, None, "Mend (#1)"),
            'RuntimeError: Expected to find "If" but did not find it',
            failed,
            rules,
        )
        assert (found and found[0]) == reason


def test_a_doubted_validated_test_is_doubtful_and_one_that_fails_after_its_fix_keeps_its_class() -> None:
    test = FixTestTexts("case", "test_new", CODE, TEXT, None, "Support tuples (#1)")
    trials = [Trial("1.13.1", "failed", "x", "ValueError: x", FIRST), Trial("2.0.1", "passed")]
    rules = fix_test_rules.load().doubt
    validated = ClassOfTest("validated", validated_before="1.13.1", validated_after="2.0.1")
    found = with_doubt(validated, trials, test, rules)
    assert (found.kind, found.reason, found.validated_before) == ("doubtful", "feature", "1.13.1")
    after = with_doubt(ClassOfTest("fails_after", validated_before="1.13.1"), trials, test, rules)
    assert (after.kind, after.reason) == ("fails_after", "feature")
    unseen = ClassOfTest("never_seen", "passes_before")
    assert with_doubt(unseen, trials, test, rules) is unseen
