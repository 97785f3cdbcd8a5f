"""From the text of a report to its script: what is taken, what is joined, what is changed, and why there is none."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.extract import extract_rules, update_scripts
from torch_embers.extract.reading import read
from torch_embers.extract.script import NoScript, ReportText, Script
from torch_embers.extract.script_command import command_of
from torch_embers.extract.syntax import try_parse
from torch_embers.progress import Silent
from torch_embers.store.store import Store
from torch_embers.views.item_evidence import report_of

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
SEED = 'torch.manual_seed(int(os.environ.get("EMBERS_SEED", "0")))'


def found(body: str, *comments: str, title: str = "It fails") -> Script | NoScript:
    return read(ReportText(title, dedent(body), comments))


def script(body: str, *comments: str, title: str = "It fails") -> Script:
    made = found(body, *comments, title=title)
    assert isinstance(made, Script), made
    return made


def own(made: Script) -> list[str]:
    """Lines of a script that are not of its header."""
    added = {change.line for change in made.changes if change.line and not change.before}
    return [line for number, line in enumerate(made.code.split("\n"), 1) if number not in added and line.strip()]


# --- what is code -------------------------------------------------------------------------------------------------

CODE = "import torch\nprint(torch.ones(2))"
SHOWN = "```\nTraceback (most recent call last):\n  File 'a.py', line 2\nIndexError: index\n```\n"


@pytest.mark.parametrize(
    "body",
    [
        f"```python\n{CODE}\n```\n{SHOWN}",
        f"~~~\n{CODE}\n~~~\n",
        f"```\npython\n{CODE}\n```\n",
        f"```{CODE}\n```\n",
        f"```py\n{CODE}\n",
        f"text\n\n    import torch\n    print(torch.ones(2))\n\n{SHOWN}",
        f"<pre><code>{CODE}</code></pre>\n".replace("<pre><code>", "<pre><code>\n"),
        f"<details><summary>the code</summary>\n\n```python\n{CODE}\n```\n</details>\n",
        f"> ```python\n> {CODE}\n> ```\n".replace("\nprint", "\n> print"),
        f"{CODE}\n\nIt fails.\n",
        f"```\n{CODE}\nTraceback (most recent call last):\n  File 'a.py', line 2\n```\n",
        f"```\n{CODE}\ntensor([1., 1.]\n```\n",
        f"```\n{CODE}\ntensor([1., 1.])\n(1, -2.5)\nValueError: bad\n```\n",
        f"```python\n{CODE}\n```\n".replace("\n", "\r\n"),
        f"```python\n  {CODE}\n```\n".replace("\nprint", "\n  print"),
        f"<!-- put your code here -->\n```python\n{CODE}\n```\n",
    ],
    ids=range(16),
)
def test_code_is_found_in_every_form(body: str) -> None:
    assert own(script(body)) == CODE.split("\n")


@pytest.mark.parametrize(
    "session",
    [
        ">>> x = torch.ones(2)\n>>> x + 1\ntensor([2., 2.])\n>>> x.foo\nTraceback (most recent call last):\n  File ''",
        "In [1]: x = torch.ones(2)\n\nIn [2]: x + 1\nOut[2]: tensor([2., 2.])\n\nIn [3]: x.foo\n---\nAttributeError",
        "In [1]: x = torch.ones(2)\n\nIn [2]: x + 1\nOut[2]: tensor([2., 2.])\n\nIn [3]: %timeit x.foo\n3 ns",
    ],
)
def test_a_session_becomes_a_program_that_prints_what_was_shown(session: str) -> None:
    made = script(f"```python\n{session}\n```\n")
    assert own(made)[:2] == ["x = torch.ones(2)", "print(x + 1)"]
    assert own(made)[2:] in (["print(x.foo)"], ["x.foo"])


def test_prompts_within_a_docstring_make_no_session() -> None:
    made = script(
        '```python\nimport torch\ndef f():\n    """\n    >>> f()\n    """\n    return torch.ones(2)\nf()\n```\n'
    )
    assert own(made)[-1] == "f()"


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("%matplotlib inline", "pass"),
        ("!pip install torch", "pass"),
        ("%timeit torch.ones(3)", "torch.ones(3)"),
        ("print torch.ones(3)", "print(torch.ones(3))"),
    ],
)
def test_a_line_that_is_no_python_is_mended_and_recorded(line: str, after: str) -> None:
    made = script(f"```\nimport torch\n{line}\nprint(torch.ones(2) + 1)\n```\n")
    assert own(made) == ["import torch", after, "print(torch.ones(2) + 1)"]
    [change] = [change for change in made.changes if change.before]
    assert (change.before, change.after, made.code.split("\n")[change.line - 1]) == (line, after, after)


# --- which blocks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", ["then", "where"])
def test_blocks_are_joined_with_those_whose_names_they_need(between: str) -> None:
    blocks = ["```\nimport torch\ndef f(x):\n    return x + 1\n```\n", "```\nprint(f(torch.ones(2)))\n```\n"]
    made = script(f"{between}\n".join(blocks if between == "then" else reversed(blocks)))
    assert own(made) == ["import torch", "def f(x):", "    return x + 1", "print(f(torch.ones(2)))"]


def test_the_first_block_that_stands_alone_is_the_script() -> None:
    made = script(f"```\nfoo(torch.ones(1))\n```\n```\n{CODE}\n```\n```\nimport torch\nprint(torch.ones(3))\n```\n")
    assert own(made) == CODE.split("\n")


@pytest.mark.parametrize(
    "above",
    [
        "## Expected behavior\n",
        "### Alternatives\n",
        "**Workaround**\n",
        "Expected output:\n",
        "A workaround is this:\n",
        "This works as expected:\n",
        "Without the cast it works just fine, as it does on main\n",
        "The fix would be\n",
    ],
)
def test_code_of_an_expected_output_a_workaround_or_a_fix_is_never_taken(above: str) -> None:
    aside = f"{above}```\nimport torch\nprint(torch.zeros(7))\n```\n"
    assert own(script(f"```\n{CODE}\n```\n{aside}")) == CODE.split("\n")
    assert own(script(f"{aside}## Bug\n```\n{CODE}\n```\n")) == CODE.split("\n")
    assert found(aside) == NoScript(
        "no_code", "the report holds no Python code: but for expected output, a workaround or a fix"
    )


def test_a_comment_is_read_only_where_the_body_gives_nothing() -> None:
    repro = f"Minimal repro:\n```\n{CODE}\n```\n"
    assert script("It fails.", "me too", repro).found_in == "comment 2"
    assert script("```\nimport torch\nprint(torch.ones(9))\n```\n", repro).found_in == "body"
    assert isinstance(found("It fails.", f"Try this:\n```\n{CODE}\n```\n"), NoScript)


def test_what_a_report_only_defines_is_called() -> None:
    made = script("```\ndef test_it(self):\n    self.assertTrue(torch.ones(2).all())\n```\n")
    assert made.code.endswith('test_it(__import__("unittest").TestCase())\n')
    assert script("```\nimport torch\ndef repro():\n    torch.ones(2)[5]\n```\n").code.endswith("\nrepro()\n")


# --- changes ------------------------------------------------------------------------------------------------------


def test_the_header_seeds_and_imports_what_is_left_out() -> None:
    made = script(
        '```\n"""Doc."""\nfrom __future__ import annotations\nx = F.relu(torch.ones(2))\nnp.random.rand(2)\n```\n'
    )
    lines = made.code.split("\n")
    assert lines[:2] == ['"""Doc."""', "from __future__ import annotations"]
    assert lines[2:7] == ["import os", "import torch", "import torch.nn.functional as F", "import numpy as np", SEED]
    assert 'numpy.random.seed(int(os.environ.get("EMBERS_SEED", "0")))' in lines
    assert all(lines[change.line - 1] == change.after for change in made.changes if change.line)


@pytest.mark.parametrize(
    ("code", "after", "device"),
    [
        ('x = torch.ones(2, device="cuda")', "x = torch.ones(2, device=embers_device)", "cuda"),
        ('x = torch.ones(2, device="cuda:1")', "x = torch.ones(2, device=embers_device)", "cuda"),
        ("x = torch.ones(2, device=0)", "x = torch.ones(2, device=embers_device)", "cuda"),
        ("x = torch.ones(2).cuda().cuda(0)", "x = torch.ones(2).to(embers_device).to(embers_device)", "cuda"),
        ('x = torch.ones(2).to("mps")', "x = torch.ones(2).to(embers_device)", "mps"),
        ('d = torch.device("xpu")', "d = torch.device(embers_device)", "xpu"),
        ("x = torch.cuda.FloatTensor(2)", "x = torch.FloatTensor(2)", "cuda"),
        ("torch.cuda.synchronize()", "None", "cuda"),
        ('d = "cuda" if torch.cuda.is_available() else "cpu"', None, ""),
        ("if torch.cuda.is_available(): x = torch.ones(2).cuda()", None, ""),
        ('if torch.ones(2).device.type == "cuda": pass', None, ""),
    ],
)
def test_the_device_is_a_variable(code: str, after: str | None, device: str) -> None:
    made = script(f"```\nimport torch\n{code}\nprint(torch.ones(2))\n```\n")
    assert own(made)[1] == (after or code)
    assert made.device == device


@pytest.mark.parametrize(
    ("title", "device"),
    [("[MPS] wrong sum", "mps"), ("crash on the GPU", "cuda"), ("CPU and CUDA differ", ""), ("wrong sum", "")],
)
def test_a_title_about_an_accelerator_counts(title: str, device: str) -> None:
    assert script(f"```\n{CODE}\n```\n", title=title).device == device


def test_values_that_a_notebook_shows_are_printed() -> None:
    made = script("```\nimport torch\nx = torch.ones(2)\nx + 1\nx.sum()  # tensor(2.)\nx.exp_()  # 2D\n```\n")
    assert own(made)[2:] == ["print(x + 1)", "print(x.sum())  # tensor(2.)", "x.exp_()  # 2D"]


# --- the command --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ("Run with `TORCH_LOGS=+dynamo,recompiles python t.py`", {"TORCH_LOGS": "+dynamo,recompiles"}),
        ("$ OMP_NUM_THREADS=4 MKL_DEBUG_CPU_TYPE=5 python3 t.py", {"OMP_NUM_THREADS": "4", "MKL_DEBUG_CPU_TYPE": "5"}),
        ("export TORCHDYNAMO_VERBOSE=1", {"TORCHDYNAMO_VERBOSE": "1"}),
        ('export TORCH_LOGS="+inductor"', {"TORCH_LOGS": "+inductor"}),
        ("%env TORCH_LOGS=aot", {"TORCH_LOGS": "aot"}),
        ("python -O -W error t.py", {"PYTHONOPTIMIZE": "1", "PYTHONWARNINGS": "error"}),
        ("LD_PRELOAD=/tmp/evil.so PYTHONPATH=/tmp PATH=/tmp python t.py", {}),
        ("TORCH_LOGS=$(id) python t.py", {}),
        ("I set OMP_NUM_THREADS=4", {}),
    ],
)
def test_variables_and_flags_of_the_command_are_taken_over(line: str, variables: dict[str, str]) -> None:
    assert command_of(f"prose\n{line}\n").variables == variables


def test_arguments_of_the_command_are_given() -> None:
    made = script("```\nimport argparse, torch\nprint(torch.ones(2))\n```\n```\npython t.py --n 3\n```\n")
    assert "sys.argv[1:] = ['--n', '3']" in made.code


# --- reasons ------------------------------------------------------------------------------------------------------

GROUP = 'import torch.distributed as dist\ndist.init_process_group("gloo"{})\nprint(dist.get_rank())'


@pytest.mark.parametrize(
    ("body", "reason", "says"),
    [
        ("It fails.", "no_code", ""),
        ("", "no_code", ""),
        ("```cpp\n#include <torch/torch.h>\n```", "not_python", ""),
        ("```\n#include <torch/torch.h>\nint main() {}\n```", "not_python", ""),
        ("```\nprint(torch.relu(my_input))\n```", "fragment", "nothing defines my_input"),
        ("```\nimport torch\nclass A:\n    def f(self): pass\n```", "fragment", "nothing is run"),
        ("```\nprint(torch.relu(...))\n```", "fragment", "arguments are left out"),
        ("```\nimport torch\nx = torch.ones(\ny = 1 +\nfor\nprint(1)\n```", "fragment", "line 2"),
        ("```\nimport torch\nx = torch.load('model.pt')\n```", "data", "model.pt"),
        (
            "```\nimport torch\nimport torchvision.models as m\nm.resnet18()(torch.ones(1))\n```",
            "data",
            "torchvision.models",
        ),
        ("```\nimport torch\nimport pandas\npandas.DataFrame(torch.ones(1))\n```", "package", "pandas"),
        ("```\nimport torch\nprint(torch.cuda.memory_allocated())\n```", "device", "torch.cuda.memory_allocated"),
        ("```\nimport torch, triton\n@triton.jit\ndef k(): pass\nk[1](torch.ones(1))\n```", "device", "triton"),
        (f"```\n{GROUP.format(', world_size=2, rank=0')}\n```", "machines", "world_size=2"),
        (f"```\n{GROUP.format('')}\n```\n```\ntorchrun --nproc_per_node=2 t.py\n```", "machines", "several"),
        ("```\n" + "x = torch.ones(1)\n" * 1300 + "```", "too_large", "1,300 lines"),
        ("word " * 60_000, "too_large", "300,000 characters"),
    ],
)
def test_there_is_one_reason_where_there_is_no_script(body: str, reason: str, says: str) -> None:
    made = found(body)
    assert isinstance(made, NoScript)
    assert made.reason == reason
    assert made.detail.startswith(extract_rules.load().reasons[reason])
    assert says in made.detail
    assert "\n" not in made.detail


def test_one_process_of_gloo_is_no_reason() -> None:
    assert isinstance(found(f"```\n{GROUP.format(', world_size=1, rank=0')}\n```"), Script)
    made = script(f"```\n{GROUP.format('')}\n```\n```\ntorchrun --nproc_per_node=1 t.py\n```")
    assert made.environment["WORLD_SIZE"] == "1"


# --- bad input ----------------------------------------------------------------------------------------------------

PIECES = ["```", "```python\n", "~~~", ">>> ", "In [1]: ", "import torch\n", "torch.ones(2)", "(", "[", "{", "<pre>", "</pre>",
          "<!--", "-->", "# ", "\r\n", "\n", "    ", '"""', "'", "f'{", "\u202e", "\x00", "\ud800", "\\", "lambda:", "-", ".a",
          "%", "cuda", "if x:\n", "\t", "=", "A_B=1 "]  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=60).map("".join))
def test_every_text_gives_one_clean_answer(text: str) -> None:
    made = read(ReportText(text[:50], text, (text,)))
    if isinstance(made, NoScript):
        assert made.reason in extract_rules.load().reasons
        return
    assert try_parse(made.code) is not None
    assert made.code.encode()
    assert len(made.hash) == 16


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "```python\nimport torch\ntorch.ones(1)\n```\n" * 10_000,
        "```python\n" * 100_000,
        "<pre>\n" * 100_000,
        "<!--" * 200_000,
        "```\nimport torch\n" + "(" * 50_000,
        "```\nimport torch\nx = " + "-" * 50_000 + "1",
        "```\nimport torch\nx = a" + ".b" * 25_000,
        "```\nimport torch\nx = " + "lambda:" * 8_000 + "1",
        "```\nimport torch\nx = (1" + "\n+1" * 15_000 + ")",
        "```\nimport torch\nif a: pass\n" + "elif a: pass\n" * 4_000,
        "```\nimport torch\n" + "".join(f"{' ' * n}if torch.cuda.is_available():\n" for n in range(99)),
        "```\nimport torch\n" + "this is a sentence of words here\n" * 1_000,
        ">>> (\n" + "x\n" * 100_000,
        "```bash\n" + 'python -c "\n' * 20_000,
        "import torch\nfoo bar\n" * 20_000,
        "TORCH_LOGS=a " * 20_000,
        "`" * 1_000_000,
    ],
    ids=lambda text: f"{text[:12]!r}",
)
def test_a_text_made_to_be_slow_or_deep_has_an_answer(text: str) -> None:
    assert isinstance(read(ReportText("t", text)), Script | NoScript)


# --- the table ----------------------------------------------------------------------------------------------------


@pytest.fixture
def store(database: Path) -> Store:
    opened = Store(database)
    with opened.writer("test", create=True) as writer, writer.transaction() as connection:
        for number, kind, body in (
            (1, "issue", f"```\n{CODE}\n```"),
            (2, "pull", "x"),
            (3, None, "words"),
            (4, "issue", None),
        ):
            values = [REPO, number, kind, "title", body, "h"]
            connection.execute(
                "INSERT INTO items (repo, number, kind, title, body, content_hash) VALUES (?, ?, ?, ?, ?, ?)", values
            )
    return opened


def rows_of(store: Store) -> dict[int, tuple[str | None, str | None]]:
    with store.read() as connection:
        return {
            n: (code, why) for n, code, why in connection.execute("SELECT number, code, reason FROM scripts").fetchall()
        }


def test_every_issue_has_one_row_and_is_read_again_only_when_it_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert update_scripts.refresh(store, None, Silent()) == 3
    assert {number: why for number, (_, why) in rows_of(store).items()} == {1: None, 3: "no_code", 4: "not_mined"}
    assert update_scripts.refresh(store, None, Silent()) == 0
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE items SET body = 'gone' WHERE number = 1")
        connection.execute("DELETE FROM items WHERE number = 4")
    assert update_scripts.refresh(store, None, Silent(), [3]) == 0
    assert update_scripts.refresh(store, None, Silent()) == 1
    assert rows_of(store) == {1: (None, "no_code"), 3: (None, "no_code")}
    monkeypatch.setattr(extract_rules, "version", lambda: "other")
    assert update_scripts.refresh(store, None, Silent()) == 2


def test_of_a_report_that_did_not_run_its_script_or_the_reason_is_shown(store: Store) -> None:
    shown = {number: report_of(store, REPO, number) for number in (1, 2, 3)}
    assert shown[1].behaviour == "The report's script has not run yet: `embers run 1`"
    assert shown[2].script is None, "a pull request is no report"
    assert shown[3].behaviour.startswith("No script: ")
    assert rows_of(store) == {}, "what is only shown is not kept"


def test_an_interrupted_run_keeps_its_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update_scripts, "BATCH", 1)
    monkeypatch.setattr(update_scripts, "read", lambda item: read(item) if item.body.startswith("```") else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        update_scripts.refresh(store, None, Silent())
    assert list(rows_of(store)) == [1]


def test_a_script_is_known_by_all_that_decides_its_run() -> None:
    made = script(f"```\n{CODE}\n```\n")
    assert replace(made, environment={"OMP_NUM_THREADS": "1"}).hash != made.hash == replace(made, changes=()).hash
