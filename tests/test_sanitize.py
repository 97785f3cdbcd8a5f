"""`embers sanitize`: an unchanged script, its findings by line, JSON, SARIF, cases and exit codes."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch")

from typer.testing import CliRunner

from torch_embers.cli import app
from torch_embers.errors import InputError
from torch_embers.oracles.finding import Finding
from torch_embers.run import sanitize

ADAM = """
import sys, torch

library = torch.library.Library("sanitized", "DEF")
library.define("addcmul_(Tensor(a!) p, Tensor m, Tensor v, Scalar value) -> Tensor(a!)")


def addcmul_(p, m, v, value):
    p.contiguous().add_(m * v * value)
    return p


library.impl("addcmul_", addcmul_, "CPU")
weight = torch.nn.Parameter(torch.arange(32.0).reshape(4, 8).t())
weight.pow(2).sum().backward()
with torch.no_grad():
    torch.ops.sanitized.addcmul_(weight.data, weight.grad, torch.ones(8, 4), -0.1)
print("done", sys.argv[1:])
"""


@pytest.mark.slow
def test_a_script_with_a_broken_step_is_found_with_its_line(tmp_path, capfd):
    script = tmp_path / "train.py"
    script.write_text(ADAM, encoding="utf-8")
    options = ["--json", "--sarif", f"{tmp_path}/out.sarif", "--cases", f"{tmp_path}/cases"]
    done = CliRunner().invoke(app, ["sanitize", *options, str(script), "--lr", "3"])
    assert done.exit_code == 10
    assert "done ['--lr', '3']" in capfd.readouterr().out
    (found,) = json.loads(done.stdout)
    assert (found["op"], found["severity"], found["line"]) == ("sanitized.addcmul_", "wrong_value", f"{script}:17")
    (result,) = json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 17
    (case,) = (tmp_path / "cases").glob("*.py")
    assert "torch.ops.sanitized.addcmul_.default(" in case.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_users_own_tests_run_under_an_oracle_and_those_with_a_finding_fail(tmp_path):
    body = ADAM.replace("\n", "\n    ").replace("import sys, torch", "import sys, torch; sys.argv = ['']")
    dense = "def test_dense():\n    import torch\n    assert torch.ones(3).sum() == 3\n"
    broken = "def test_broken():\n    import torch\n    assert torch.ones(3).sum() == 4\n"
    (tmp_path / "test_own.py").write_text(f"def test_step():{body}\n\n{dense}\n\n{broken}", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "torch_embers.pytest_plugin", "-p", "no:cacheprovider"]

    def printed(*options):
        return subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    watched = printed("--embers-oracle", "layout")
    assert "wrong_value: sanitized.addcmul_ with p transposed" in watched
    assert "FAILED test_own.py::test_step" in watched
    assert "assert tensor(3.) == 4" in watched
    assert "2 failed, 1 passed" in watched
    assert "1 failed, 2 passed" in printed()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code"), [("import torch; torch.ones(3, 2).t().exp()", 0), ("raise SystemExit(7)", 7)]
)
def test_a_script_without_findings_ends_as_it_would_alone(tmp_path, text, code):
    script = tmp_path / "script.py"
    script.write_text(text, encoding="utf-8")
    done = sanitize.sanitize(script)
    assert (done.findings, done.exit_code) == ([], code)


def test_a_missing_script_and_an_unknown_oracle_are_refused(tmp_path):
    with pytest.raises(InputError, match="no script"):
        sanitize.sanitize(tmp_path / "none.py")
    (tmp_path / "script.py").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="no oracle 'odd'"):
        sanitize.sanitize(tmp_path / "script.py", oracles=["odd"])


def test_sarif_has_the_level_of_the_severity():
    found = Finding("layout", "aten.add", "out", "broken_promise", "strides changed", line="a.py:3")
    (result,) = sanitize.sarif([found])["runs"][0]["results"]
    assert (result["level"], result["ruleId"]) == ("warning", "layout/broken_promise")
