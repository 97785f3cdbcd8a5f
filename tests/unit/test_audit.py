"""`embers audit`: which names of torch a text uses, which bugs of a release those can meet, and what is left unsaid."""

from __future__ import annotations

import ast
import contextlib
import functools
import json
import os
import re
import sys
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.audit import audit_code, formats, ignores, known
from torch_embers.audit.call_facts import shown_in
from torch_embers.builds import releases
from torch_embers.cases import shipped_verdicts
from torch_embers.cases.case import shipped
from torch_embers.errors import InputError
from torch_embers.torch_names import spellings, uses_of

known_once = functools.cache(known.known_on)


@pytest.fixture(autouse=True)
def read_verdicts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of a release is the same in all tests of audits."""
    monkeypatch.setattr(audit_code, "known_on", known_once)


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
    spelled = known.AuditRules.load().by_case().keys()
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
    (tmp_path / "notes.md").write_text("How to train, in words", encoding="utf-8")
    for target, said in (
        (str(tmp_path), r"none of 1 files could be read: .*two\.py: SyntaxError"),
        (str(tmp_path / "empty"), "nothing to read here: it holds no Python file"),
        (str(tmp_path / "notes.md"), "nothing to read here: .*notes.md is no Python"),
        ("no/such/file.py", "no such file, folder or installed package"),
        ("no_such_package", "no such file, folder or installed package"),
    ):
        with pytest.raises(InputError, match=said):
            audit_code.audit([target], "2.6.0")
    for folder in (".venv", "node_modules", "build"):  # other people's code, and what is generated
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text("import torch", encoding="utf-8")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "build")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "own.py").write_text("import torch\ngetattr(torch, input())(x)", encoding="utf-8")
    done = audit_code.audit([str(tmp_path)], "2.6.0")
    assert (done.files, len(done.dynamic)) == (1, 1)
    assert {path.name for path in done.unread} >= {"two.py", "build", "elsewhere"}
    states = {entry["analysis"]["state"] for entry in formats.vex(done)["vulnerabilities"]}
    assert states == {"in_triage"}, "nothing is called out of reach"


def test_each_cyclonedx_document_has_a_number_and_a_time_of_its_own() -> None:
    done = audit_code.audit([], "2.15.0")
    first, second = (formats.vex(done) for _ in range(2))
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first["serialNumber"])
    assert first["serialNumber"] != second["serialNumber"]
    assert datetime.fromisoformat(first["metadata"]["timestamp"]).utcoffset() == timedelta(0)


def confidence(done: audit_code.Audited) -> dict[str, str]:
    return {finding.bug.case.name: finding.confidence for finding in reversed(done.findings)}


def test_commands_in_a_notebook_hide_none_of_its_code(tmp_path: Path) -> None:
    cells = [
        "%%bash\necho import nothing",
        "%%time\nimport torch\n",
        "found = !ls\nfound?\nif found:\n    %timeit 1\n",
        "torch.logsumexp(torch.full((4, 4), -torch.inf), 1)",
    ]
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": text} for text in cells]}))
    done = audit_code.audit([str(path)], "2.6.0")
    assert not done.unread
    (finding,) = [one for one in done.findings if "torch.logsumexp" in one.used]
    assert [place.line for place in finding.places] == [9]


def test_the_commit_that_a_release_was_built_of_is_told_in_every_listing() -> None:
    done = audit_code.audit([], "2.15.0")
    commit = releases.commit_of("2.15.0")
    assert commit
    assert re.fullmatch(rf"torch 2.15.0 \(commit {commit[:10]}\) was measured on cpu, .+", formats.lines(done)[-1])
    assert formats.rows(done)["commit"] == commit
    component = formats.vex(done)["metadata"]["component"]
    assert component["pedigree"]["commits"][0]["uid"] == commit
    assert [place["value"] for place in component["properties"]] == ["2.15.0", *formats.rows(done)["environments"]]


def test_a_package_is_read_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loud_package").mkdir()
    (tmp_path / "loud_package" / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert audit_code.audit(["loud_package"], "2.6.0").files == 1


def test_an_index_of_numbers_and_slices_is_plain_and_one_with_a_name_is_not() -> None:
    plain = {use.plain for use in uses_of("x[0], x[1:], x[..., -1], x[a:b, None], x['key']").found}
    assert plain == {True}
    assert {use.plain for use in uses_of("x[i], x[:, i], x[i + 1]").found if "getitem" in use.name} == {False}


MHA, PADDING = "pt41508_mha_bucketed_mask_gradient", "pt41508_mha_padding_gradient"
GELU = "pt185770_gelu_infinity"
LOGSUMEXP, COLUMN = "pt31829_logsumexp_gradient", "pt76891_subtract_own_column"
NORMALIZE, REDUCE = "pt32137_normalize_half_zero", "scatter_reduce_mean_half"
EMBEDDING, PUT = "embedding_gradient_low_precision", "pt156173_index_put_accumulate_low_precision"
SDPA, NLL = "pt103963_sdpa_masked_row", "pt175084_nll_loss2d_backward_movedim"
MEDIAN, FORMAT, OUT = "median_expanded", "pt62027_to_contiguous_format_swapped", "pt84577_narrow_copy_strided_out"
MASKED = "nn.MultiheadAttention(4, 2)(x, x, x, attn_mask=mask)"
HEAD = "import torch\nfrom torch import nn\nloss = None\nimport torch.nn.functional as F\n"
HIDDEN = "s + z.masked_fill(m, float('-inf'))"


@pytest.mark.parametrize(
    ("code", "case", "near"),
    [
        # every ordinary way to a class of torch
        (f"import torch\nth = torch\nth.{MASKED}", MHA, "possible"),
        (f"import torch\nnn, F = torch.nn, torch.nn.functional\n{MASKED}", MHA, "possible"),
        (f"import torch\nnn: object = torch.nn\n{MASKED}", MHA, "possible"),
        (f"from torch.nn.modules.activation import MultiheadAttention\n{MASKED.removeprefix('nn.')}", MHA, "possible"),
        (f"import importlib\nt = importlib.import_module('torch')\nt.{MASKED}", MHA, "possible"),
        (f"from .common import torch\ntorch.{MASKED}", MHA, "possible"),
        (f"torch.{MASKED}  # a part of a file, as people send it", MHA, "possible"),
        (f"\ufeffimport torch\ntorch.{MASKED}", MHA, "possible"),
        (f"from torch import nn\ndef f():\n    from paddle import nn\n{MASKED}", MHA, "possible"),
        ("from torch import nn\nclass Mine(nn.MultiheadAttention):\n    pass\nlayer(x, attn_mask=m)", MHA, "possible"),
        # what is handed on or asked for is no call; a file without torch may be given tensors
        ("def f(x): return (x - float('inf')).logsumexp(-1)", LOGSUMEXP, "possible"),
        ("import numpy\ndef f(x): return (x - float('inf')).logsumexp(-1)", LOGSUMEXP, None),
        ("import torch\nf = x.logsumexp\nf(0)\nlowest = float('-inf')", LOGSUMEXP, "possible"),
        ("import torch\ngetattr(x, 'logsumexp')(0)\nlowest = float('-inf')", LOGSUMEXP, "possible"),
        ("import torch\ndef f(m: torch.logsumexp): ...\nlowest = float('-inf')", LOGSUMEXP, None),
        ("import torch\nisinstance(m, torch.logsumexp)\nlowest = float('-inf')", LOGSUMEXP, None),
        # masks: an unknown one may hide no row; a causal one never does
        (HEAD + "nn.MultiheadAttention(8, 2)(x, x, x)", MHA, "possible"),
        (HEAD + "nn.MultiheadAttention(8, 2)(x, x, x, attn_mask=None)", MHA, "possible"),
        (HEAD + "m = nn.MultiheadAttention(8, 2)\nm(x, x, x, key_padding_mask=p, attn_mask=a)", MHA, "possible"),
        (
            HEAD + f"a = {HIDDEN}\nm = nn.MultiheadAttention(8, 2)\nm(x, x, x, key_padding_mask=p, attn_mask=a)",
            MHA,
            "high",
        ),
        (HEAD + "m = nn.MultiheadAttention(8, 2)\nm(x, x, x, attn_mask=a)", PADDING, "possible"),
        (HEAD + "F.scaled_dot_product_attention(q, k, v)", SDPA, None),
        (HEAD + "F.scaled_dot_product_attention(q, k, v, attn_mask=m)", SDPA, "possible"),
        (HEAD + f"F.scaled_dot_product_attention(q, k, v, {HIDDEN})", SDPA, "high"),
        (
            HEAD + "m = torch.full((9, 9), -torch.inf).triu(1)\nF.scaled_dot_product_attention(q, k, v, m)",
            SDPA,
            "possible",
        ),
        # infinity, followed through names, branches, functions and fields
        (HEAD + "torch.logsumexp(x.masked_fill(m, -1e9), 1)", LOGSUMEXP, "possible"),
        (HEAD + f"torch.logsumexp({HIDDEN}, 1)", LOGSUMEXP, "high"),
        (HEAD + f"if m is not None:\n  s = {HIDDEN}\ns.logsumexp(1)", LOGSUMEXP, "high"),
        (HEAD + f"s = {HIDDEN}\ns = s.softmax(1)\ns.logsumexp(1)", LOGSUMEXP, "possible"),
        (HEAD + "x[m] = -torch.inf\n(x + y).logsumexp(1)", LOGSUMEXP, "high"),
        (HEAD + "x.masked_fill_(m, -torch.inf)\n(x + y).logsumexp(1)", LOGSUMEXP, "high"),
        # no gradient flows back through what was filled
        (HEAD + "x.masked_fill(m, -torch.inf).logsumexp(1)", LOGSUMEXP, "possible"),
        (HEAD + "torch.where(m, x, -torch.inf).logsumexp(1)", LOGSUMEXP, "possible"),
        (HEAD + "x[m] = -torch.inf\nx.logsumexp(1)", LOGSUMEXP, "possible"),
        (HEAD + "x = x.new_full((9, 9), -torch.inf)\nx[i] = y\n(x + y).logsumexp(1)", LOGSUMEXP, "possible"),
        (HEAD + f"def f(s): return s.logsumexp(1)\nf({HIDDEN})", LOGSUMEXP, "possible"),
        (HEAD + "def f(x): return x.median(1)\nf(y.expand(3, 4))", MEDIAN, "high"),
        (HEAD + f"def f(s): return {HIDDEN}\nf(s).logsumexp(1)", LOGSUMEXP, "high"),
        (
            HEAD + f"class A:\n def g(self): self.s.logsumexp(1)\n def __init__(self, s): self.s = {HIDDEN}",
            LOGSUMEXP,
            "high",
        ),
        (HEAD + f"with torch.no_grad():\n  torch.logsumexp({HIDDEN}, 1)", LOGSUMEXP, "possible"),
        (HEAD + "torch.logsumexp(torch.cat([x - torch.inf, zero], 1), 1)", LOGSUMEXP, "possible"),
        # layouts
        (HEAD + "F.nll_loss(x, y)\nx.movedim(0, 1)", NLL, "possible"),
        (HEAD + "F.nll_loss(x.movedim(-1, 1), y)", NLL, "possible"),
        (HEAD + "F.nll_loss(x.permute(0, 3, 1, 2), y)", NLL, "high"),
        (HEAD + "F.nll_loss(x.permute(0, 3, 1, 2).contiguous(), y)", NLL, "possible"),
        (HEAD + "torch.median(x.expand(3, 4), 1)", MEDIAN, "high"),
        (HEAD + "x.expand(3, 4).clone().median(1)", MEDIAN, "possible"),
        (HEAD + "x.expand(3, 4).cuda().median(1)", MEDIAN, "possible"),
        (HEAD + "o = b[:, ::2]\ntorch.narrow_copy(x, 0, 1, 2, out=o)", OUT, "high"),
        (HEAD + "torch.narrow_copy(x, 0, 1, 2, out=o)", OUT, "possible"),
        (HEAD + "torch.narrow_copy(x, 0, 1, 2)", OUT, None),
        (HEAD + "torch.as_tensor(x).to(memory_format=torch.contiguous_format)", FORMAT, "high"),
        (HEAD + "model.half().to(memory_format=torch.contiguous_format)", FORMAT, "possible"),
        (HEAD + "x.permute(0, 3, 1, 2).to(memory_format=torch.contiguous_format)", FORMAT, "possible"),
        (HEAD + "x = 2 * torch.zeros(3, 3)\nx.to(memory_format=torch.contiguous_format)", FORMAT, "possible"),
        (HEAD + "x = torch.zeros(3, 3).t()\nx.to(memory_format=torch.contiguous_format)", FORMAT, "high"),
        (HEAD + "x.t().to(memory_format=torch.contiguous_format)\ntorch.channels_last", FORMAT, "possible"),
        (HEAD + "x.to(memory_format=torch.preserve_format)\ntorch.contiguous_format", FORMAT, None),
        # dtypes
        (HEAD + "F.normalize(x.half())\ntorch.float16", NORMALIZE, "high"),
        (HEAD + "F.normalize(x.half().float())\ntorch.float16", NORMALIZE, "possible"),
        (HEAD + "F.normalize(x.half(), eps=1e-7)\ntorch.float16", NORMALIZE, "possible"),
        (HEAD + "F.normalize(x)\nwith torch.autocast('cpu', enabled=False): pass", NORMALIZE, "possible"),
        (HEAD + "F.normalize(x)\nwith torch.autocast('cpu'): pass", NORMALIZE, "possible"),
        (HEAD + "x.half().scatter_reduce(0, i, y, reduce='mean')\ntorch.half", REDUCE, "high"),
        (HEAD + "x.half().scatter_reduce(0, i, y, 'mean')\ntorch.half", REDUCE, "high"),
        (HEAD + "x.half().scatter_reduce(0, i, y, reduce='amax')\ntorch.half", REDUCE, None),
        (HEAD + "nn.Embedding(9, 3)\nwith torch.autocast('cpu'): pass", EMBEDDING, "possible"),
        (HEAD + "nn.Embedding(9, 3, dtype=torch.bfloat16)", EMBEDDING, "possible"),
        (HEAD + "nn.Embedding(9, 3, dtype=torch.bfloat16, device='cpu')", EMBEDDING, "high"),
        (HEAD + "nn.Embedding(9, 3).bfloat16()", EMBEDDING, "possible"),
        # an argument that says no is not given
        (HEAD + "x.bfloat16().index_put_((i,), v, accumulate=True)", PUT, "high"),
        (HEAD + "x.bfloat16().index_put_((i,), v, accumulate=False)\ntorch.half", PUT, None),
        (HEAD + "x.bfloat16().index_put_(*parts)\ntorch.half", PUT, "possible"),
        # a number that stands in the file is no tensor; only the first column is overwritten while it is needed
        (HEAD + "x = torch.rand(9, 3)\nx -= x[:, :1]", COLUMN, "high"),
        (HEAD + "def f(x: torch.Tensor): x.div_(x[:, 0, None])", COLUMN, "high"),
        (HEAD + "x = torch.rand(9, 3)\nx -= x[:, -1:]", COLUMN, "possible"),
        # what takes infinity, the overlap, the gradient or the device away
        (HEAD + "F.gelu(torch.full((4,), torch.inf))", GELU, "high"),
        (HEAD + "F.gelu(input=torch.full((4,), torch.inf))", GELU, "high"),
        (HEAD + "F.gelu(torch.full((4,), torch.inf), approximate='tanh')", GELU, "possible"),
        (HEAD + "x = torch.full((4,), torch.inf)\nF.gelu(x.masked_fill(torch.isinf(x), 0.0))", GELU, "possible"),
        (HEAD + "x = torch.full((4,), torch.inf)\nF.gelu(torch.where(torch.isinf(x), y, x))", GELU, "possible"),
        (HEAD + "F.gelu(torch.where(m, y, torch.inf))", GELU, "high"),
        (HEAD + "x = torch.tensor([1.0, torch.inf])\nF.gelu(x[x != torch.inf])", GELU, "possible"),
        (HEAD + "F.nll_loss(x.permute(0, 1, 2, 3), y)", NLL, "possible"),
        (HEAD + "torch.diagonal_scatter(x.unfold(0, 2, 1), y)", "diagonal_scatter_overlapping", "high"),
        (HEAD + "torch.diagonal_scatter(x.unfold(0, 2, 2), y)", "diagonal_scatter_overlapping", "possible"),
        (HEAD + f"torch.set_grad_enabled(False)\ntorch.logsumexp({HIDDEN}, 1)", LOGSUMEXP, "possible"),
        (HEAD + f"with torch.set_grad_enabled(False): torch.logsumexp({HIDDEN}, 1)", LOGSUMEXP, "possible"),
        (HEAD + f"with torch.set_grad_enabled(True): torch.logsumexp({HIDDEN}, 1)", LOGSUMEXP, "high"),
        (HEAD + "d = torch.device('cuda:1')\ntorch.rand(3, device=d).expand(3, 3).median(1)", MEDIAN, "possible"),
        (HEAD + "x = torch.zeros(4, 4).half()\nx.index_add_(0, i, y)", "index_add_vector_low_precision", "high"),
        (HEAD + "x.half().index_add_(0, torch.arange(4), y)", "index_add_vector_low_precision", "possible"),
        (HEAD + "F.gumbel_softmax(x, tau=0.0)", "pt184031_gumbel_softmax_zero_temperature", "high"),
        (HEAD + "F.gumbel_softmax(x, 0)", "pt184031_gumbel_softmax_zero_temperature", "high"),
        (HEAD + "F.gumbel_softmax(x, tau=0.5)", "pt184031_gumbel_softmax_zero_temperature", None),
        (HEAD + "F.gumbel_softmax(x)", "pt184031_gumbel_softmax_zero_temperature", None),
        (HEAD + "F.pad(x, (1, -1), mode='circular')", "pt176254_circular_pad_mixed_signs", "high"),
        (HEAD + "F.pad(x, (1, 1, -1, -1), mode='circular')", "pt176254_circular_pad_mixed_signs", "possible"),
        *(
            (f"{HEAD}x.bfloat16()\nx.byte()\ntorch.half, torch.uint8\n{line.format(operand)}", case, near)
            for line, case in (
                ("x[{}]", "pt156173_index_gradient_low_precision"),
                ("x < {}", "pt178716_compare_byte_with_negative"),
                ("x -= {}", COLUMN),
                ("x.mul_({})", COLUMN),
            )
            for operand, near in (("y[0]", "possible"), ("-1", None))
        ),
    ],
)
def test_how_near_code_comes_to_a_bug(code: str, case: str, near: str | None) -> None:
    assert confidence(audit_code.audit_texts({Path("x.py"): code}, "2.4.1")).get(case) == near


def test_the_cases_themselves_are_found_high() -> None:
    """The control: each word of data/audit.toml is one that a case has, or its case is listed by its number here."""
    rules = {case: rule for case, rule in known.AuditRules.load().by_case().items() if rule.needs}
    texts = {case.name: case.code for case in shipped() if case.name in rules}
    found = {
        name
        for name, text in texts.items()
        for shown in shown_in(ast.parse(text))
        if {shown.name, shown.name.removesuffix("()")}
        & {name for api in rules[name].cases[name] for name in spellings(api)}
        and audit_code.shows(shown, rules[name])
    }
    assert len(found) >= 53
    assert {LOGSUMEXP, COLUMN, MEDIAN, FORMAT, OUT, NORMALIZE, SDPA, REDUCE} <= found


@given(st.text(alphabet="xy=+-()[]:,. \nif", max_size=60))
def test_facts_of_any_text_are_found_or_it_is_refused(text: str) -> None:
    with contextlib.suppress(SyntaxError, ValueError):
        shown_in(ast.parse(text))


def test_long_expressions_and_many_calls_are_read_in_time_that_grows_with_them() -> None:
    long = " + ".join(["x"] * 300)
    assert len(shown_in(ast.parse(f"y = {long}\n" + "f(1, 'a')\n" * 300))) == 299


ENDLESS = '{"findings": [{"case": "", "confidence": "", "file": "", "code": "", "count": 1e999}]}'
MEETS = "loss = torch.logsumexp(x + y.masked_fill(m, -torch.inf), 1)"
DAY = date(2026, 11, 27)


def audited(tmp_path: Path, code: str, **accepted: object) -> audit_code.Audited:
    (tmp_path / "x.py").write_text(code, encoding="utf-8")
    return audit_code.audit([str(tmp_path / "x.py")], "2.15.0", accepted=audit_code.Accepted(today=DAY, **accepted))


def test_the_summary_comes_first_and_possible_findings_are_folded(tmp_path: Path) -> None:
    done = audited(tmp_path, f"import torch\n{MEETS}\ntorch.median(x, 1)\n")
    first, *rest = formats.lines(done)
    assert first == (
        f"1 high finding in 1 of 1 file against torch 2.15.0; the worst: not a number from torch.logsumexp at "
        f"{tmp_path / 'x.py'}:2."
    )
    assert "1 possible finding: --possible shows them" in rest
    assert not [line for line in rest if "torch.median" in line]
    assert [line for line in formats.lines(done, possible=True) if "torch.median" in line]
    assert [row["confidence"] for row in formats.rows(done)["findings"]] == ["high", "possible"]
    told = formats.sarif(done)["runs"][0]["results"]
    assert [(row["level"], row["properties"]["confidence"]) for row in told] == [
        ("error", "high"),
        ("note", "possible"),
    ]
    assert formats.lines(audited(tmp_path, "import torch"))[0] == "No high finding in 1 file against torch 2.15.0."


def test_a_constant_of_one_rule_is_one_finding_to_a_reader(tmp_path: Path) -> None:
    done = audited(tmp_path, "import torch\nx.t().to(memory_format=torch.contiguous_format)\n")
    assert len(done.high) == 2
    assert formats.lines(done)[0].startswith("1 high finding")


@pytest.mark.parametrize("name", ["31829", "#31829", "pytorch/pytorch#31829", LOGSUMEXP])
def test_an_ignored_bug_does_not_count(tmp_path: Path, name: str) -> None:
    code = f"import torch\n{MEETS}\n"
    done = audited(tmp_path, code, cases=ignores.named_cases(name, "--ignore"))
    assert audit_code.reaches(audited(tmp_path, code), "high")
    assert not audit_code.reaches(done, "high")
    assert formats.rows(done)["ignored"][0]["reason"] == "--ignore"
    (row,) = [row for row in formats.sarif(done)["runs"][0]["results"] if row.get("suppressions")]
    assert row["suppressions"] == [{"kind": "external", "justification": "--ignore"}]


def test_a_comment_ignores_its_line_until_its_day_and_counts_again_afterwards(tmp_path: Path) -> None:
    line = f"{MEETS}  # embers: ignore[#31829, median_expanded] rows have a key"
    for until, counts in (("", False), (" until 2026-11-27", False), (" until 2026-11-26", True)):
        done = audited(tmp_path, f"import torch\n{line}{until}\n")
        assert audit_code.reaches(done, "high") is counts
        assert [one.reason for one in done.ignored] == ([] if counts else ["rows have a key"])
    assert any(
        line.startswith("expired: ") and "x.py:2" in line and "2026-11-26" in line for line in formats.lines(done)
    )
    late = audited(tmp_path, f"import torch\n{line} until 2026-11-26, see the notes\n")
    assert audit_code.reaches(late, "high"), "words behind the day change nothing"
    many = MEETS.replace("1)", "1,  # embers: ignore[31829] rows have a key\n)")
    for spread in (many, MEETS.replace(", 1)", ",\n 1\n)  # embers: ignore[31829] rows have a key")):
        assert not audit_code.reaches(audited(tmp_path, f"import torch\n{spread}\n"), "high"), "on any line of it"
    above = f"# embers: ignore[31829] of the line below\n# embers: ignore rules are in the guide\n{MEETS}\n"
    assert audit_code.reaches(audited(tmp_path, f"import torch\n{above}"), "high")
    other = audited(tmp_path, f"import torch\n{MEETS}  # embers: ignore[median_expanded] of another bug\n")
    assert audit_code.reaches(other, "high")
    assert audit_code.reaches(audited(tmp_path, f"import torch\ny = '# embers: ignore[31829]'; {MEETS}\n"), "high")


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("ignore[31829]", "no reason"),
        ("ignore[31829] until 2027-01-01", "no reason"),
        ("ignore", "names no bug"),
        ("ignore[] why", "names no bug"),
        ("ignore[99999999] why", "no known bug '99999999'"),
        ("ignore[31829] why until tomorrow", "'tomorrow' is no day"),
    ],
)
def test_a_comment_that_cannot_be_used_is_refused_with_its_place(tmp_path: Path, comment: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"x\.py:2: .*{said}"):
        audited(tmp_path, f"import torch\n{MEETS}  # embers: {comment}\n")


def test_what_is_in_a_baseline_does_not_count_wherever_its_line_moves(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    assert audit_code.write_baseline(audited(tmp_path, f"import torch\n{MEETS}\n"), path) == 1
    moved = f"import torch\n\n\nif True:\n    {MEETS}\n"
    assert not audit_code.reaches(audited(tmp_path, moved, baseline=path), "high")
    (finding,) = audited(tmp_path, f"{moved}    {MEETS}\n", baseline=path).findings
    assert [place.line for place in finding.places] == [6], "one more of the same"
    assert audit_code.reaches(audited(tmp_path, f"import torch\nz = {MEETS}\n", baseline=path), "high")
    assert audit_code.write_baseline(audited(tmp_path, moved, baseline=path), path) == 1, "it stays accepted"
    possible = audited(tmp_path, "import torch\nx = y\ntorch.median(x, 1)\n")
    assert audit_code.write_baseline(possible, path) == len(possible.findings) == 1
    worse = audited(tmp_path, "import torch\nx = y.expand(3, 4)\ntorch.median(x, 1)\n", baseline=path)
    assert audit_code.reaches(worse, "high"), "what was possible and now is sure"


@pytest.mark.parametrize("text", [None, "[]", "{", '{"findings": [1]}', "[" * 200_000, ENDLESS])
def test_a_baseline_that_cannot_be_read_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"--baseline .*baseline\.json"):
        audited(tmp_path, "import torch", baseline=path)
    with pytest.raises(InputError, match="cannot be written"):
        audit_code.write_baseline(audited(tmp_path, "import torch"), tmp_path)


@pytest.mark.parametrize(
    "codec", ["hex", "rot13", "zlib", "bz2", "base64", "uu", "quopri", "undefined", "idna", "none"]
)
def test_a_file_whose_encoding_is_none_of_a_text_is_one_line_and_the_rest_goes_on(tmp_path: Path, codec: str) -> None:
    (tmp_path / "odd.py").write_bytes(f"# coding: {codec}\nimport torch\n".encode() + b"# \xff\xfe\n")
    (tmp_path / "good.py").write_text(f"import torch\n{MEETS}\n", encoding="utf-8")
    done = audit_code.audit([str(tmp_path)], "2.15.0")
    assert [path.name for path in done.unread] == ["odd.py"]
    assert "\n" not in done.unread[tmp_path / "odd.py"]
    assert done.high


def test_a_name_that_is_no_text_is_written_in_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"a\xff.py")
    Path(name).write_text(f"import torch\n{MEETS}\n", encoding="utf-8")
    for where in (".", str(tmp_path)):
        done = audit_code.audit([where], "2.15.0")
        assert "a%FF.py" in json.dumps(formats.sarif(done))
        audit_code.write_baseline(done, Path("b.json"))
        assert not audit_code.audit([where], "2.15.0", accepted=audit_code.Accepted(baseline=Path("b.json"))).high
