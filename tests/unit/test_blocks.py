"""Blocks of a report: what is Python, what is a session, and what everything else is."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers.repro import rules
from torch_embers.repro.blocks import Block, blocks
from torch_embers.repro.markup import prose
from torch_embers.repro.repair import parse, repair

FENCE = "```"
LINES = st.sampled_from(
    [
        "```python",
        "```",
        "~~~",
        "> ```py",
        "import torch",
        "x = torch.ones(3)",
        "    y = x + 1",
        "print x",
        ">>> torch.ones(2)",
        "... more",
        "tensor([1., 1.])",
        "In [1]: x",
        "Out[1]: 3",
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in <module>',
        "RuntimeError: no",
        "python - <<EOF",
        "EOF",
        'python -c "print(1)"',
        "#include <torch/torch.h>",
        "It fails like this:",
        "",
        "<pre>",
        "</pre>",
        "<!--",
        "-->",
        "def f(",
        "'''",
    ]
)


def one(text: str) -> Block:
    found = blocks(text)
    assert len(found) == 1, found
    return found[0]


def fenced(code: str, tag: str = "") -> str:
    return f"It fails:\n{FENCE}{tag}\n{dedent(code).strip()}\n{FENCE}\nThanks"


# ---- where blocks are ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["", "python", "Python", "py3", "text", "console", "nonsense"])
def test_a_tag_is_only_a_hint(tag: str) -> None:
    found = one(fenced("import torch\nprint(torch.ones(2))", tag))
    assert (found.kind, found.source, found.line) == ("python", "fenced", 2)
    assert found.code == "import torch\nprint(torch.ones(2))\n"
    assert found.before == "It fails:"


@pytest.mark.parametrize("word", ["python", " Python ", "py", "\npython"])
def test_a_language_that_slipped_into_the_first_line_is_the_tag(word: str) -> None:
    block = one(f"{FENCE}\n{word}\nimport torch\ntorch.ones(3)\n{FENCE}")
    assert block.tag == word.strip().lower()
    assert block.code == "import torch\ntorch.ones(3)\n"
    assert one(f"{FENCE}\nc++\nint main() {{}}\n{FENCE}").kind == "cpp"
    assert one(f"{FENCE}\nc\nc = torch.ones(3)\n{FENCE}").tag == ""


def test_a_fence_of_tildes_that_stays_open_ends_with_the_text() -> None:
    assert one("~~~\nimport torch\ntorch.ones(2)").code == "import torch\ntorch.ones(2)\n"


def test_code_on_the_line_of_the_fence_belongs_to_the_block() -> None:
    assert one(f"{FENCE}import torch\ntorch.ones(2)\n{FENCE}").code == "import torch\ntorch.ones(2)\n"


def test_a_fence_in_a_list_and_in_a_quote_is_found_and_dedented() -> None:
    listed = one(f"1. do this:\n   {FENCE}\n   import torch\n   torch.ones(2)\n   {FENCE}")
    quoted = one(f"> {FENCE}\n> import torch\n> torch.ones(2)\n> {FENCE}")
    assert listed.code == quoted.code == "import torch\ntorch.ones(2)\n"


def test_indented_and_bare_code_is_found_between_sentences() -> None:
    indented = one("Run this:\n\n    import torch\n    torch.ones(2)\n\nand it crashes.")
    bare = one("Run this:\n\nimport torch\nx = torch.ones(2)\nprint(x)\n\nand it crashes.")
    assert (indented.source, bare.source) == ("indented", "paragraph")
    assert indented.code == "import torch\ntorch.ones(2)\n"
    assert bare.code.startswith("import torch\nx = ")


def test_a_call_in_back_ticks_counts_where_nothing_else_is_code() -> None:
    assert one("`torch.linalg.svd(torch.zeros(0, 0))` crashes").source == "inline"
    assert blocks("`torch.compile(model)` is slow, `torch.manual_seed(0)` is not") == ()


def test_html_blocks_are_unescaped() -> None:
    assert one("<pre>\nimport torch\nprint(torch.ones(2) &gt; 1)\n</pre>").code.endswith("torch.ones(2) > 1)\n")


def test_hints_of_a_template_are_no_code_and_sentences_are_no_paragraph_of_code() -> None:
    assert blocks("<!--\nimport torch\nx = torch.ones(1)\n-->\nIt fails (always).\nSee above.") == ()
    assert blocks("FAILED (failures=2)\nRan(3)\n") == ()


def test_prose_is_the_text_without_fences() -> None:
    assert "torch" not in prose(fenced("import torch"))
    assert "Thanks" in prose(fenced("import torch"))


# ---- what they are -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("cpp", "#include <torch/torch.h>\nint main() { return 0; }"),
        ("cpp", "auto x = torch::ones({2});\nstd::cout << x;\nreturn x;\nint y = 3;"),
        ("diff", "diff --git a/a.py b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2"),
        ("traceback", 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x()\nRuntimeError: no'),
        ("traceback", "RuntimeError: expected int at position 0, but got: Tensor"),
        ("shell", "$ pip install torch\n$ python train.py --lr 3"),
        ("config", "PyTorch version: 2.1.2\nIs debug build: False\nOS: Linux\n[pip3] numpy==1.26"),
        ("graph", "graph(%x : Float(2)):\n  %1 : int = prim::Constant[value=1]()\n  return (%1)"),
        ("output", "tensor([[1., 2.],\n        [3., 4.]])"),
        ("output", "0 0:02:01.45\n1 0:00:00.00"),
        ("output", "done\n"),
        ("broken", "import torch\nx = = 3\ny = torch.ones(2)\nz = torch.ones(3)"),
        ("empty", ""),
    ],
)
def test_what_is_no_python_is_told_apart_with_a_reason(kind: str, text: str) -> None:
    found = one(f"{FENCE}\n{text}\n{FENCE}")
    assert found.kind == kind
    assert not found.code
    assert found.reason or kind in ("empty",)


def test_a_printed_module_or_tensor_is_no_program() -> None:
    assert one(fenced("Linear(in_features=3, out_features=2, bias=True)")).kind != "python"
    assert one(fenced("tensor([0, 1, 1])", "python")).kind != "python"


def test_script_and_traceback_in_one_block_are_separated() -> None:
    found = one(
        fenced('import torch\ntorch.ones(2)[5]\n\nTraceback (most recent call last):\n  File "a"\nIndexError: no')
    )
    assert found.code == "import torch\ntorch.ones(2)[5]\n"
    assert found.outputs[0].startswith("Traceback")
    assert [edit.action for edit in found.edits] == ["outputs_separated"]


def test_script_and_printed_lines_in_one_block_are_separated() -> None:
    found = one(fenced("import torch\nprint(torch.ones(2))\n1 1 of torch 2"))
    assert found.code == "import torch\nprint(torch.ones(2))\n"
    assert found.outputs == ("1 1 of torch 2",)


# ---- sessions and commands -----------------------------------------------------------------------------------------


def test_a_session_keeps_each_output_beside_its_statement() -> None:
    found = one(
        fenced(
            """
            >>> import torch
            >>> for i in range(2):
            ...     print(i)
            ...
            0
            1
            >>> torch.ones(
            ...     2)
            tensor([1., 1.])
            """
        )
    )
    assert found.kind == "session"
    assert [(chunk.code, chunk.output) for chunk in found.chunks] == [
        ("import torch", ""),
        ("for i in range(2):\n    print(i)", "0\n1"),
        ("torch.ones(\n    2)", "tensor([1., 1.])"),
    ]


def test_ipython_prompts_and_continuations_are_removed() -> None:
    found = one(
        fenced("In [1]: import torch\n\nIn [2]: for i in range(2):\n   ...:     torch.ones(i)\n   ...:\n\nOut[2]: 3")
    )
    assert found.code == "import torch\nfor i in range(2):\n    torch.ones(i)\n"
    assert found.outputs == ("3",)


def test_a_notebook_without_input_prompts_is_split_at_its_outputs() -> None:
    found = one(
        fenced("import torch\nx = torch.ones(2)\nx.sum()\nOut[8]:\ntensor(2.)\n\nx.mean()\nOut[9]:\ntensor(1.)")
    )
    assert [chunk.output for chunk in found.chunks] == ["", "tensor(2.)", "tensor(1.)"]


def test_a_statement_pasted_without_continuation_prompts_is_kept_whole() -> None:
    found = one(fenced(">>> x = torch.tensor([1,\n     2])\n>>> x\ntensor([1, 2])"))
    assert found.chunks[0].code == "x = torch.tensor([1,\n     2])"


@pytest.mark.parametrize(
    "command",
    [
        "python - <<EOF\nimport torch\nprint(torch.ones(2))\nEOF\n[1, 1]",
        "cat > x.py <<'EOF'\nimport torch\nprint(torch.ones(2))\nEOF\npython x.py",
        'python -c "import torch\nprint(torch.ones(2))"\n1 1',
        "$ python3 -u -c 'import torch\nprint(torch.ones(2))'",
    ],
)
def test_scripts_in_commands_are_unwrapped(command: str) -> None:
    found = one(fenced(command, "bash"))
    assert found.code == "import torch\nprint(torch.ones(2))\n"
    assert "heredoc_unwrapped" in [edit.action for edit in found.edits]


# ---- repairs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "whole", "action"),
    [
        ("print 'a', x", "print('a', x)", "python2"),
        ("print x  # why", "print(x)  # why", "python2"),
        ("if x: print x,", "if x: print(x, end=' ')", "python2"),
        ("print >>sys.stderr, x", "print(x, file=sys.stderr)", "python2"),
        ("try:\n    f()\nexcept IOError, e:\n    pass", "try:\n    f()\nexcept IOError as e:\n    pass", "python2"),
        ("raise ValueError, 'no'", "raise ValueError('no')", "python2"),
        ("x = 10L", "x = 10", "python2"),
        ("x <> y", "x != y", "python2"),
        ("x.cuda(async=True)", "x.cuda(non_blocking=True)", "api_drift"),
        ("!pip install torch\nx = 1", "x = 1", "magic_removed"),
        ("%timeit -n 3 f(x)", "f(x)", "magic_removed"),
        ("def f():\n    # nothing\nx = 1", "def f():\n    pass\n    # nothing\nx = 1", "body_added"),
        ("class X(object)\n    y = 1", "class X(object):\n    y = 1", "punctuation"),
        ("print(f(x)\ny = 1", "print(f(x))\ny = 1", "punctuation"),
        ("x = \u201ca\u201d", 'x = "a"', "typography"),
        ("  x = 1\n  y = 2", "x = 1\ny = 2", "dedented"),
        ("x = 1\n    y = 2\n    z = 3", "x = 1\ny = 2\nz = 3", "dedented"),
        ("x.sum() -> 3.0", "x.sum()  # -> 3.0", "output_commented"),
        ("// why\nx = 1", "# why\nx = 1", "prose_commented"),
        ("x = 1\n.....\ny = 2", "x = 1\npass  # .....\ny = 2", "prose_commented"),
        ("x = 1\nthis one works well\ny = f(x)", "x = 1\n# this one works well\ny = f(x)", "prose_commented"),
    ],
)
def test_small_faults_are_repaired_and_recorded(broken: str, whole: str, action: str) -> None:
    found = repair(broken)
    assert found.text.strip() == whole
    assert found.tree is not None
    assert action in [edit.action for edit in found.edits]


def test_sound_code_is_left_as_it_is() -> None:
    code = "print ('a')\nx = `1`\n".replace("`1`", "1")
    assert repair(code).text == code
    assert repair(code).edits == ()


@pytest.mark.parametrize(
    "text",
    ["(" * 5000, "x = " + "-" * 50_000 + "1", "x = a" + ".b" * 20_000, "x = " + "[0]" * 9000, "x = '\udc80'", "x\0y"],
)
def test_what_would_exhaust_the_parser_is_refused(text: str) -> None:
    with pytest.raises(SyntaxError):
        parse(text)


@settings(max_examples=example_count(60))
@given(st.lists(LINES, max_size=30))
def test_any_mixture_of_lines_gives_blocks_whose_code_parses(lines: list[str]) -> None:
    text = "\n".join(lines)
    for block in blocks(text):
        assert block.kind in ("python", "session") or not block.code
        if block.kind == "python" and block.code:
            parse(block.code)
        assert 1 <= block.line <= len(lines)


@settings(max_examples=example_count(60))
@given(st.text(max_size=300))
def test_any_text_gives_blocks(text: str) -> None:
    assert len(blocks(text)) <= rules.load().limits.blocks
