"""`embers audit`: which names of torch a text uses, which bugs of a release those can meet, and what is left unsaid."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.audit import command, formats, known
from torch_embers.builds import releases
from torch_embers.errors import InputError
from torch_embers.repro.case import shipped
from torch_embers.repro.torch_names import spellings, uses_of

CODE = """
import numpy as np
import torch.nn as nn
from torch.nn import functional as F
from torch import cumsum as running
import torch

G = torch.special

def step(x, name, options):
    y = F.layer_norm(x, (3,)) @ nn.Linear(3, 3)(x)
    y.addcmul_(x, x, value=-0.1)
    running(y, 0)
    G.logsumexp(y, 0)
    torch.ops.aten.sort.stable(y)
    getattr(torch, "flip")(y)
    getattr(F, name)(y)
    torch.add(y, y, **options)
    np.cumsum([1])
    y[0] = y[1] < 3
    torch.nn.init.zeros_(y)
"""


def named(code: str) -> set[str]:
    return {use.name for use in uses_of(code).found}


def test_names_are_followed_through_imports_assignments_and_namespaces() -> None:
    assert {
        "torch.nn.functional.layer_norm",
        "torch.nn.Linear",
        "Tensor.addcmul_",
        "torch.cumsum",
        "torch.special.logsumexp",
        "torch.sort",
        "torch.flip",
        "Tensor.__matmul__",
        "Tensor.__setitem__",
        "Tensor.__getitem__",
        "Tensor.__lt__",
        "torch.nn.init.zeros_",
    } <= named(CODE)
    assert "torch.numpy" not in named(CODE)
    assert next(use for use in uses_of(CODE).found if use.name == "torch.add").gives("out") is None


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ngetattr(torch, input())",
        "from torch.nn import *",
        "import torch\nexec('torch.cumsum(x)')",
        "import torch\n__import__('torch.nn')",
    ],
)
def test_names_that_are_made_at_run_time_are_told(code: str) -> None:
    assert len(uses_of(code).dynamic) == 1
    assert uses_of(code).imports_torch


def test_functions_of_the_project_itself_are_no_methods_of_tensors() -> None:
    own = "import torch\nfrom ..losses import tools as t\nfrom mine import maths\nclass A:\n def f(self, x):\n  "
    assert "Tensor.logsumexp" in named(own + "return x.logsumexp(0)")
    assert "Tensor.logsumexp" not in named(own + "return t.logsumexp(x), maths.logsumexp(x), self.logsumexp(x)")


def test_a_text_without_torch_uses_nothing_of_it() -> None:
    assert not uses_of("x = [3, 1]\nx.sort()\nimport torchvision").imports_torch


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(SyntaxError, ValueError):
        uses_of(text)


def test_a_function_of_torch_is_a_method_too() -> None:
    assert set(spellings("torch.add")) == {"torch.add", "Tensor.add", "Tensor.add_", "torch.add_"}
    assert list(spellings("torch.nn.Linear")) == ["torch.nn.Linear"]
    assert list(spellings("torch.Generator")) == ["torch.Generator"]


def test_every_case_that_occurs_on_a_release_says_how_code_meets_it() -> None:
    spelled = {entry.case for entry in known.Rules.load().spelling}
    occurring = {row["case"] for row in known.matrix() if row["verdict"] == "occurs"}
    assert spelled == occurring
    assert spelled <= {case.name for case in shipped()}


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("mode='circular'", True),
        ("(1, 1), 'circular'", True),
        ("mode=m", None),
        ("**o", None),
        ("mode='reflect'", False),
        ("3", False),
    ],
)
def test_an_argument_is_given_refused_or_unknown(call: str, given: bool | None) -> None:
    (use,) = [use for use in uses_of(f"import torch\ntorch.pad(x, {call})").found if use.name == "torch.pad"]
    assert use.gives("mode", "circular") is given


@pytest.mark.parametrize("version", ["2.6", "v2.6.0", "2.6.0.0", "2.06.0", " 2.6.0 "])
def test_another_spelling_of_a_version_has_the_same_bugs(version: str) -> None:
    assert known.nearest_release(version, ["2.5.1", "2.6.0", "2.10.0"]) == ("2.6.0", True)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.4.0", "nothing was measured"),
        ("9.9", "nothing was measured"),
        ("nightly", "no version"),
        ("2.16.0.dev1", "no release"),
    ],
)
def test_a_version_without_verdicts_is_refused(version: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        known.known_on(version)


def test_a_device_without_verdicts_is_refused() -> None:
    with pytest.raises(InputError, match="cuda"):
        known.known_on("2.6.0", "cuda")


def nearness(done: command.Audited) -> dict[str, str]:
    return {finding.bug.case.name: finding.nearness for finding in done.findings}


def test_commands_in_a_notebook_hide_none_of_its_code(tmp_path: Path) -> None:
    cells = [
        "%%bash\necho import nothing",
        "%%time\nimport torch\n",
        "found = !ls\nfound?\nif found:\n    %timeit 1\n",
        "torch.logsumexp(torch.ones(1, 4, 4), 2)",
    ]
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": text} for text in cells]}))
    done = command.audit([str(path)], "2.6.0")
    assert not done.unread
    (finding,) = [one for one in done.findings if "torch.logsumexp" in one.used]
    assert [place.line for place in finding.places] == [9]


def test_the_commit_that_a_release_was_built_of_is_told_in_every_listing() -> None:
    done = command.audit([], "2.15.0")
    commit = releases.commit_of("2.15.0")
    assert commit
    assert f"torch 2.15.0 (commit {commit[:10]})" in formats.lines(done)[0]
    assert re.fullmatch(r"measured on cpu, .+", formats.lines(done)[1])
    assert formats.rows(done)["commit"] == commit
    component = formats.vex(done)["metadata"]["component"]
    assert component["pedigree"]["commits"][0]["uid"] == commit
    assert [place["value"] for place in component["properties"]] == ["2.15.0", *formats.rows(done)["environments"]]


def test_every_measured_release_has_a_commit_of_its_own() -> None:
    measured = {row["build"] for row in known.matrix()}
    assert measured == releases.Releases.load().git_commit.keys()
    assert len(set(releases.Releases.load().git_commit.values())) == len(measured)


def test_folders_of_other_peoples_code_are_left_out(tmp_path: Path) -> None:
    for folder in (".venv", "node_modules", "own"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text("import torch", encoding="utf-8")
    assert command.audit([str(tmp_path)], "2.6.0").files == 1


def test_a_package_is_read_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loud_package").mkdir()
    (tmp_path / "loud_package" / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert command.audit(["loud_package"], "2.6.0").files == 1


def test_a_folder_without_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Python file"):
        command.audit([str(tmp_path)], "2.6.0")


def test_an_index_of_numbers_and_slices_is_plain_and_one_with_a_name_is_not() -> None:
    plain = {use.plain for use in uses_of("x[0], x[1:], x[..., -1], x[a:b, None], x['key']").found}
    assert plain == {True}
    assert {use.plain for use in uses_of("x[i], x[:, i], x[i + 1]").found if "getitem" in use.name} == {False}


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nth = torch\nth.nn.MultiheadAttention(4, 2)",
        "import torch\nnn, F = torch.nn, torch.nn.functional\nnn.MultiheadAttention(4, 2)",
        "import torch\nnn: object = torch.nn\nnn.MultiheadAttention(4, 2)",
        "from torch.nn.modules.activation import MultiheadAttention\nMultiheadAttention(4, 2)",
        "import importlib\nt = importlib.import_module('torch')\nt.nn.MultiheadAttention(4, 2)",
        "from .common import torch\ntorch.nn.MultiheadAttention(4, 2)",
        "torch.nn.MultiheadAttention(4, 2)  # a part of a file, as people send it",
        "\ufeffimport torch\ntorch.nn.MultiheadAttention(4, 2)",
        "from torch import nn\ndef other():\n    from paddle import nn\nnn.MultiheadAttention(4, 2)",
        "from torch import nn\nclass Mine(nn.MultiheadAttention):\n    pass",
    ],
)
def test_every_ordinary_way_to_a_class_of_torch_is_found(code: str) -> None:
    done = command.audit_texts({Path("x.py"): f"{code}\nlayer(x, x, x, attn_mask=mask)"}, "2.6.0")
    assert nearness(done)["pt41508_mha_bucketed_mask_gradient"] == "calls"


@pytest.mark.parametrize(
    ("code", "near"),
    [
        ("def f(x): return x.logsumexp(-1)", "may call"),  # a file without torch may be given tensors
        ("import numpy\ndef f(x): return x.logsumexp(-1)", None),
        ("import torch\nf = x.logsumexp\nf(0)", "may call"),
        ("import torch\ngetattr(x, 'logsumexp')(0)", "may call"),
        ("import torch\ntorch.Tensor.logsumexp(x, 0)", "calls"),
        ("import torch\ndef f(m: torch.logsumexp): ...", None),
        ("import torch\nisinstance(m, torch.logsumexp)", None),
    ],
)
def test_what_is_handed_on_or_asked_for_is_no_call(code: str, near: str | None) -> None:
    done = command.audit_texts({Path("x.py"): f"{code}\nlowest = float('-inf')"}, "2.6.0")
    assert nearness(done).get("pt31829_logsumexp_gradient") == near


def test_what_was_not_looked_at_is_told(tmp_path: Path) -> None:
    notebook = {
        "cells": [{"cell_type": "code", "source": ["%time\n", "import torch\n", "torch.logsumexp(x - torch.inf, 0)"]}]
    }
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (tmp_path / "build").mkdir()
    (tmp_path / "elsewhere").symlink_to(tmp_path / "build")
    os.mkfifo(tmp_path / "pipe.py")
    done = command.audit([str(tmp_path)], "2.6.0")
    assert nearness(done)["pt31829_logsumexp_gradient"] == "calls"
    assert {path.name for path in done.unread} == {"build", "elsewhere"}


def test_an_audit_that_could_read_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("print 'two'", encoding="utf-8")
    with pytest.raises(InputError, match=r"none of 1 files could be read: .*two\.py: SyntaxError"):
        command.audit([str(tmp_path)], "2.6.0")
