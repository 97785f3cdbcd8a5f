"""`embers audit`: which names of torch a text uses, which bugs of a release those can meet, and what is left unsaid."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from torch_embers.audit import command, formats, known
from torch_embers.builds import releases
from torch_embers.cli import app
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


@pytest.mark.slow
def test_a_release_has_the_bugs_of_the_matrix_and_says_which_later_one_is_free_of_them() -> None:
    here = known.known_on("2.6.0+cu124")
    assert here.exact
    rows = {row["case"]: row for row in known.matrix() if row["build"] == "2.6.0" and row["verdict"] == "occurs"}
    assert {bug.case.name for bug in here.bugs} == rows.keys()
    gone = next(bug for bug in here.bugs if bug.case.name == "pt171838_pixel_shuffle_square")
    assert gone.fixed_in == "2.10.0"
    assert not known.known_on("2.7.0").exact


@pytest.mark.parametrize("version", ["2.6", "v2.6.0", "2.6.0.0", "2.06.0", " 2.6.0 "])
def test_another_spelling_of_a_version_has_the_same_bugs(version: str) -> None:
    assert known.nearest_release(version, ["2.5.1", "2.6.0", "2.10.0"]) == ("2.6.0", True)


@pytest.mark.slow
def test_a_version_without_its_last_zero_is_not_free_of_bugs() -> None:
    assert known.known_on("2.6") == known.known_on("2.6.0")


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


def audited(tmp_path: Path, code: str) -> command.Audited:
    path = tmp_path / "train.py"
    path.write_text(code, encoding="utf-8")
    return command.audit([str(path)], "2.6.0")


def nearness(done: command.Audited) -> dict[str, str]:
    return {finding.bug.case.name: finding.nearness for finding in done.findings}


@pytest.mark.slow
def test_a_bug_is_found_at_the_line_that_can_meet_it(tmp_path: Path) -> None:
    done = audited(tmp_path, "import torch\nx = torch.ones(1, 4, 4)\ny = torch.nn.functional.pixel_shuffle(x, 2)\n")
    finding = next(one for one in done.findings if one.bug.case.name == "pt171838_pixel_shuffle_square")
    assert finding.nearness == "calls"
    assert [(place.file.name, place.line) for place in finding.places] == [("train.py", 3)]
    assert not audited(tmp_path, "import torch\ntorch.manual_seed(0)\n").findings


def test_a_file_that_cannot_be_read_and_names_of_run_time_leave_nothing_called_out_of_reach(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("print 'two'", encoding="utf-8")
    (tmp_path / "new.py").write_text("import torch\ngetattr(torch, input())(x)", encoding="utf-8")
    done = command.audit([str(tmp_path)], "2.6.0")
    assert [path.name for path in done.unread] == ["old.py"]
    assert len(done.dynamic) == 1
    assert {entry["analysis"]["state"] for entry in formats.vex(done)["vulnerabilities"]} == {"in_triage"}


def test_odd_files_are_told_in_a_line_each_and_the_others_are_read(tmp_path: Path) -> None:
    texts = {
        "syntax.py": b"import torch\ndef (:\n",
        "generated.py": b"import torch\n" + b"x = 1\n" * 900_000,
        "latin.py": b"import torch\n# caf\xe9\n",
        "encoding.py": b"# -*- coding: nonsense -*-\n",
        "utf16.py": "import torch\n".encode("utf-16"),
        "null.py": b"import torch\n\x00\n",
        "nested.py": b"x = " + b"(" * 10_000 + b")" * 10_000,
        "chained.py": b"x = y" + b".a" * 20_000,
        "nested.ipynb": b"[" * 200_000,
        "list.ipynb": b"[1, 2]",
        "cells.ipynb": b'{"cells": [1]}',
        "source.ipynb": b'{"cells": [{"cell_type": "code", "source": [null]}]}',
        "cut.ipynb": b'{"cells": [',
    }
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "declared.py").write_bytes(b"# -*- coding: latin-1 -*-\nimport torch # caf\xe9\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "itself.py").symlink_to(tmp_path / "itself.py")
    (tmp_path / "nowhere.py").symlink_to(tmp_path / "nothing.py")
    done = command.audit([str(tmp_path)], "2.6.0")
    assert done.files == 1
    assert {path.name for path in done.unread} == {*texts, "loop"}
    assert not [why for why in done.unread.values() if not why or "\n" in why]


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


@pytest.mark.parametrize("version", ["2.99", "nightly", "9.9"])
def test_a_version_is_refused_before_anything_is_read(tmp_path: Path, version: str) -> None:
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "nothing.py"), "--torch", version])
    assert isinstance(done.exception, InputError)
    assert "nothing.py" not in str(done.exception)


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


@pytest.mark.parametrize("target", ["no/such/file.py", "no_such_package", "..."])
def test_a_target_that_is_not_there_is_refused(target: str) -> None:
    with pytest.raises(InputError, match="no such file, folder or installed package"):
        command.audit([target], "2.6.0")


def test_a_folder_without_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Python file"):
        command.audit([str(tmp_path)], "2.6.0")


def test_a_package_that_never_imports_torch_has_no_finding_and_says_so() -> None:
    done = CliRunner().invoke(app, ["audit", "json", "--torch", "2.6.0"])  # of the standard library: x[i], x < y, x % y
    assert done.exit_code == 0, done.output
    assert "  may call" not in done.stdout
    assert re.search(
        r"^no file that was read imports torch: none of \d+ bugs can be met by \d files$", done.stdout, re.MULTILINE
    )
    found = formats.rows(command.audit(["json"], "2.6.0"))
    assert (found["findings"], found["files_with_torch"]) == ([], 0)


def test_a_file_without_torch_beside_one_with_it_may_be_given_tensors(tmp_path: Path) -> None:
    (tmp_path / "loss.py").write_text("def f(x): return (x - float('inf')).logsumexp(-1)", encoding="utf-8")
    assert not command.audit([str(tmp_path)], "2.6.0").findings
    assert nearness(command.audit([str(tmp_path / "loss.py")], "2.6.0"))["pt31829_logsumexp_gradient"] == "may call"
    (tmp_path / "train.py").write_text("import torch", encoding="utf-8")
    assert nearness(command.audit([str(tmp_path)], "2.6.0"))["pt31829_logsumexp_gradient"] == "may call"


def test_of_a_bug_that_is_not_called_for_certain_one_line_is_named() -> None:
    told = formats.lines(
        command.audit_texts({Path("x.py"): "import torch\nx.bfloat16()\n" + "y = x[i]\n" * 2000}, "2.6.0")
    )
    [line] = [line for line in told if "Tensor.__getitem__" in line]
    assert line == "  may call Tensor.__getitem__: x.py:3 and 1,999 more"


@pytest.mark.parametrize(
    ("line", "case"),
    [
        ("x[{}]", "pt156173_index_gradient_low_precision"),
        ("x < {}", "pt178716_compare_byte_with_negative"),
        ("x -= {}", "pt76891_subtract_own_column"),
        ("x.mul_({})", "pt76891_subtract_own_column"),
        ("torch.compile(f)(x // {})", "pt198364_meta_strides_floor_divide"),
    ],
)
def test_a_number_that_stands_in_the_file_is_no_tensor(line: str, case: str) -> None:
    def met(operand: str) -> bool:
        code = f"import torch\nx.bfloat16()\nx.byte()\n{line.format(operand)}"
        return case in nearness(command.audit_texts({Path("x.py"): code}, "2.6.0"))

    assert met("y")
    assert met("y[0]")
    assert not met("-1")


def test_an_index_of_numbers_and_slices_is_plain_and_one_with_a_name_is_not() -> None:
    plain = {use.plain for use in uses_of("x[0], x[1:], x[..., -1], x[a:b, None], x['key']").found}
    assert plain == {True}
    assert {use.plain for use in uses_of("x[i], x[:, i], x[i + 1]").found if "getitem" in use.name} == {False}


@pytest.mark.slow
def test_each_format_names_the_bug_and_the_exit_code_follows_the_threshold(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("import torch\ntorch.logsumexp(x.masked_fill(mask, float('-inf')), 2)\n", encoding="utf-8")

    def printed(*options: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["audit", str(path), "--torch", "2.6.0", *options])
        return done.exit_code, done.stdout

    for form in ("text", "json", "sarif", "vex"):
        assert "logsumexp" in printed("--format", form)[1]
    (result, *_) = json.loads(printed("--format", "sarif")[1])["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    codes = {threshold: printed("--fail-on", threshold)[0] for threshold in ("low", "never")}
    assert codes == {"low": 10, "never": 0}


@pytest.mark.parametrize(
    ("code", "case", "near"),
    [
        ("nn.MultiheadAttention(8, 2)(x, x, x)", "pt41508_mha_bucketed_mask_gradient", "may call"),
        ("nn.MultiheadAttention(8, 2)(x, x, x, attn_mask=None)", "pt41508_mha_bucketed_mask_gradient", "may call"),
        ("m = nn.MultiheadAttention(8, 2)\nm(x, x, x, attn_mask=a)", "pt41508_mha_bucketed_mask_gradient", "calls"),
        ("m = nn.MultiheadAttention(8, 2)\nm(x, x, x, attn_mask=a)", "pt41508_mha_padding_gradient", "may call"),
        ("m = nn.MultiheadAttention(8, 2)\nm(x, x, x, key_padding_mask=p)", "pt41508_mha_padding_gradient", "calls"),
        ("F.scaled_dot_product_attention(q, k, v)", "pt103963_sdpa_masked_row", None),
        ("F.scaled_dot_product_attention(q, k, v, attn_mask=m)", "pt103963_sdpa_masked_row", "calls"),
        ("F.scaled_dot_product_attention(q, k, v, m)", "pt103963_sdpa_masked_row", "may call"),
        ("torch.logsumexp(x.masked_fill(m, -1e9), 1)", "pt31829_logsumexp_gradient", "may call"),
        ("torch.logsumexp(x.masked_fill(m, float('-inf')), 1)", "pt31829_logsumexp_gradient", "calls"),
        ("torch.logsumexp(x.masked_fill(m, float('nan')), 1)", "pt31829_logsumexp_gradient", "may call"),
        ("torch.logsumexp(torch.cat([x - torch.inf, zero], 1), 1)", "pt31829_logsumexp_gradient", "may call"),
        ("F.cross_entropy(x, y)", "pt175084_nll_loss2d_backward_movedim", "may call"),
        ("F.cross_entropy(x.movedim(-1, 1), y)", "pt175084_nll_loss2d_backward_movedim", "calls"),
        ("F.normalize(x.half())\ntorch.float16", "pt32137_normalize_half_zero", "calls"),
        ("F.normalize(x.half(), eps=1e-7)\ntorch.float16", "pt32137_normalize_half_zero", "may call"),
        ("x.half().scatter_reduce(0, i, y, reduce='mean')\ntorch.half", "scatter_reduce_mean_half", "calls"),
        ("x.half().scatter_reduce(0, i, y, 'mean')\ntorch.half", "scatter_reduce_mean_half", "calls"),
        ("x.half().scatter_reduce(0, i, y, reduce='amax')\ntorch.half", "scatter_reduce_mean_half", None),
        ("F.normalize(x)\nwith torch.autocast('cpu', enabled=False): pass", "pt32137_normalize_half_zero", "may call"),
        ("F.normalize(x)\nwith torch.autocast('cpu'): pass", "pt32137_normalize_half_zero", "calls"),
        ("nn.Embedding(9, 3)\nwith torch.autocast('cpu'): pass", "embedding_gradient_low_precision", "may call"),
        ("nn.Embedding(9, 3).bfloat16()", "embedding_gradient_low_precision", "calls"),
    ],
)
def test_a_call_counts_as_certain_only_beside_what_its_bug_needs(code: str, case: str, near: str | None) -> None:
    text = f"import torch\nfrom torch import nn\nimport torch.nn.functional as F\n{code}"
    assert nearness(command.audit_texts({Path("x.py"): text}, "2.4.1")).get(case) == near


def test_a_call_whose_numbers_alone_decide_fails_nothing_and_one_beside_what_its_bug_needs_does() -> None:
    done = command.audit_texts({Path("x.py"): "import torch\ntorch.atan2(x, y)\n"}, "2.6.0")
    assert nearness(done)["pt165427_atan2_gradient_origin"] == "calls"
    assert not command.reaches(done, "low")
    assert {result["level"] for result in formats.sarif(done)["runs"][0]["results"]} <= {"warning", "note"}
    masked = "import torch\ntorch.logsumexp(x.masked_fill(m, -torch.inf), 1)\n"
    assert command.reaches(command.audit_texts({Path("x.py"): masked}, "2.6.0"), "high")


def test_a_bug_that_only_unusual_inputs_meet_fails_nothing(tmp_path: Path) -> None:
    code = "import torch\ntorch.nn.functional.pixel_shuffle(torch.ones(1, 4, 4), 2)\n"
    assert not command.reaches(audited(tmp_path, code), "low")


@pytest.mark.slow
def test_the_whole_release_is_told_without_code() -> None:
    done = command.audit([], "2.15.0")
    assert {finding.nearness for finding in done.findings} == {"not narrowed"}
    assert len(done.findings) + done.intended == len(done.known.bugs)
    assert done.intended == len(command.audit([], "2.15.0", intended=True).findings) - len(done.findings)


@pytest.mark.slow
def test_the_github_action_writes_sarif_and_fails_by_its_threshold(tmp_path: Path) -> None:
    action = (Path(__file__).parents[1] / "action.yml").read_text(encoding="utf-8")
    assert all(re.search(r"@[0-9a-f]{40} #", line) for line in action.splitlines() if "uses:" in line)
    script = textwrap.dedent(action.split("run: |\n")[1])
    assert "${{" not in script  # what a pull request can name must not become text of the script
    code = tmp_path / "my code.py"
    code.write_text("import torch\ntorch.logsumexp(x.masked_fill(mask, -torch.inf), 2)\n", encoding="utf-8")
    embers = tmp_path / "embers" / "bin" / "embers"
    embers.parent.mkdir(parents=True)
    embers.write_text(f'#!/bin/sh\nexec {sys.executable} -m torch_embers "$@"\n', encoding="utf-8")
    embers.chmod(0o755)
    inputs = {"TARGETS": ".", "TORCH": "2.6.0", "FAIL_ON": "high", "SARIF": "found.sarif"}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env=os.environ | {"RUNNER_TEMP": str(tmp_path)} | inputs,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 10
    assert json.loads((tmp_path / "found.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]


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


@pytest.mark.parametrize(
    ("call", "near"),
    [
        ("x.index_put_((i,), v, accumulate=True)", "calls"),
        ("x.index_put_((i,), v, accumulate=False)", None),
        ("x.index_put_((i,), v, True)", "may call"),
        ("x.index_put_(*parts)", "may call"),
        ("x.index_put_((i,), v)", None),
    ],
)
def test_an_argument_that_says_no_is_not_given(call: str, near: str | None) -> None:
    done = command.audit_texts({Path("x.py"): f"import torch\nx.bfloat16()\n{call}"}, "2.6.0")
    assert nearness(done).get("pt156173_index_put_accumulate_low_precision") == near


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


@pytest.mark.slow
def test_sarif_has_addresses_and_loses_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "a dir" / "x#1.py"
    path.parent.mkdir()
    path.write_text("import torch\ntorch.logsumexp(x, 0)", encoding="utf-8")
    found = formats.sarif(command.audit([str(path)], "2.6.0"))["runs"][0]["results"]
    uri = found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")
    assert uri.endswith("/a%20dir/x%231.py")
    whole = command.audit([], "2.6.0")
    assert len(formats.sarif(whole)["runs"][0]["results"]) == len(whole.findings)
