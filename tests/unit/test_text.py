"""What a model reads: forms, environments, stacks and logs go, the report stays; any text, in linear time."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers import resources
from torch_embers.classify.text import Cleaner, bracket_tags, clean, model_text, read, title_text
from torch_embers.errors import InputError

SAID = "The gradient is wrong for a strided input, and nothing warns about it."

COLLECT_ENV = """Collecting environment information...
PyTorch version: 2.9.0.dev20250729+cpu
Is debug build: False
CUDA used to build PyTorch: None

OS: Microsoft Windows 11
GPU models and configuration:
GPU 0: NVIDIA GeForce RTX 4060 Laptop GPU
Nvidia driver version: 555.42

CPU:
Architecture:                         x86_64
Flags:                                fpu vme de pse tsc msr pae mce cx8
Vulnerability Spectre v1:             Mitigation; usercopy/swapgs barriers and __user pointer sanitization

Versions of relevant libraries:
[pip3] numpy==2.2.6
[conda] mkl                       2019.4                      243
"""

TRACEBACK = """Traceback (most recent call last):
  File "/home/a/train.py", line 3, in <module>
    main()
  File "/home/a/train.py", line 2, in step
    loss.backward()
  File "/usr/lib/python3.11/site-packages/torch/_tensor.py", line 1, in backward
    torch.autograd.backward(
    ^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/site-packages/torch/autograd/graph.py", line 8, in _engine_run_backward
    return Variable._execution_engine.run_backward(  # Calls into the C++ engine
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
RuntimeError: view size is not compatible with input tensor's size and stride
"""


def fenced(text: str) -> str:
    return f"```\n{text}\n```"


@pytest.mark.parametrize(
    "form",
    [
        "## 🐛 Bug\n\n<!-- A clear and concise description of what the bug is. -->\n\n{}\n\n## To Reproduce\n\n"
        "Steps to reproduce the behavior:\n\n1.\n2.\n\n## Expected behavior\n\n## Environment\n\n"
        "Please copy and paste the output from our\n[environment collection script](https://raw.x/collect_env.py)\n"
        "(or fill out the checklist below manually).\n\n - PyTorch Version (e.g., 1.0): 1.3\n - OS (e.g., Linux): Mac\n"
        " - How you installed PyTorch (`conda`, `pip`, source): pip\n - CUDA/cuDNN version: NA\n\n## Additional context\n",
        "### 🐛 Describe the bug\n\n{}\n\n### Versions\n\n" + COLLECT_ENV + "\ncc @ezyang @gchanan\n",
        "## Issue description\r\n\r\n{}\r\n\r\n## Code example\r\n\r\n## System Info\r\n- PyTorch or Caffe2: C2\r\n- OS: Win10\r\n",
        "**Describe the bug**\n{}\n**Screenshots**\n![image](https://user-images.githubusercontent.com/1/2.png)\n",
        "{}\n\n" + fenced(COLLECT_ENV),
        "{}\n\n" + COLLECT_ENV,
        "Stack from [ghstack](https://github.com/ezyang/ghstack):\n* #32379 [quant] Fold\n* __->__ #33276 x\n\n{}\n\n"
        "Differential Revision: [D19739387](https://x)\n\nghstack-source-id: d345\nReviewed By: someone\n",
        "Summary:\n{}\n\nTest Plan:\n\nReviewers:\n\nSubscribers:\n\nTasks:\n\nTags:\n",
        "{}\n\nOn Sat, Jan 21, 2017 at 9:27 AM, A Person <notifications@github.com>\nwrote:\n\n> something else\n> —\n"
        "> You are receiving this because you are subscribed.\n",
    ],
)
def test_forms_of_all_eras_leave_the_report_alone(form: str) -> None:
    assert clean(form.replace("{}", SAID)) == SAID


@pytest.mark.parametrize(
    ("heading", "kept"),
    [
        ("## 🚀 Feature", "feature request"),
        ("### 🚀 The feature, motivation and pitch", "feature request"),
        ("## ❓ Questions and Help", "question"),
        ("### 📚 The doc issue", "documentation"),
    ],
)
def test_the_kind_of_form_is_kept_once(heading: str, kept: str) -> None:
    assert clean(f"{heading}\n\n{SAID}\n\n{heading}\n") == f"{kept}\n{SAID}"


@pytest.mark.parametrize(
    "nothing",
    ["", " \r\n\t", "\x00", "![x](https://y/z.png)", '<img width="9" src="https://user-images.githubusercontent.com/a">',
     "https://github.com/user-attachments/assets/1-2", "_No response_", "cc @a @b", "---\n***", "<!-- x -->", "```\n```",
     "### 🐛 Describe the bug\n\n_No response_\n\n### Versions\n\n2.1\n", "12 34 56", "@someone", "N/A"],
)  # fmt: skip
def test_texts_that_say_nothing_become_empty(nothing: str) -> None:
    assert clean(nothing) == ""


LOG = "[rank0]:E0702 23:03:39.714000 2772 site-packages/torch/_guards.py:351] [0/0] "


@pytest.mark.parametrize(
    "text",
    [
        TRACEBACK,
        fenced(TRACEBACK),
        "\n".join(f"> {line}" for line in TRACEBACK.splitlines()),
        fenced("\n".join(LOG + line for line in TRACEBACK.splitlines())),
    ],
    ids=["prose", "fenced", "quoted", "with log prefixes"],
)
def test_a_traceback_keeps_its_error_and_three_innermost_frames(text: str) -> None:
    assert clean(text).split("\n") == [
        "in step (train.py)",
        "in backward (_tensor.py)",
        "in _engine_run_backward (graph.py)",
        "RuntimeError: view size is not compatible with input tensor's size and stride",
    ]


def test_a_traceback_of_a_notebook_is_cut_to_its_frames() -> None:
    text = """RuntimeError                              Traceback (most recent call last)
<ipython-input-11-9219ded2be62> in <module>
     28         loss = loss_fn(output, labels)
---> 30         loss.backward()

/opt/env/lib/python3.7/site-packages/torch/tensor.py in backward(self, gradient)
    194
--> 195         torch.autograd.backward(self, gradient)

RuntimeError: index_put_ with accumulation is not supported on large tensors
After that the kernel restarts."""
    assert clean(text).split("\n") == [
        "in backward (tensor.py)",
        "RuntimeError: index_put_ with accumulation is not supported on large tensors",
        "After that the kernel restarts.",
    ]


@pytest.mark.parametrize(
    ("stack", "kept"),
    [
        (
            "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x33 (0x7f2a5 in /x/libc10.so)\n"
            "frame #1: at::native::(anonymous namespace)::gather<int>(at::Tensor&) + 0x1b (0x7f2b in /x/libtorch_cpu.so)\n"
            "frame #2: <unknown function> + 0x10 (0x7f in /x/libtorch.so)\nframe #3: at::a(int) + 0x1 (0x7f in /x/liba.so)\n"
            "frame #4: at::b(int) + 0x1 (0x7f in /x/liba.so)\nframe #5: at::c(int) + 0x1 (0x7f in /x/liba.so)",
            ["in at::native::gather (libtorch_cpu.so)", "in at::a (liba.so)", "in at::b (liba.so)"],
        ),
        (
            "#0  0x00007ffff6d53207 in raise () from /lib64/libc.so.6\n#1  0x00007f in at::copy_ (self=..., x=1)\n"
            "    at /src/aten/Copy.cpp:12\n#2  main () at a.cpp:3",
            ["in at::copy_", "in main (a.cpp)"],
        ),
        (
            "    #0 0x55e01 in __asan_memcpy (/usr/bin/python+0x1)\n    #1 0x7f1f2 in at::Tensor::item() /src/ATen/Scalar.cpp:1:2",
            ["in at::Tensor::item (Scalar.cpp)"],
        ),
        ("0   libtorch_cpu.dylib            0x000000010a2b3c4d at::mps::commit(int) + 123",
         ["in at::mps::commit (libtorch_cpu.dylib)"]),
        ("  * frame #0: 0x00000001 libtorch_cpu.dylib`at::mps::MPSStream::flush() + 32",
         ["in at::mps::MPSStream::flush (libtorch_cpu.dylib)"]),
    ],
    ids=["c10", "gdb", "asan", "macos", "lldb"],
)  # fmt: skip
def test_native_stacks_keep_three_frames_that_do_more_than_raise(stack: str, kept: list[str]) -> None:
    text = fenced(f"Segmentation fault\n{stack}\nAborted")
    assert clean(text).split("\n") == ["Segmentation fault", *kept, "Aborted"]


def test_code_becomes_names_calls_and_numbers() -> None:
    code = """import torch
x = torch.randn(2**31, 3, device='mps', dtype=torch.float16)[:, ::2]  # not contiguous
print("a long sentence that says nothing at all")
y = torch.nn.functional.conv2d(x, w, bias=None).sum()"""
    assert clean(f"```python\n{code}\n```").split("\n") == [
        "torch",
        "x torch.randn(2**31 3 device mps dtype torch.float16 2 not contiguous",
        "y torch.nn.functional.conv2d(x w bias sum(",
    ]


def test_quotes_stay_in_a_body_and_go_in_a_reply() -> None:
    text = f"> RuntimeError: bad\n\n{SAID}"
    assert clean(text) == f"RuntimeError: bad\n{SAID}"
    assert clean(text, reply=True) == SAID


ERRORS = "TypeError: can't convert cuda:0 device type tensor to numpy\nterminate called after throwing 'c10::Error'"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("see 0x7fff5f63d700 and 0xff now", "see ADDR and 0xff now"),
        ("since 3f2a9bc1d in main", "since SHA in main"),
        ("id 123e4567-e89b-12d3-a456-426614174000 gone", "id UUID gone"),
        ("in /home/a/site-packages/torch/nn/functional.py:12 there", "in torch/nn/functional.py there"),
        ("in /home/a/pytorch/aten/src/ATen/native/Copy.cpp:3 there", "in aten/src/ATen/native/Copy.cpp there"),
        ("in C:\\Users\\me\\work\\train.py there", "in train.py there"),
        ("as https://github.com/pytorch/pytorch/issues/12#issuecomment-3 and #45 say", "as #N and #N say"),
        ("see https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html for it", "see torch.nn.LSTM for it"),
        ("see [the docs](https://pytorch.org/docs) for it", "see the docs for it"),
        ("thanks @someone for the `x.contiguous()` hint", "thanks for the x.contiguous() hint"),
        ("use @torch.no_grad() and a @ b and @staticmethod", "use @torch.no_grad() and a @ b and @staticmethod"),
        ("more than 2**31 **elements**", "more than 2**31 elements"),
        ("[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]", ""),
        ("gives [nan, nan, nan, nan] here", "gives [nan] here"),
        ("std::vector<int> in <module> and <b>bold</b>", "std::vector<int> in <module> and bold"),
        ("a" * 300 + " end", "a" * 40 + " end"),
        ("出力が間違っています" * 20, "出力が間違っています" * 20),
        ("\x1b[31mred\x1b[0m alert", "red alert"),
        ("tensor 0.1, 0.2, 0.3, 0.4, 0.5, 0.6 end", "tensor 0.1, 0.2, 0.3, end"),
        ("\n".join(f"step {n} loss {n}.5" for n in range(50)), "step 0 loss 0.5\nstep 1 loss 1.5"),
        (">>> torch.ones(3)", "torch.ones(3)"),
        ("### Affected operators\n" + SAID, f"Affected operators\n{SAID}"),
        # fences: one that nobody closed, and a second closing one
        (f"```\nx = f(1)\n\n### Expected behavior\n\n{SAID}", f"x f(1\n{SAID}"),
        (f"```shell\nx = f(1)\n```\n```\n\n### Expected behavior\n\n{SAID}", f"x f(1\n{SAID}"),
        (fenced(ERRORS), ERRORS),
        # environments: what is said below the heading, behind it without one, and in its words
        (
            "## Environment\n- OS: Linux\nIt also happens without any graphics card.\n- GPU: none\n",
            "It also happens without any graphics card.",
        ),
        ("PyTorch version: 0.3.0\nOS: Linux\n\nx = torch.ones(3)\n", "x = torch.ones(3)"),
        ("PyTorch version: 0.3.0\nOS: Linux\n\nScript to show it:\n", "Script to show it:"),
        ("CUDA: the kernel reads past the end\nModel: a single convolution",) * 2,
    ],
)
def test_what_is_unique_to_one_report_is_normalised_and_what_is_said_stays(text: str, kept: str) -> None:
    assert clean(text) == kept


@pytest.mark.parametrize(
    ("title", "tags", "rest"),
    [
        ("[MPS] x is wrong", ("MPS",), "x is wrong"),
        ("[MPS][inductor] : x", ("MPS", "inductor"), "x"),
        ("  [feature request] - x [y]", ("feature request",), "x [y]"),
        ("[MPS]", ("MPS",), ""),
        ("[ ] x", (), "x"),
        ("x[0] is wrong", (), "x[0] is wrong"),
        ("[" + "a" * 100 + "] x", (), "[" + "a" * 100 + "] x"),
        ("", (), ""),
    ],
)
def test_bracket_tags_are_kept_apart(title: str, tags: tuple[str, ...], rest: str) -> None:
    assert bracket_tags(title) == (tags, rest)


def test_a_text_is_the_title_and_the_cleaned_body() -> None:
    assert model_text("[MPS] `x` fails, see #12", f"## 🐛 Bug\n{SAID}") == f"[MPS] x fails, see #N\n{SAID}"
    assert model_text("x", None) == "x"
    assert len(model_text("x", "words of a body " * 9_000)) <= Cleaner.load().limits.thread_chars


def test_a_classifier_reads_prose_the_last_errors_and_signs_of_the_body() -> None:
    body = """## 🐛 Bug
It fails with float16 on CUDA.
```python
import torch
torch.ones(3, device="cuda").half()
```
```
Traceback (most recent call last):
  File "a.py", line 1, in <module>
ValueError: first
RuntimeError: the last one
```
"""
    found = read("[MPS] x fails", body)
    assert found.title == "[MPS] x fails"
    assert found.body == "ValueError: first\nRuntimeError: the last one\nIt fails with float16 on CUDA."
    assert {"body", "form-bug", "python", "traceback", "error:runtimeerror", "dtype:float16", "place:cuda"} <= set(
        found.signs
    )
    assert found.words == f"{found.title}\n{found.body}"
    assert len(read("x", "words of a body. " * 900).body) == Cleaner.load().limits.prose_chars


def test_an_item_without_a_body_is_read_by_its_title() -> None:
    assert read("x fails", None) == read("x fails", "") == ("x fails", "", ())
    assert read("x fails", None).words == "x fails"


# --- any text

PIECES = st.sampled_from(
    ["```", "~~~", "\n", "\n\n", "# ", "## 🐛 Bug", "### Versions", "<!--", "-->", "> ", "`", "**", "|", "Traceback (most recent call last):\n",
     '  File "a.py", line 1, in f\n', "frame #0: a + 0x1 (0x1 in b)\n", "RuntimeError: x", "PyTorch version: 1", "cc @a", "[a](b)", "![a](b)",
     "https://a.b/c", "0x12345678", "/a/b/c.py:3", "1, 2, 3, 4, 5, 6, ", "nan, nan, nan", "On Mon, x wrote:", "\x00", "\ud800", "\r", "\x1b[0m",
     "é中🐛", "'", '"', "\\", "f(", "x = 1", "&lt;", "<b>", "Stack from\n* x\n", "- [x] I ", "%a : [] = call_function[target=f](x)", "100%|#| "]
)  # fmt: skip
ANY_TEXT = st.lists(PIECES | st.text(max_size=12), max_size=40).map("".join)


@given(ANY_TEXT, st.booleans())
def test_cleaning_never_fails_and_never_grows(text: str, reply: bool) -> None:
    cleaned = clean(text, reply=reply)
    assert len(cleaned) <= len(text) + 64
    assert len(clean(cleaned)) <= len(cleaned) + 64
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert all(line and line == " ".join(line.split()) for line in cleaned.split("\n") if cleaned)


@given(st.text(max_size=80), ANY_TEXT | st.none())
def test_model_text_is_always_printable_text(title: str, body: str | None) -> None:
    text = model_text(title, body)
    assert read(title, body).words.startswith(title_text(title))
    assert "\x00" not in text
    text.encode("utf-8")
    assert text.startswith(title_text(title))


# --- the rules


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda data: data.update(version=9), "data/text_cleaning.toml: version: Input should be 1"),
        (
            lambda data: data["line"][0].update(pattern="a*"),
            'line "cc": pattern: every repetition needs an upper bound',
        ),
        (lambda data: data["line"][0].update(reason=" "), 'line "cc": reason: '),
        (lambda data: data["inline"][0].pop("becomes"), 'inline "graphs": becomes: Field required'),
        (lambda data: data["heading"][0].update(action="burn"), 'heading "bug-forms": action: '),
        (lambda data: data["heading"][1]["names"].append("Bug"), "heading 'bug' stands twice"),
    ],
)
def test_a_wrong_rule_is_named(change: Any, complaint: str) -> None:
    data = copy.deepcopy(resources.load_toml("text_cleaning.toml"))
    change(data)
    with pytest.raises(InputError) as caught:
        Cleaner(data)
    assert complaint in str(caught.value)
