"""How the end of a run is read."""

from __future__ import annotations

import pytest

from torch_embers.sandbox.runner import RunResult
from torch_embers.timeline.observe import last_exception, limits, observe

SITE = "/usr/lib/python3.11/site-packages"
SCRIPT = '  File "/tmp/t.py", line 3, in <module>\n    f(x)\n'
INSIDE = f'  File "{SITE}/torch/functional.py", line 378, in einsum\n    return g()\n'
HANDED_ON = f'  File "{SITE}/torch/__init__.py", line 2, in __getattr__\n    raise AttributeError(\n'
HEAD = "Traceback (most recent call last):\n"
OWN = "class Net:\n    def forward(self, x):\n        pass\n"
NO_API = "AttributeError: module 'torch' has no attribute 'foo'"
NO_METHOD = "AttributeError: 'Net' object has no attribute 'foo'"
NO_WORD = "TypeError: Net.forward() got an unexpected keyword argument 'mask'"


def ended(how: str, number: int | None = None, stdout: str = "", stderr: str = "", detail: str = "") -> RunResult:
    code, signal = (number, None) if how == "exited" else (None, number)
    return RunResult("", code, signal, how, detail, stdout, stderr, 0.0, 0.0, 0.0, 0, "", "hostile", (), {})


@pytest.mark.parametrize(
    ("how", "number", "text", "seen"),
    [
        ("exited", 0, HEAD + SCRIPT + "ValueError: printed and caught\n", ("ok", "")),
        ("exited", 3, HEAD + SCRIPT + "ValueError: printed before\n", ("exit", "3")),
        ("exited", 1, "usage: t.py\n", ("exit", "1")),
        ("exited", 1, HEAD + SCRIPT + INSIDE + "RuntimeError: boom\n", ("exception", "RuntimeError")),
        ("signalled", 11, HEAD + SCRIPT + "RuntimeError: before\n", ("signal", "SIGSEGV")),
        ("timeout", None, "", ("timeout", "")),
        ("memory", None, "", ("out_of_memory", "")),
        ("exited", 1, HEAD + SCRIPT + "RuntimeError: DefaultCPUAllocator: can't allocate memory\n", ("out_of_memory", "RuntimeError")),
        ("output", None, "", ("cannot_run", "it prints more than the sandbox takes")),
        ("processes", None, "", ("cannot_run", "it starts more processes than the sandbox allows")),
        ("exited", 1, HEAD + SCRIPT + "BlockingIOError: [Errno 11] Resource temporarily unavailable\n", ("cannot_run", "it starts more processes than the sandbox allows")),
        ("sandbox_error", None, "", ("cannot_run", "why")),
        ("exited", 1, HEAD + SCRIPT + NO_API + "\n", ("lacks_api", "torch.foo")),
        ("exited", 1, HEAD + SCRIPT + HANDED_ON + NO_API + "\n", ("lacks_api", "torch.foo")),
        ("exited", 1, HEAD + SCRIPT + INSIDE + NO_API + "\n", ("exception", "AttributeError")),
        ("exited", 1, HEAD + SCRIPT + "AttributeError: 'Tensor' object has no attribute 'foo'\n", ("lacks_api", "Tensor.foo")),
        ("exited", 1, HEAD + SCRIPT + NO_METHOD + "\n", ("exception", "AttributeError")),
        ("exited", 1, HEAD + SCRIPT + "AttributeError: 'NoneType' object has no attribute 'x'\n", ("exception", "AttributeError")),
        ("exited", 1, HEAD + SCRIPT + "ImportError: cannot import name 'a' from 'torch.nn' (x)\n", ("lacks_api", "torch.nn.a")),
        ("exited", 1, HEAD + SCRIPT + "ModuleNotFoundError: No module named 'torch.foo'\n", ("lacks_api", "torch.foo")),
        ("exited", 1, HEAD + SCRIPT + "ModuleNotFoundError: No module named 'torchvision'\n", ("cannot_run", "needs the package torchvision")),
        ("exited", 1, HEAD + INSIDE + "torch._dynamo.exc.BackendCompilerFailed: backend='tvm' raised:\nModuleNotFoundError: No module named 'tvm'\n", ("cannot_run", "needs the package tvm")),
        ("exited", 1, HEAD + INSIDE + "RuntimeError: Python 3.11+ not yet supported for torch.compile\n", ("lacks_api", "torch.compile for this Python")),
        ("exited", 1, HEAD + INSIDE + "torch.onnx.errors.OnnxExporterError: Module onnx is not installed!\n", ("cannot_run", "needs a package that is not installed")),
        ("exited", 1, HEAD + SCRIPT + "TypeError: stft() got an unexpected keyword argument 'a'\n", ("lacks_api", "stft(a=)")),
        ("exited", 1, HEAD + SCRIPT + NO_WORD + "\n", ("exception", "TypeError")),
        ("exited", 1, HEAD + SCRIPT + "RuntimeError: Unknown builtin op: aten::foo.\n", ("lacks_api", "torch.ops.aten.foo")),
        ("exited", 1, HEAD + INSIDE + "AssertionError: Torch not compiled with CUDA enabled\n", ("cannot_run", "needs a device or driver: CUDA")),
        ("exited", 1, HEAD + SCRIPT + "EOFError: EOF when reading a line\n", ("cannot_run", "asks a person")),
        ("exited", 1, HEAD + SCRIPT + "NameError: name 'net' is not defined\n", ("cannot_run", "is not complete: nothing defines net")),
        ("exited", 1, HEAD + INSIDE + "NameError: name 'net' is not defined\n", ("exception", "NameError")),
        ("exited", 1, HEAD + SCRIPT + "FileNotFoundError: [Errno 2] No such file: 'a.pt'\n", ("cannot_run", "needs a file that is not there: a.pt")),
        ("exited", 1, '  File "/tmp/t.py", line 1\n    print 1\n    ^\nSyntaxError: invalid syntax\n', ("cannot_run", "is for another Python")),
    ],
)  # fmt: skip
def test_an_end_has_one_word(how: str, number: int | None, text: str, seen: tuple[str, str]) -> None:
    run = ended(how, number, stderr=text, detail="why")
    found = observe(run, OWN)
    assert (found.ending, found.what) == seen


def test_a_traceback_of_a_thread_or_destructor_is_not_the_one_that_ends_the_script() -> None:
    trace = 'Traceback (most recent call last):\n  File "t.py", line 1, in f\n'
    asides = [f"{opening}:\n{trace}KeyError: 1\n" for opening in ("Exception ignored in: <f>", "Exception in thread T")]
    raised = last_exception(f"{trace}ValueError: it\n{''.join(asides)}")
    assert raised is not None
    assert raised[:2] == ("ValueError", "it")


def test_the_outermost_exception_of_a_chain_decides_and_keeps_what_it_wraps() -> None:
    inner = HEAD + SCRIPT + "torch._inductor.exc.CppCompileError: C++ compile error\n"
    outer = f"{HEAD}{SCRIPT}{INSIDE}torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nCppCompileError: C++ compile error\n"
    found = last_exception(f"{inner}\nThe above exception was the direct cause of the following exception:\n\n{outer}")
    assert found is not None
    assert found[:3] == (
        "BackendCompilerFailed",
        "backend='inductor' raised:\nCppCompileError: C++ compile error",
        "torch/functional.py:einsum",
    )


@pytest.mark.parametrize(
    ("path", "frame"),
    [
        (f"{SITE}/torch/nn/modules/linear.py", "torch/nn/modules/linear.py:f"),
        ("/home/x/pytorch/torch/nn/modules/linear.py", "torch/nn/modules/linear.py:f"),
        ("/opt/torch/lib/python3.11/site-packages/numpy/core.py", ""),
        ("/tmp/torchinductor_x/ab/cab.py", ""),
    ],
)
def test_a_frame_begins_at_torch_wherever_it_is_installed(path: str, frame: str) -> None:
    found = last_exception(f'{HEAD}{SCRIPT}  File "{path}", line 9, in f\n    g()\nRuntimeError: x\n')
    assert found is not None
    assert found.frame == frame


def test_what_ends_a_process_in_cpp_is_its_message() -> None:
    text = "terminate called after throwing an instance of 'c10::Error'\n  what():  INTERNAL ASSERT FAILED\nframe #0\n"
    found = observe(ended("signalled", 6, stderr=text), "")
    assert (found.what, found.message) == ("SIGABRT", "INTERNAL ASSERT FAILED")


def test_only_the_end_of_a_long_output_is_kept_in_whole_lines() -> None:
    printed = observe(ended("exited", 0, stdout="abc\n" * limits().printed), "").printed
    assert len(printed) <= limits().printed
    assert printed.startswith("abc\n")
    assert printed.endswith("abc\n")
