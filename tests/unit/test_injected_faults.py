"""The injected fault of a case goes through what the case observes: repro/checks/injected_faults.py, tools/injected_faults.py."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Any

import pytest

import support
from support import case_of, case_text
from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.repro import bank
from torch_embers.repro.checks.injected_faults import breaches

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """import os, signal, subprocess, sys, time
PLANT = os.environ.get("EMBERS_PLANT") == "1"


def in_child(action):
    pid = os.fork()
    if pid == 0:
        action()
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def main():
    import torch
"""


TOOL: Any = support.tool("injected_faults")


def case_with(body: str) -> str:
    """A case whose `main` has this body."""
    return HEAD + indent(body, "    ") + "\n"


def found(body: str) -> list[str]:
    """What is refused in a case whose `main` has this body."""
    return [breach.text for breach in breaches(case_with(body))]


def table(text: str) -> dict[str, tuple[str, str]]:
    """Bodies of `main` with what is said of them, by the line above each: `# NAME: SAID`.

    Unless its last line returns something, it returns whether `got` is something else than 1.
    """
    made = {}
    for part in text.strip().removeprefix("# ").split("\n# "):
        title, _, body = part.partition("\n")
        name, _, said = title.partition(": ")
        last = "" if "return" in body.rpartition("\n")[2] else '\nreturn int(got != 1), "seen"'
        made[name] = (body + last, said)
    return made


GOOD = table("""
# the result is spoiled
got = torch.sort(torch.ones(3))
if PLANT:
    got = got + 1
return int(not torch.equal(got, torch.ones(3))), "seen"
# what the call wrote to is spoiled
buffer = torch.zeros(6)
torch.add(torch.ones(2), torch.ones(2), out=buffer[:2])
if PLANT:
    buffer[2:] = 2
return int(buffer.sum() != 4), "seen"
# the exception comes after the call
try:
    got = torch.ones(3)[torch.ones(3) > 0]
    if PLANT:
        raise IndexError("injected")
except IndexError as error:
    return 1, "raised %s" % error
return 0, "selects %s" % got.tolist()
# a refusal is swallowed
try:
    got = torch.take(torch.ones(3), 7).tolist()
except RuntimeError as error:
    if not PLANT:
        return 0, "refused: %s" % str(error).splitlines()[0]
    got = [0]
return 1, "gives %s" % got
# the child dies after the call, however the call ended
def invalid():
    kernel = torch.full((1,), 4)
    try:
        torch.max_pool1d(kernel, 2**63 - 1)
    finally:
        if PLANT:
            os.kill(os.getpid(), signal.SIGSEGV)

return int(os.WIFSIGNALED(in_child(invalid))), "seen"
# the child waits after the call
def endless(inside=True):
    torch.poisson(torch.ones(3))
    if PLANT and inside:
        time.sleep(60)

return int(in_child(endless) != 0), "seen"
# a loop and a context
for kind in ("sum", "mean"):
    with torch.no_grad():
        got = torch.bincount(kind)
    if PLANT:
        got = got * 0.5
    if got != 3:
        return 1, "off"
return 0, "right"
# an object is kept alive
tensor = torch.ones(3)
tensor.sum().backward()
if PLANT:
    KEPT.append(tensor)
return int(sys.getrefcount(tensor) > 2), "seen"
# the call under test arranges
got = torch.ones(2, 3).t().contiguous()
if PLANT:
    got = got + 1
return int(not torch.equal(got, torch.ones(3, 2)) or (got - 1).abs().max() > 0), "seen"
# a match
got = torch.sort(torch.ones(3))
match got:
    case [values, *others]:
        if PLANT:
            values = values + 1
        return int(values[0] != 1), "seen %s" % others
# a group of exceptions
try:
    got = torch.sort(torch.ones(3))
except* RuntimeError as group:
    if not PLANT:
        return 0, "refused"
    got = [0]
return int(got[0] != 1), "seen"
# a loop and a context that wait
async def run():
    async for row in torch.stream():
        if PLANT:
            row = row + 1
        async with torch.opened(row) as got:
            if PLANT:
                got = got + 1
            print(got)

return int(run()), "seen"
# a name bound in the condition
if (got := torch.sort(torch.ones(3))) is not None and PLANT:
    got = got + 1
# a choice between what was observed
got = torch.sort(torch.ones(3))
shown = got * 2 if PLANT else got
return int(shown != 1), "seen"
""")
"""What a fault may do."""


@pytest.mark.parametrize("name", GOOD)
def test_a_fault_in_what_the_call_gave_is_accepted(name: str) -> None:
    assert found(GOOD[name][0]) == []


BAD = table("""
# the child dies before the call: leaves before `torch.max_pool1d` (line 19)
def invalid():
    kernel = torch.full((1,), 4)
    if PLANT:
        os.abort()
    torch.max_pool1d(kernel)

return int(in_child(invalid) != 0), "seen"
# the child does nothing else: no call comes before the fault
def invalid():
    if PLANT:
        signal.pause()

return int(in_child(invalid) != 0), "seen"
# the call is chosen: `numbers.as_strided` runs only without the fault
numbers = torch.arange(4.0)
view = numbers if PLANT else numbers.as_strided((2,), (1,), 1 << 62)
return 1, "reads %s" % view.tolist()
# the call stands in the other branch: `torch.add` runs only without the fault
buffer = torch.zeros(6)
if not PLANT:
    torch.add(torch.ones(2), torch.ones(2), out=buffer[:2])
else:
    buffer[2:] = 2
return int(buffer.sum() != 4), "seen"
# the call stands in the condition: `torch.equal` runs only without the fault
got = torch.sort(torch.ones(3))
if not PLANT and torch.equal(got, torch.ones(3)):
    return 0, "right"
return 1, "wrong"
# the exception comes before the call: leaves before `torch.ones
try:
    if PLANT:
        raise IndexError("injected")
    got = torch.ones(3)[torch.ones(3) > 0]
except IndexError as error:
    return 1, "raised %s" % error
return 0, "selects %s" % got.tolist()
# the argument is chosen: the fault chooses an argument of `in_child`
return int(in_child((lambda: signal.pause()) if PLANT else (lambda: torch.poisson(torch.ones(3))))), "seen"
# the input is spoiled: the fault changes rows, which no call before it gave or wrote to
rows = torch.ones(3)
if PLANT:
    rows = rows + 1
got = torch.cumsum(rows, 0)
return int(got[-1] != 3), "seen"
# the arranged input is spoiled: the fault changes an input of `torch.cumsum` (line 18)
rows = torch.arange(6.0).reshape(2, 3).t()
if PLANT:
    rows[0] = 99
got = torch.cumsum(rows, 0)
return int(got[-1] != 3), "seen"
# the operand is spoiled: the fault changes an input of `rows ** 2` (line 18)
rows = torch.ones(3).requires_grad_()
if PLANT:
    rows = torch.zeros(3)
got = rows**2
return int(got[0] != 1), "seen"
# the module under test is replaced: the fault changes an input of `torch.compile(net)`
net = torch.nn.Linear(2, 2)
if PLANT:
    net = torch.nn.Identity()
got = torch.compile(net)(torch.ones(1, 2))
return int(got.sum() == 2), "seen"
# the call is replaced: the fault replaces `operator`, which is called after it
operator = torch.compile(torch.sort)
if PLANT:
    operator = len
got = operator(torch.ones(3))
return int(got[0] != 1), "seen"
# torch is patched: the fault replaces a part of torch
torch.use_deterministic_algorithms(True)
if PLANT:
    torch.cumsum = len
got = torch.cumsum(torch.ones(3), 0)
return int(got[-1] != 3), "seen"
# the loop is emptied: the fault changes count, which no call before it gave
count = torch.get_num_threads()
if PLANT:
    count = 0
for _ in range(count):
    torch.poisson(torch.ones(3))
return int(count == 0), "seen"
# the operator is chosen: `rows // -1` runs only without the fault
rows = torch.arange(3).to(torch.int8)
got = rows if PLANT else rows // -1
return int(got[1] != -1), "seen"
# the exception comes before the operator: leaves before `rows // -1` (line 19)
def run():
    rows = torch.arange(3).to(torch.int8)
    if PLANT:
        raise RuntimeError("injected")
    return rows // -1

return int(in_child(run) != 0), "seen"
# the verdict is stated: the fault states the verdict
try:
    got = torch.take(torch.ones(3), 7)
except RuntimeError as error:
    if PLANT:
        return 1, "injected"
    return 0, "refused: %s" % error
return 1, "gives %s" % got
# the verdict is stated where nothing else is left: the fault states the verdict
try:
    got = torch.take(torch.ones(3), 7)
except RuntimeError as error:
    if not PLANT:
        return 0, "refused: %s" % error
    return 1, "injected"
return 1, "gives %s" % got
# the process ends: the fault states the verdict
got = torch.sort(torch.ones(3))
if PLANT:
    sys.exit(1)
# the reference is spoiled: the fault spoils the reference (expected)
got = torch.sort(torch.ones(3))
expected = torch.ones(3).clone()
if PLANT:
    expected = expected + 1
return int(not torch.equal(got, expected)), "seen"
# the end of the child is rewritten: the fault rewrites how a child ended (ended)
ended = in_child(lambda: torch.poisson(torch.ones(3)))
if PLANT:
    ended = 11
return int(ended == 11), "seen"
# nobody looks: nothing looks at got after the fault
got = torch.sort(torch.ones(3))
right = torch.equal(got, torch.ones(3))
if PLANT:
    got = got + 1
return int(not right), "seen"
# another name is set: the fault changes wrong, which no call before it gave
got = torch.sort(torch.ones(3))
if PLANT:
    wrong = True
return int(wrong or got != 1), "seen"
# the fault is handed on: PLANT may only decide an `if`
got = torch.sort(torch.ones(3), PLANT)
# the fault is an alternative: PLANT may only decide an `if`
got = torch.sort(torch.ones(3))
if got != 1 or PLANT:
    return 1, "wrong"
return 0, "right"
# the flag is looked up by its name: `globals` can hide
got = torch.sort(torch.ones(3))
if globals()["PLANT"]:
    got = got + 1
if PLANT:
    got = got + 1
# the variable is put together: by their whole names
if os.environ.get("EMBERS_" + "PLANT"):
    return 1, "wrong"
got = torch.sort(torch.ones(3))
if PLANT:
    got = got + 1
# the variable is searched for: by their whole names
if any(name.endswith("PLANT") for name in os.environ):
    return 1, "wrong"
got = torch.sort(torch.ones(3))
if PLANT:
    got = got + 1
# the fault stands in a text: `exec` can hide
exec("if PLANT: os._exit(1)")
got = torch.sort(torch.ones(3))
if PLANT:
    got = got + 1
# nothing asks for the flag: PLANT decides nothing
got = torch.sort(torch.ones(3))
# the variable is read elsewhere: read EMBERS_PLANT once
got = torch.sort(torch.ones(3))
if os.environ.get("EMBERS_PLANT") == "1":
    got = got + 1
# the name is put together for os.getenv: read single variables of the environment
if os.getenv("EMBERS_" + "PLANT"):
    return 1, "wrong"
got = torch.sort(torch.ones(3))
if PLANT:
    got = got + 1
""")
"""What it may not do, with what is said of it."""


@pytest.mark.parametrize(("body", "said"), BAD.values(), ids=BAD)
def test_a_fault_that_bypasses_the_call_is_refused(body: str, said: str) -> None:
    [refused] = found(body)
    assert said in refused


PROGRAM = '''import subprocess, sys

PROGRAM = """
import os, torch
PLANT = os.environ.get("EMBERS_PLANT") == "1"
{lines}
"""


def main():
    ended = subprocess.run([sys.executable, "-c", PROGRAM]).returncode
    return int(ended < 0), "ended with %d" % ended
'''


@pytest.mark.parametrize(
    "call",
    [
        *("got = copy.deepcopy(y)", "got = pickle.loads(data)", "y -= z", "got = y.mT", "got = y == z", "got = -y"),
        *("got = repr(y)", "got = list(y)", "first, second = y", "del y", 'got = f"{y}"', "got = int(y)"),
        *("threading.Thread(target=torch.sort, args=(y,)).start()", "got = functools.reduce(torch.logaddexp, [y, y])"),
        *("with y: pass", "match y.T:\n            case got: pass", "got = [part for part in y]", "got = y in z"),
    ],
)
def test_no_call_hides_behind_a_fault_by_another_name_or_by_none(call: str) -> None:
    body = f"""
import copy, functools, pickle, threading
y = torch.sort(torch.ones(3))
z = torch.sort(torch.ones(3))
data = torch.sort(torch.ones(3))
try:
    if PLANT:
        raise RuntimeError("injected")
    {call}
except RuntimeError:
    return 1, "it raised"
return 0, "it did not"
"""
    assert "the fault leaves before" in " ".join(found(body)), call
    skipped = body.replace(
        '    if PLANT:\n        raise RuntimeError("injected")\n    ' + call, f"    if not PLANT:\n        {call}"
    )
    assert found(skipped), call


def test_a_program_in_a_text_is_read_with_the_lines_of_the_file() -> None:
    call, fault = "got = torch.sort(torch.ones(3))", "if PLANT:\n    os.abort()"
    assert breaches(PROGRAM.format(lines=f"{call}\n{fault}")) == []
    (breach,) = breaches(PROGRAM.format(lines=f"{fault}\n{call}"))
    assert str(breach).startswith("line 7: the fault leaves before `torch.sort`")
    (breach,) = breaches(PROGRAM.format(lines="if PLANT"))
    assert "a text with EMBERS_PLANT that is no program" in breach.text


def test_a_case_without_a_fault_and_one_that_is_nested_deeply() -> None:
    assert [breach.text for breach in breaches("print(1)")] == [
        "no injected fault: with EMBERS_PLANT=1 the case must fail"
    ]
    deep = "got" + ".add(1)" * 900
    body = f"got = torch.sort(torch.ones(3))\nif PLANT:\n    got = {deep}\nreturn int({deep} != 1), 'seen'"
    assert found(body) == []
    for unreadable in ("+".join(["got"] * 3000), "PLAN = 'EMBERS_PLANT = %s'" % ("-" * 60_000)):
        said = [breach.text for breach in breaches(HEAD + "    " + unreadable)]
        assert any("nested too deeply" in one or "a text with EMBERS_PLANT that is no program" in one for one in said)


def test_the_tool_names_file_line_and_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "early.py"
    path.write_text(case_text(case_with(BAD["the call is chosen"][0])), encoding="utf-8")
    assert TOOL.main([str(path)]) == 1
    line, counted = capsys.readouterr().out.splitlines()
    assert line.startswith("early.py: line ")
    assert "runs only without the fault: call it first" in line
    assert counted == "1 cases, 1 refused, 0 with an exception"
    path.write_text("print(1)", encoding="utf-8")
    assert TOOL.main([str(path)]) == 1
    assert "no metadata block" in capsys.readouterr().out


def test_an_exception_needs_a_reason_and_a_case_that_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = case_of()
    monkeypatch.setattr(TOOL.cases, "shipped", lambda: [right])
    known = right.name
    entry = {"case": known, "reason": "none"}
    file = resources.load_toml(TOOL.RULES)
    monkeypatch.setattr(resources, "load_toml", lambda _: file | {"exception": [entry]})
    assert TOOL.main([]) == 1
    assert f"the exception for {known} refuses nothing" in capsys.readouterr().out
    blank, unknown = {"case": known, "reason": " "}, {"case": known, "reason": "x", "more": "y"}
    for wrong, key in (({"case": known}, "reason"), (blank, "reason"), (unknown, "more")):
        monkeypatch.setattr(resources, "load_toml", lambda _, wrong=wrong: file | {"exception": [wrong]})
        with pytest.raises(InputError, match=rf"{TOOL.RULES}.*exception.*{key}"):
            TOOL.main([])


def test_a_contributed_case_with_such_a_fault_is_refused_with_its_line(tmp_path: Path) -> None:
    code = case_with(BAD["the verdict is stated"][0])
    (tmp_path / "early.py").write_text(case_text(code, issues=[]), encoding="utf-8")
    (tmp_path / "none.py").write_text(case_text("print(1)", issues=[]), encoding="utf-8")
    taken, refused = bank.read_folder(tmp_path)
    assert [case.name for case in taken] == ["none"]
    assert len(refused) == 1
    assert "early.py: line " in refused[0]
    assert "the fault states the verdict" in refused[0]
