"""`embers sanitize`: an unchanged script, its findings by line, JSON, SARIF, cases and exit codes."""

import json
import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("torch")

from typer.testing import CliRunner

from torch_embers.cli import app
from torch_embers.hunt import sanitize

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


@pytest.mark.parametrize("every", ["0", "-1", "x"])
def test_a_number_of_calls_below_one_is_a_usage_error(tmp_path, every):
    command = [sys.executable, "-m", "pytest", "-p", "torch_embers.pytest_plugin", "--embers-every", every]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--embers-every" in done.stderr
    assert "no whole number from 1 on" in done.stderr


def test_a_script_ends_and_complains_as_under_python(tmp_path, capfd):
    script = tmp_path / "script.py"
    text = [
        "import __main__, os, sys, torch",
        "assert __main__.__file__ == __file__ and __main__.__loader__ is not None and __spec__ is None",
        "from torch_embers import LayoutOracle  # the installed one",
        "if os.fork() == 0:",
        "    sys.exit(0)  # a child that ends has seen a part alone",
        "os.wait()",
        "torch.ones(3, 2).t().exp()",
    ]
    script.write_text("\n".join(text), encoding="utf-8")
    assert sanitize.sanitize(script).exit_code == 0
    script.write_text("\n".join([*text, "sys.exit('no data')"]), encoding="utf-8")
    done = sanitize.sanitize(script)
    assert (done.status, done.exit_code, capfd.readouterr().err.splitlines()) == (1, 1, ["no data"])
    assert sanitize.summary(done) == "0 findings in 1 compared calls, the script ended with 1"
    script.write_text("\n".join([*text, "raise ValueError('boom')"]), encoding="utf-8")
    assert sanitize.sanitize(script).status == 1
    assert "attach" not in (said := capfd.readouterr().err)
    assert said.endswith("ValueError: boom\n")
    script.write_text("\n".join([*text, "os._exit(4)"]), encoding="utf-8")
    done = sanitize.sanitize(script)
    assert (done.findings, done.exit_code) == ([], 4)
    assert sanitize.summary(done) == "0 findings in the calls until the process was ended, the script ended with 4"


def test_ctrl_c_ends_the_script_and_keeps_what_was_found(tmp_path):
    script = tmp_path / "train.py"
    wait = "print('waiting', flush=True)\nimport time\ntime.sleep(600)\n"
    script.write_text(ADAM + wait, encoding="utf-8")
    command = [sys.executable, "-m", "torch_embers", "sanitize", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as program:
        assert program.stdout is not None
        while "waiting" not in program.stdout.readline():
            assert program.poll() is None
        os.killpg(program.pid, signal.SIGINT)
        said = program.stdout.read()
    assert program.returncode == 10
    assert "wrong_value: sanitized.addcmul_" in said
    assert said.endswith("the script ended with 130\n")
