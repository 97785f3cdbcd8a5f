"""`embers audit`: which names of torch a text uses, which bugs of a release those can meet, and what is left unsaid."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from typer.testing import CliRunner

from support import run_embers
from torch_embers.audit import audit_code, formats, known
from torch_embers.cases import shipped_verdicts
from torch_embers.cli import app

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_embers.audit.audit_code import Audited


def test_a_release_has_the_bugs_of_the_matrix_and_says_which_later_one_is_free_of_them() -> None:
    here = known.known_on("2.6.0+cu124")
    assert here.exact
    rows = {
        row["case"]: row for row in shipped_verdicts.matrix() if row["build"] == "2.6.0" and row["verdict"] == "occurs"
    }
    assert {bug.case.name for bug in here.bugs} == rows.keys()
    gone = next(bug for bug in here.bugs if bug.case.name == "pt171838_pixel_shuffle_square")
    assert gone.fixed_in == "2.10.0"
    assert not known.known_on("2.7.0").exact
    assert known.known_on("2.6") == known.known_on("2.6.0")


def confidence(done: audit_code.Audited) -> dict[str, str]:
    return {finding.bug.case.name: finding.confidence for finding in reversed(done.findings)}


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
    done = audit_code.audit([str(tmp_path)], "2.6.0")
    assert done.files == 1
    assert {path.name for path in done.unread} == {*texts, "loop"}
    assert not [why for why in done.unread.values() if not why or "\n" in why]


def test_a_package_that_never_imports_torch_has_no_finding_and_says_so() -> None:
    done = CliRunner().invoke(app, ["audit", "json", "--torch", "2.6.0"])  # of the standard library: x[i], x < y, x % y
    assert done.exit_code == 0, done.output
    assert re.match(r"No high finding in \d files against torch 2\.6\.0\.$", done.stdout.splitlines()[0])
    assert "possible" not in done.stdout
    assert "\nno file that was read imports torch\n" in done.stdout
    found = formats.rows(audit_code.audit(["json"], "2.6.0"))
    assert (found["findings"], found["files_with_torch"]) == ([], 0)
    often = audit_code.audit_texts({Path("x.py"): "import torch\nx.bfloat16()\n" + "y = x[i]\n" * 2000}, "2.6.0")
    [line] = [line for line in formats.lines(often, possible=True) if "Tensor.__getitem__" in line]
    assert line == "  Tensor.__getitem__: x.py:3 and 1,999 more"


def test_a_file_without_torch_beside_one_with_it_may_be_given_tensors(tmp_path: Path) -> None:
    (tmp_path / "loss.py").write_text("def f(x): return (x - float('inf')).logsumexp(-1)", encoding="utf-8")
    assert not audit_code.audit([str(tmp_path)], "2.6.0").findings
    assert (
        confidence(audit_code.audit([str(tmp_path / "loss.py")], "2.6.0"))["pt31829_logsumexp_gradient"] == "possible"
    )
    (tmp_path / "train.py").write_text("import torch", encoding="utf-8")
    assert confidence(audit_code.audit([str(tmp_path)], "2.6.0"))["pt31829_logsumexp_gradient"] == "possible"


def test_each_format_names_the_bug_and_the_exit_code_follows_the_threshold(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "import torch\nloss = torch.logsumexp(x + b.masked_fill(mask, float('-inf')), 2)\n", encoding="utf-8"
    )

    def printed(*options: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["audit", str(path), "--torch", "2.6.0", *options])
        return done.exit_code, done.stdout

    for form in ("text", "json", "sarif", "vex"):
        assert "logsumexp" in printed("--format", form)[1]
    (result, *_) = json.loads(printed("--format", "sarif")[1])["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    codes = {threshold: printed("--fail-on", threshold)[0] for threshold in ("low", "never")}
    assert codes == {"low": 10, "never": 0}


def test_a_call_whose_numbers_alone_decide_fails_nothing_and_one_whose_arguments_show_the_bug_does() -> None:
    done = audit_code.audit_texts({Path("x.py"): "import torch\nloss = torch.atan2(x, y)\n"}, "2.6.0")
    assert confidence(done)["pt165427_atan2_gradient_origin"] == "possible"
    assert not audit_code.reaches(done, "low")
    assert {result["level"] for result in formats.sarif(done)["runs"][0]["results"]} == {"note"}
    masked = audit_code.audit_texts({Path("x.py"): MEETS}, "2.6.0")
    assert audit_code.reaches(masked, "high")
    assert not audit_code.reaches(audit_code.audit([], "2.6.0"), "low"), "without code nothing fails"


def test_a_baseline_is_written_with_exit_code_0_and_what_is_in_it_fails_nothing(tmp_path: Path) -> None:
    path, baseline = tmp_path / "train.py", tmp_path / "known.json"
    path.write_text(MEETS, encoding="utf-8")

    def code(*options: str) -> int:
        return run_embers("audit", str(path), "--torch", "2.15.0", *options).returncode

    assert code() == 10
    assert code("--write-baseline", str(baseline)) == 0
    assert code("--baseline", str(baseline)) == 0
    assert code("--ignore", "#31829") == 0
    assert code("--ignore", "#1") == 3


def test_the_whole_release_is_told_without_code() -> None:
    done = audit_code.audit([], "2.15.0")
    assert {finding.confidence for finding in done.findings} == {"not narrowed"}
    assert len(done.findings) + done.intended == len(done.known.bugs)
    assert done.intended == len(audit_code.audit([], "2.15.0", intended=True).findings) - len(done.findings)


def test_the_github_action_writes_sarif_and_fails_by_its_threshold(tmp_path: Path) -> None:
    action = (Path(__file__).parents[2] / "action.yml").read_text(encoding="utf-8")
    assert all(re.search(r"@[0-9a-f]{40} #", line) for line in action.splitlines() if "uses:" in line)
    script = textwrap.dedent(action.split("run: |\n")[1])
    assert "${{" not in script  # what a pull request can name must not become text of the script
    code = tmp_path / "my code.py"
    code.write_text("import torch\nloss = torch.logsumexp(x + b.masked_fill(mask, -torch.inf), 2)\n", encoding="utf-8")
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


def test_sarif_has_addresses_and_loses_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "a dir" / "x#1.py"
    path.parent.mkdir()
    path.write_text("import torch\nloss = torch.logsumexp(x, 0)", encoding="utf-8")
    found = formats.sarif(audit_code.audit([str(path)], "2.6.0"))["runs"][0]["results"]
    uri = found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("file:///")
    assert uri.endswith("/a%20dir/x%231.py")
    whole = audit_code.audit([], "2.6.0")
    assert len(formats.sarif(whole)["runs"][0]["results"]) == len(whole.findings)


# The library brings the schema that CycloneDX publishes; strict refuses keys that the schema does not know.
CYCLONEDX = JsonStrictValidator(SchemaVersion.V1_6)
SARIF = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parents[1] / "sarif_schema.json").read_text(encoding="utf-8"))
)
MEETS = "import torch\nloss = torch.logsumexp(x + torch.ones(1, 4, 4).masked_fill(mask, -torch.inf), 2)\n"


def of_code(code: str, release: str) -> Audited:
    return audit_code.audit_texts({Path("a dir/x #1.py"): code}, release)


AUDITS: dict[str, tuple[Callable[[], Audited], set[str]]] = {
    "findings": (lambda: of_code(MEETS, "2.6.0"), {"exploitable", "not_affected"}),
    "names made at run time": (
        lambda: of_code(f"{MEETS}getattr(torch, name)(x)\n", "2.6.0"),
        {"exploitable", "in_triage"},
    ),
    "no finding": (lambda: of_code("print('no torch here')\n", "2.15.0"), {"not_affected"}),
    "a release without code": (lambda: audit_code.audit([], "2.15.0"), {"in_triage"}),
    "the oldest release without code": (lambda: audit_code.audit([], "1.13.1"), {"in_triage"}),
}


@pytest.mark.parametrize(("audit", "states"), AUDITS.values(), ids=AUDITS)
def test_an_audit_as_vex_and_as_sarif_is_what_the_schemas_ask_for_and_says_whether_the_code_meets_the_bug(
    audit: Callable[[], Audited], states: set[str]
) -> None:
    done = audit()
    vex, made = formats.vex(done), formats.sarif(done)
    assert CYCLONEDX.validate_str(json.dumps(vex)) is None
    assert {bug["analysis"]["state"] for bug in vex["vulnerabilities"]} == states
    SARIF.validate(made)
    ids = [rule["id"] for rule in made["runs"][0]["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids))
    assert {result["ruleId"] for result in made["runs"][0]["results"]} == set(ids)


def test_statements_are_about_the_audited_code_and_the_release_that_was_asked_for() -> None:
    (run,) = formats.sarif(of_code(MEETS, "2.7.0"))["runs"]
    assert (run["properties"]["torch"], run["properties"]["measured_on"]) == ("2.7.0", "2.7.1")
    assert formats.vex(audit_code.audit([], "2.15.0"))["metadata"]["component"]["name"] == "torch"
    made = formats.vex(of_code(MEETS, "2.7.0"))
    (torch,) = made["components"]
    assert (torch["version"], torch["purl"]) == ("2.7.0", "pkg:pypi/torch@2.7.0")
    assert {"name": "embers:measured_release", "value": "2.7.1"} in torch["properties"]
    assert "pedigree" not in torch
    subject = made["metadata"]["component"]["bom-ref"]
    assert subject != torch["bom-ref"]
    assert made["dependencies"] == [{"ref": subject, "dependsOn": [torch["bom-ref"]]}]
    assert {place["ref"] for bug in made["vulnerabilities"] for place in bug["affects"]} == {subject}
    local = formats.vex(of_code(MEETS, "2.6.0+cu124"))
    assert local["components"][0]["purl"] == "pkg:pypi/torch@2.6.0%2Bcu124"
