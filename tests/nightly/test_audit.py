"""`embers audit`: which names of torch a text uses, which bugs of a release those can meet, and what is left unsaid."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from torch_embers.audit import command, formats, known
from torch_embers.cli import app
from torch_embers.errors import InputError


def test_a_release_has_the_bugs_of_the_matrix_and_says_which_later_one_is_free_of_them() -> None:
    here = known.known_on("2.6.0+cu124")
    assert here.exact
    rows = {row["case"]: row for row in known.matrix() if row["build"] == "2.6.0" and row["verdict"] == "occurs"}
    assert {bug.case.name for bug in here.bugs} == rows.keys()
    gone = next(bug for bug in here.bugs if bug.case.name == "pt171838_pixel_shuffle_square")
    assert gone.fixed_in == "2.10.0"
    assert not known.known_on("2.7.0").exact


def test_a_version_without_its_last_zero_is_not_free_of_bugs() -> None:
    assert known.known_on("2.6") == known.known_on("2.6.0")


def audited(tmp_path: Path, code: str) -> command.Audited:
    path = tmp_path / "train.py"
    path.write_text(code, encoding="utf-8")
    return command.audit([str(path)], "2.6.0")


def nearness(done: command.Audited) -> dict[str, str]:
    return {finding.bug.case.name: finding.nearness for finding in done.findings}


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


@pytest.mark.parametrize("version", ["2.99", "nightly", "9.9"])
def test_a_version_is_refused_before_anything_is_read(tmp_path: Path, version: str) -> None:
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "nothing.py"), "--torch", version])
    assert isinstance(done.exception, InputError)
    assert "nothing.py" not in str(done.exception)


@pytest.mark.parametrize("target", ["no/such/file.py", "no_such_package", "..."])
def test_a_target_that_is_not_there_is_refused(target: str) -> None:
    with pytest.raises(InputError, match="no such file, folder or installed package"):
        command.audit([target], "2.6.0")


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


def test_the_whole_release_is_told_without_code() -> None:
    done = command.audit([], "2.15.0")
    assert {finding.nearness for finding in done.findings} == {"not narrowed"}
    assert len(done.findings) + done.intended == len(done.known.bugs)
    assert done.intended == len(command.audit([], "2.15.0", intended=True).findings) - len(done.findings)


def test_the_github_action_writes_sarif_and_fails_by_its_threshold(tmp_path: Path) -> None:
    action = (Path(__file__).parents[2] / "action.yml").read_text(encoding="utf-8")
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
