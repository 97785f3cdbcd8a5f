"""From an item's texts to one script with its edits and its expected failure, or to one reason."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torch_embers.repro.case import parse as parse_case
from torch_embers.repro.extract import Extraction, ItemText, extract


def item(body: str, *comments: str, title: str = "It fails") -> Extraction:
    return extract(ItemText("pytorch/pytorch", 1, title, dedent(body), comments))


def actions(found: Extraction) -> list[str]:
    return [edit.action for edit in found.edits]


def test_a_report_with_script_and_traceback_gives_both() -> None:
    found = item(
        """
        ## Bug
        ```python
        import torch
        torch.ones(2)[5]
        ```
        ```
        Traceback (most recent call last):
          File "a.py", line 2, in <module>
            torch.ones(2)[5]
        IndexError: index 5 is out of bounds for dimension 0 with size 2
        ```
        ### Versions
        ```
        PyTorch version: 2.1.2
        ```
        """
    )
    assert (found.status, found.reason, found.found_in, found.lines) == ("runnable", "", "body", (3,))
    assert found.verbatim == "import torch\ntorch.ones(2)[5]"
    assert found.script == "import torch\nprint(torch.ones(2)[5])\n"
    assert actions(found) == ["expression_printed"]
    assert [str(s) for s in found.expectation.signature] == [
        "IndexError: index N is out of bounds for dimension N with size N"
    ]


def test_definitions_and_their_use_are_joined_in_either_order() -> None:
    first = "```\nimport torch\ndef f(x):\n    return x + 1\n```\nthen\n```\nprint(f(torch.ones(2)))\n```\n"
    second = "```\nprint(f(torch.ones(2)))\n```\nwhere\n```\nimport torch\ndef f(x):\n    return x + 1\n```\n"
    for text in (first, second):
        found = item(text)
        assert found.script == "import torch\ndef f(x):\n    return x + 1\nprint(f(torch.ones(2)))\n"
        assert "blocks_joined" in actions(found)


def test_a_block_that_redefines_everything_replaces_the_earlier_one() -> None:
    found = item(
        "```\nimport torch\nx = torch.ones(2)\nx.sum()\n```\nSmaller:\n```\nimport torch\nx = torch.ones(1)\nx.sum()\n```\n"
    )
    assert "ones(1)" in found.script


def test_the_block_that_the_traceback_quotes_wins_over_the_one_that_works() -> None:
    found = item(
        """
        This works fine:
        ```
        import torch
        torch.add(torch.ones(2), 1)
        ```
        This fails:
        ```
        import torch
        torch.sub(torch.ones(2), None)
        ```
        ```
        Traceback (most recent call last):
          File "a.py", line 2, in <module>
            torch.sub(torch.ones(2), None)
        TypeError: no
        ```
        """
    )
    assert "torch.sub" in found.script


def test_a_workaround_is_not_joined_to_what_it_works_around() -> None:
    found = item(
        "```\nimport torch\nx = torch.ones(2)\nx.add_(1)\n```\n### Workaround\nUse this:\n```\nx = torch.add(x, 1)\n```\n"
    )
    assert found.script == "import torch\nx = torch.ones(2)\nx.add_(1)\n"


def test_a_session_becomes_a_script_and_its_outputs_evidence() -> None:
    found = item(
        """
        ```
        >>> import torch
        >>> x = torch.ones(2)
        >>> x.sum() == 3
        tensor(False)
        ```
        """
    )
    assert found.script == "import torch\nx = torch.ones(2)\nprint(x.sum() == 3)\n"
    assert actions(found) == ["prompts_removed", "expression_printed"]
    assert (found.expectation.kind, found.expectation.actual) == ("mismatch", ("tensor(False)",))


def test_comments_are_read_where_the_body_gives_nothing_that_runs() -> None:
    advice = "You could use\n```\nimport torch\ntorch.ones(2)\n```\n"
    repro = "Minimal repro:\n```\nimport torch\ntorch.zeros(2)[3]\n```\n"
    assert item("no code", advice).status == "not_possible"
    found = item("no code", advice, repro)
    assert (found.found_in, found.script) == ("comment 2", "import torch\nprint(torch.zeros(2)[3])\n")
    assert item("```\nimport torch\ntorch.eye(2)\n```", repro).found_in == "body"


def test_a_comment_can_complete_the_body() -> None:
    body = "```\nimport torch\nprint(net(torch.ones(2)))\n```"
    found = item(body, "Here is the net:\n```\nimport torch\ndef net(x):\n    return x * 2\n```")
    assert (found.status, found.found_in) == ("runnable", "comment 1")
    assert found.script.index("def net") < found.script.index("print(net")


@pytest.mark.parametrize(
    ("title", "body", "reason"),
    [
        ("It fails", "", "prose_only"),
        ("It fails", "First do this, then that.", "prose_only"),
        ("It fails", "```\ndone in 3 s\n```", "no_code"),
        (
            "It fails",
            '```\nTraceback (most recent call last):\n  File "a", line 1\nRuntimeError: x\n```',
            "traceback_only",
        ),
        ("It fails", "```cpp\n#include <torch/torch.h>\nint main() {}\n```", "not_python"),
        ("It fails", "```cpp\n#include <torch/extension.h>\nPYBIND11_MODULE(a, m) {}\n```", "cpp_extension"),
        ("It fails", "```\nimport torch\nx = = 2\ny = torch.ones(2)\nz = torch.ones(2)\n```", "syntax"),
        ("It fails", "```\nx = model(inputs)\nloss = criterion(x, labels)\n```", "fragment"),
        ("Cannot install with conda", "```\n$ conda install pytorch\n$ conda list\n```", "install_or_build"),
        ("ImportError", "```\nimport torch\n```", "install_or_build"),
        ("It fails", "```\nimport torchvision.models as m\nprint(m.vgg16())\n```", "model_zoo"),
        ("It fails", "```python\nimport torch\n" + "x = torch.ones(2)\n" * 4000 + "```", "too_large"),
    ],
)
def test_every_item_without_a_script_has_one_reason(title: str, body: str, reason: str) -> None:
    found = item(body, title=title)
    assert (found.status, found.reason, found.script) == ("not_possible", reason, "")


def test_edits_tell_the_way_from_verbatim_to_script() -> None:
    found = item("```\n$ python - <<EOF\nx = torch.randn(N).cuda()\nprint x\nEOF\n```")
    assert found.verbatim.startswith("$ python")
    assert actions(found) == [
        "heredoc_unwrapped",
        "python2",
        "device_agnostic",
        "device_agnostic",
        "device_agnostic",
        "default_added",
        "seed_added",
    ]
    assert found.script.endswith("x = torch.randn(N).to(embers_device)\nprint(x)\n")


def test_requirements_are_words_that_a_case_knows() -> None:
    body = "```\nimport numpy as np, scipy\nprint(np.ones(2), scipy, torch.ones(2).cuda(), torch.rfft(torch.ones(2), 1))\n```"
    found = item(body, title="Wrong on GPU")
    needs = ", ".join(f'"{need}"' for need in found.requires)
    assert found.requires
    text = (
        f'# /// script\n# dependencies = ["torch"]\n# [tool.embers]\n# issues = ["pytorch/pytorch#1"]\n'
        f'# requires = [{needs}]\n# signature = "mismatch"\n# ///\n"""What."""\n{found.script}'
    )
    assert parse_case(text, "pt1", "extracted").device == "cuda"
