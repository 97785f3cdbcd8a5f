"""A case injects its fault behind the call under test, and takes refusals by their words: cases/case_rules.py."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Any

import pytest

import support
from support import case_of, case_text
from torch_embers.cases import bank
from torch_embers.cases import case as cases
from torch_embers.cases.case_rules import breaches, needless

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '''import os, signal, sys

def spoil(observed):
    """What the bug would give."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 0
    return observed

'''
TOOL: Any = support.tool("check_cases")


def case_with(body: str) -> str:
    """A case whose `main` has this body."""
    return f"{HEAD}def main():\n    import torch\n\n{indent(body.strip(), '    ')}\n"


GOOD = {
    "the result": """
got = torch.sort(torch.ones(3))
got = spoil(got)
return int(got != 1), "seen"
""",
    "what the call wrote to": """
buffer = torch.zeros(6)
torch.add(torch.ones(2), torch.ones(2), out=buffer[:2])
buffer = spoil(buffer)
return int(buffer.sum() != 4), "seen"
""",
    "what was made of the result": """
sums = torch.compile(add)(torch.ones(3))
got = sums.tolist()
got = spoil(got)
return int(got != [1]), "%s" % got
""",
    "a call that only arranges, and comparisons after it": """
got = torch.ones(2, 3).t().contiguous()
got = spoil(got)
return int(not torch.equal(got, torch.ones(3, 2))), "off by %g" % got.max()
""",
    "an operator": """
got = torch.ones(3) ** 2
got = spoil(got)
return int(got != 1), "seen"
""",
    "a refusal": """
try:
    got = torch.take(torch.ones(3), 7)
except RuntimeError as error:
    if not is_refusal(error):
        raise
    got = error
got = spoil(got)
if isinstance(got, Exception):
    return 0, "refused: %s" % got
return 1, "gives %s" % got
""",
    "a child that dies however the call ended": """
def invalid():
    try:
        torch.max_pool1d(torch.ones(1), 2**63 - 1)
    finally:
        spoil(None)

return int(in_child(invalid) != 0), "seen"
""",
    "a loop and a context": """
for kind in ("sum", "mean"):
    with torch.no_grad():
        got = torch.bincount(kind)
    got = spoil(got)
    if got != 3:
        return 1, "off"
return 0, "right"
""",
    "a maker of tensors": """
got = torch.arange(0, 1, 0.1)
got = spoil(got)
return int(got.tolist() != TRUTH), "seen"
""",
    "a reduction": """
got = values.max()
got = spoil(got)
return int(got != 3), "seen"
""",
    "a test of the round before": """
for size in (1, 2):
    if size == 2 and got != 1:
        return 1, "off"
    got = torch.bincount(size)
    got = spoil(got)
return 0, "right"
""",
    "a comparison by a function of the case": """
def off(one, truth):
    return torch.nn.functional.mse_loss(one, truth)

got = torch.sort(torch.ones(3))
got = spoil(got)
if off(got, TRUTH) > 1:
    return 1, "off"
return 0, "right"
""",
    "an object that is kept": """
tensor = torch.ones(3)
tensor.sum().backward()
tensor = spoil(tensor)
del tensor
return int(watch() is not None), "seen"
""",
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_a_fault_in_what_the_call_gave_is_accepted(body: str) -> None:
    assert breaches(case_with(body), "own") == []


SORTED = "got = torch.sort(torch.ones(3))\n"
BAD = {
    "before the call": (
        "got = torch.ones(3)\ngot = spoil(got)\ngot = torch.sort(got)\nreturn int(got != 1)",
        "a call behind the fault takes got",
    ),
    "nothing before it": ("got = 1\ngot = spoil(got)\nreturn int(got != 1)", "no call before the fault gave got"),
    "a computed input": (
        "rows = torch.ones(3) * 1.0\nrows = spoil(rows)\ngot = torch.sum(rows.t(), 0)\ngot = torch.cumsum(rows, 0)\nreturn int(got != 3)",
        "a call behind the fault takes rows",
    ),
    "an input that an earlier call took": (
        "rows = torch.zeros(4)\nrows.requires_grad_()\nrows = spoil(rows)\ngot = torch.cumsum(rows, 0)\nreturn int(got != 3)",
        "a call behind the fault takes rows",
    ),
    "an operand": (
        "rows = torch.ones(3)\nrows = spoil(rows)\ngot = rows**2\nreturn int(got != 1)",
        "a call behind the fault takes rows",
    ),
    "only in a message": (
        SORTED + "if got == 1:\n    return 0, 'right'\ngot = spoil(got)\nreturn 1, 'wrong: %s' % got",
        "no test looks at got",
    ),
    "an arranged input": (
        "rows = torch.ones(2, 3).t()\nrows = spoil(rows)\ngot = torch.cumsum(rows, 0)\nreturn int(got != 1)",
        "a call behind the fault takes rows",
    ),
    "nobody looks": (SORTED + "right = torch.equal(got, 1)\ngot = spoil(got)\nreturn int(not right)", "no test looks"),
    "the reference": (
        SORTED + "expected = got.tolist()\nexpected = spoil(expected)\nreturn expected",
        "spoils expected",
    ),
    "how a child ended": ("ended = in_child(run)\nended = spoil(ended)\nreturn int(ended == 11)", "spoils ended"),
    "a child that does nothing else": (
        "def child():\n    spoil(None)\n\nreturn in_child(child)",
        "no call comes before",
    ),
    "a child that dies before the call": (
        "def child():\n    kernel = torch.sort(1)\n    spoil(None)\n    torch.max_pool1d(kernel)\n\nreturn in_child(child)",
        "leaves before the call",
    ),
    "two lines": (SORTED + "got = spoil(got)\ngot = spoil(got)\nreturn got", "one line"),
    "another name": (SORTED + "wrong = spoil(got)\nreturn wrong", "one line"),
    "handed on": (SORTED + "got = run(spoil, got)\nreturn got", "one line"),
    "no line": (SORTED + "return got", "one line"),
    "read elsewhere": (
        SORTED + 'got = spoil(got)\nreturn int(got != 1 or os.environ["EMBERS_PLANT"])',
        "read outside",
    ),
}


@pytest.mark.parametrize(("body", "said"), BAD.values(), ids=BAD)
def test_a_fault_that_bypasses_the_call_is_refused(body: str, said: str) -> None:
    (breach,) = breaches(case_with(body), "own")
    assert said in breach


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return observed", "return 1"),
        ('== "1"', "is not None"),
        ("def spoil(observed)", "def spoil(observed, inside=True)"),
        ("    return observed", "    print(observed)\n    return observed"),
        ("observed = 0", "sys.exit(1)"),
        ("observed = 0", "return 0"),
    ],
)
def test_the_function_of_the_fault_has_one_form(old: str, new: str) -> None:
    code = case_with(GOOD["the result"])
    assert any("has not the form" in breach for breach in breaches(code.replace(old, new, 1), "own"))


def test_a_program_in_a_text_has_a_fault_of_its_own() -> None:
    inner = HEAD.replace('    """What the bug would give."""\n', "") + "import torch\ngot = torch.sort(1)\n"
    program = f'import subprocess, sys\n\nPROGRAM = """\n{inner}spoil(None)\n"""\n'
    assert breaches(program, "own") == []
    (breach,) = breaches(program.replace("got = torch.sort(1)\n", ""), "own")
    assert breach == "line 12: no call comes before the fault: put it behind the call under test"


def test_a_text_that_only_tells_of_a_fault_is_no_program() -> None:
    code = case_with(GOOD["the result"])
    (breach,) = breaches(code + 'TEXT = "def spoil(observed): asks EMBERS_PLANT"\n', "own")
    assert "EMBERS_PLANT is read outside of `spoil`" in breach
    assert breaches(f'"""Of def spoil(observed), which asks EMBERS_PLANT."""\n{code}', "own") == []
    old = 'import os\n\nPLANT = os.environ.get("EMBERS_PLANT") == "1"\n'
    assert breaches(old, "own")[0].startswith("line 3: no function `spoil` puts in the fault")


def test_another_fault_is_the_same_case_and_another_call_is_not() -> None:
    code = case_with(GOOD["the result"])
    for change in (("observed = 0", "observed = [0]"), ("    got = spoil(got)\n", "    spoil(None)\n")):
        assert case_of(code.replace(*change)).hash == case_of(code).hash
    assert case_of(code.replace("torch.sort", "torch.cumsum")).hash != case_of(code).hash


HANDLER = "try:\n    got = torch.take(1)\nexcept {caught}:\n    {body}\ngot = spoil(got)\nreturn got"


@pytest.mark.parametrize(
    ("caught", "body", "is_open"),
    [
        ("RuntimeError", "return 0, 'refused'", True),
        ("RuntimeError as error", "return 0, 'refused: %s' % error", True),
        ("", "got = 1", True),
        ("BaseException", "raise SystemExit(3)", True),
        ("RuntimeError as error", "return 125, 'cannot be tested: %s' % error", False),
        ("RuntimeError as error", "if not is_refusal(error):\n        raise\n    got = error", False),
        ("BaseException as error", "os._exit(3 if is_refusal(error) else 4)", False),
        ("ImportError", "got = 1", False),
    ],
)
def test_a_handler_that_takes_any_message_is_refused(caught: str, body: str, is_open: bool) -> None:
    found = breaches(case_with(HANDLER.format(caught=caught, body=body)), "own")
    assert [line for line in found if "takes any message" in line] == found
    assert bool(found) is is_open


def test_what_swallows_exceptions_unseen_is_refused() -> None:
    for body in (
        "with suppress(RuntimeError):\n    got = torch.sort(1)",
        "try:\n    got = torch.sort(1)\nfinally:\n    return 0",
    ):
        assert breaches(case_with(f"{body}\ngot = spoil(got)\nreturn got"), "own")


def test_an_allowed_handler_that_no_case_has_is_named() -> None:
    assert any("pt174861_attention_decode_long_context has no such `except TypeError`" in line for line in needless([]))


def test_a_case_that_is_nested_deeply_is_refused_in_one_line() -> None:
    assert breaches(HEAD + "+".join(["got"] * 30_000), "own") in (
        ["line 1: an expression is nested too deeply to be read: split it"],
        ["line 3: one line `x = spoil(x)` or `spoil(None)` is wanted, and no other use of `spoil`"],
    )


def test_the_tool_and_a_run_of_own_cases_name_file_line_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "early.py"
    path.write_text(case_text(case_with(BAD["nobody looks"][0])), encoding="utf-8")
    assert TOOL.main([str(path)]) == 1
    line, counted = capsys.readouterr().out.splitlines()
    assert line.startswith("early.py: line ")
    assert "no test looks at got" in line
    assert counted == "1 mistakes in 1 cases"
    (refused,) = bank.read_folder(tmp_path)[1]
    assert refused.startswith(f"{path}: line ")
    path.write_text(case_text("print(1)"), encoding="utf-8")
    assert bank.read_folder(tmp_path)[1] == [], "without a fault it runs too"
    path.write_text(case_text(case_with(GOOD["the result"]), known_bad=["2.1.2", "2.1.77"]), encoding="utf-8")
    assert TOOL.main([str(path)]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "early.py: known_bad: 2.1.77 is no known release"
    path.write_text("print(1)", encoding="utf-8")
    assert TOOL.main([str(path)]) == 1
    assert "no metadata block" in capsys.readouterr().out


def test_no_case_takes_a_refused_allocation_for_a_refusal() -> None:
    spoken = ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8796093022208 bytes.", "out of memory")
    for case in cases.shipped(None):
        if "def is_refusal(" in case.code:
            namespace: dict[str, Any] = {"__name__": case.name}
            exec(case.code.split("\ndef main(")[0], namespace)
            for text in (*spoken, "std::bad_alloc"):
                assert not namespace["is_refusal"](RuntimeError(text)), (case.name, text)
                assert not namespace["is_refusal"](MemoryError(text)), (case.name, text)
