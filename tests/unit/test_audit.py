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
from torch_embers.repro import shipped_verdicts
from torch_embers.repro.case import shipped
from torch_embers.repro.torch_names import uses_of

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


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(SyntaxError, ValueError):
        uses_of(text)


def test_every_case_that_occurs_on_a_release_says_how_code_meets_it() -> None:
    spelled = {entry.case for entry in known.Rules.load().spelling}
    occurring = {row["case"] for row in shipped_verdicts.matrix() if row["verdict"] == "occurs"}
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
    ("version", "device", "said"),
    [
        ("1.4.0", "cpu", "nothing was measured"),
        ("9.9", "cpu", "nothing was measured"),
        ("nightly", "cpu", "no version"),
        ("2.16.0.dev1", "cpu", "no release"),
        ("2.6.0", "cuda", "cuda"),
    ],
)
def test_a_version_or_a_device_without_verdicts_is_refused(version: str, device: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        known.known_on(version, device)


def test_two_environments_of_a_release_are_one_bug_that_is_fixed_where_both_are_free_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = {"2.11.0": "not_seen"}
    rows = [
        row | {"verdict": here.get(row["build"], row["verdict"])}
        for row in shipped_verdicts.matrix()
        if row["case"] == "pt171838_pixel_shuffle_square"
    ]
    there = {"2.6.0": "absent", "2.10.0": "occurs", "2.11.0": "absent", "2.12.1": "changed"}
    other = [
        row | {"environment": "cpu, Other, AVX2, Linux", "verdict": there.get(row["build"], row["verdict"])}
        for row in rows
    ]
    for both in (rows + other, other + rows):
        monkeypatch.setattr(shipped_verdicts, "read", lambda both=both: both)
        here = known.known_on("2.6.0")
        assert [(bug.case.name, bug.fixed_in) for bug in here.bugs] == [("pt171838_pixel_shuffle_square", "2.11.0")]
        assert (here.decided, here.undecided, len(here.environments)) == (1, 0, 1)
        assert here.bugs[0].evidence.count("2.6.0") == 1
        assert [bug.case.name for bug in known.known_on("2.10.0").bugs] == ["pt171838_pixel_shuffle_square"]


def test_what_cannot_be_read_is_refused_and_what_was_not_looked_at_is_told(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("print 'two'", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for target, said in (
        (str(tmp_path), r"none of 1 files could be read: .*two\.py: SyntaxError"),
        (str(tmp_path / "empty"), "no Python file"),
        ("no/such/file.py", "no such file, folder or installed package"),
        ("no_such_package", "no such file, folder or installed package"),
    ):
        with pytest.raises(InputError, match=said):
            command.audit([target], "2.6.0")
    for folder in (".venv", "node_modules", "build"):  # other people's code, and what is generated
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text("import torch", encoding="utf-8")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "build")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "own.py").write_text("import torch\ngetattr(torch, input())(x)", encoding="utf-8")
    done = command.audit([str(tmp_path)], "2.6.0")
    assert (done.files, len(done.dynamic)) == (1, 1)
    assert {path.name for path in done.unread} >= {"two.py", "build", "elsewhere"}
    states = {entry["analysis"]["state"] for entry in formats.vex(done)["vulnerabilities"]}
    assert states == {"in_triage"}, "nothing is called out of reach"


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


def test_a_package_is_read_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loud_package").mkdir()
    (tmp_path / "loud_package" / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert command.audit(["loud_package"], "2.6.0").files == 1


def test_an_index_of_numbers_and_slices_is_plain_and_one_with_a_name_is_not() -> None:
    plain = {use.plain for use in uses_of("x[0], x[1:], x[..., -1], x[a:b, None], x['key']").found}
    assert plain == {True}
    assert {use.plain for use in uses_of("x[i], x[:, i], x[i + 1]").found if "getitem" in use.name} == {False}


MHA, PADDING = "pt41508_mha_bucketed_mask_gradient", "pt41508_mha_padding_gradient"
LOGSUMEXP = "pt31829_logsumexp_gradient"
NORMALIZE, REDUCE = "pt32137_normalize_half_zero", "scatter_reduce_mean_half"
EMBEDDING, PUT = "embedding_gradient_low_precision", "pt156173_index_put_accumulate_low_precision"
SDPA, NLL = "pt103963_sdpa_masked_row", "pt175084_nll_loss2d_backward_movedim"
MASKED = "nn.MultiheadAttention(4, 2)(x, x, x, attn_mask=mask)"
HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


@pytest.mark.parametrize(
    ("code", "case", "near"),
    [
        # every ordinary way to a class of torch
        (f"import torch\nth = torch\nth.{MASKED}", MHA, "calls"),
        (f"import torch\nnn, F = torch.nn, torch.nn.functional\n{MASKED}", MHA, "calls"),
        (f"import torch\nnn: object = torch.nn\n{MASKED}", MHA, "calls"),
        (f"from torch.nn.modules.activation import MultiheadAttention\n{MASKED.removeprefix('nn.')}", MHA, "calls"),
        (f"import importlib\nt = importlib.import_module('torch')\nt.{MASKED}", MHA, "calls"),
        (f"from .common import torch\ntorch.{MASKED}", MHA, "calls"),
        (f"torch.{MASKED}  # a part of a file, as people send it", MHA, "calls"),
        (f"\ufeffimport torch\ntorch.{MASKED}", MHA, "calls"),
        (f"from torch import nn\ndef f():\n    from paddle import nn\n{MASKED}", MHA, "calls"),
        ("from torch import nn\nclass Mine(nn.MultiheadAttention):\n    pass\nlayer(x, attn_mask=m)", MHA, "calls"),
        # what is handed on or asked for is no call; a file without torch may be given tensors
        ("def f(x): return (x - float('inf')).logsumexp(-1)", LOGSUMEXP, "may call"),
        ("import numpy\ndef f(x): return (x - float('inf')).logsumexp(-1)", LOGSUMEXP, None),
        ("import torch\nf = x.logsumexp\nf(0)\nlowest = float('-inf')", LOGSUMEXP, "may call"),
        ("import torch\ngetattr(x, 'logsumexp')(0)\nlowest = float('-inf')", LOGSUMEXP, "may call"),
        ("import torch\ndef f(m: torch.logsumexp): ...\nlowest = float('-inf')", LOGSUMEXP, None),
        ("import torch\nisinstance(m, torch.logsumexp)\nlowest = float('-inf')", LOGSUMEXP, None),
        # a call counts as certain only beside what its bug needs
        (HEAD + "nn.MultiheadAttention(8, 2)(x, x, x)", MHA, "may call"),
        (HEAD + "nn.MultiheadAttention(8, 2)(x, x, x, attn_mask=None)", MHA, "may call"),
        (HEAD + "m = nn.MultiheadAttention(8, 2)\nm(x, x, x, attn_mask=a)", MHA, "calls"),
        (HEAD + "m = nn.MultiheadAttention(8, 2)\nm(x, x, x, attn_mask=a)", PADDING, "may call"),
        (HEAD + "m = nn.MultiheadAttention(8, 2)\nm(x, x, x, key_padding_mask=p)", PADDING, "calls"),
        (HEAD + "F.scaled_dot_product_attention(q, k, v)", SDPA, None),
        (HEAD + "F.scaled_dot_product_attention(q, k, v, attn_mask=m)", SDPA, "calls"),
        (HEAD + "F.scaled_dot_product_attention(q, k, v, m)", SDPA, "may call"),
        (HEAD + "torch.logsumexp(x.masked_fill(m, -1e9), 1)", LOGSUMEXP, "may call"),
        (HEAD + "torch.logsumexp(x.masked_fill(m, float('-inf')), 1)", LOGSUMEXP, "calls"),
        (HEAD + "torch.logsumexp(torch.cat([x - torch.inf, zero], 1), 1)", LOGSUMEXP, "may call"),
        (HEAD + "F.cross_entropy(x, y)", NLL, "may call"),
        (HEAD + "F.cross_entropy(x.movedim(-1, 1), y)", NLL, "calls"),
        (HEAD + "F.normalize(x.half())\ntorch.float16", NORMALIZE, "calls"),
        (HEAD + "F.normalize(x.half(), eps=1e-7)\ntorch.float16", NORMALIZE, "may call"),
        (HEAD + "F.normalize(x)\nwith torch.autocast('cpu', enabled=False): pass", NORMALIZE, "may call"),
        (HEAD + "F.normalize(x)\nwith torch.autocast('cpu'): pass", NORMALIZE, "calls"),
        (HEAD + "x.half().scatter_reduce(0, i, y, reduce='mean')\ntorch.half", REDUCE, "calls"),
        (HEAD + "x.half().scatter_reduce(0, i, y, 'mean')\ntorch.half", REDUCE, "calls"),
        (HEAD + "x.half().scatter_reduce(0, i, y, reduce='amax')\ntorch.half", REDUCE, None),
        (HEAD + "nn.Embedding(9, 3)\nwith torch.autocast('cpu'): pass", EMBEDDING, "may call"),
        (HEAD + "nn.Embedding(9, 3).bfloat16()", EMBEDDING, "calls"),
        # an argument that says no is not given
        (HEAD + "x.bfloat16()\nx.index_put_((i,), v, accumulate=True)", PUT, "calls"),
        (HEAD + "x.bfloat16()\nx.index_put_((i,), v, accumulate=False)", PUT, None),
        (HEAD + "x.bfloat16()\nx.index_put_((i,), v, True)", PUT, "may call"),
        (HEAD + "x.bfloat16()\nx.index_put_(*parts)", PUT, "may call"),
        # a number that stands in the file is no tensor
        *(
            (f"{HEAD}x.bfloat16()\nx.byte()\n{line.format(operand)}", case, near)
            for line, case, met in (
                ("x[{}]", "pt156173_index_gradient_low_precision", "may call"),
                ("x < {}", "pt178716_compare_byte_with_negative", "may call"),
                ("x -= {}", "pt76891_subtract_own_column", "may call"),
                ("x.mul_({})", "pt76891_subtract_own_column", "calls"),
            )
            for operand, near in (("y[0]", met), ("-1", None))
        ),
    ],
)
def test_how_near_code_comes_to_a_bug(code: str, case: str, near: str | None) -> None:
    assert nearness(command.audit_texts({Path("x.py"): code}, "2.4.1")).get(case) == near
