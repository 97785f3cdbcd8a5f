"""`embers run --oracle`: scripts under oracles in the sandbox, what a run came to, and what is stored of it."""

import json
import linecache

import pytest
from typer.testing import CliRunner

from support import case_of, case_text, rows
from torch_embers.cases.case import CaseError
from torch_embers.cli import app
from torch_embers.errors import InputError
from torch_embers.hunt.sanitize import oracles_of
from torch_embers.oracles import attach, finding
from torch_embers.oracles.finding import Finding
from torch_embers.run import oracles as watched
from torch_embers.sandbox.runner import RunResult
from torch_embers.store.store import Store

WRONG = Finding("layout", "aten.add", "out", "wrong_value", "aten.add with out strided: wrong", line="a.py:3")
LOOKED = {"layout": {"compared": 3, "refused": []}}
CASE = case_of("import torch\n")


def ended(how="exited", code=0, stderr="", detail=""):
    return RunResult("", code, None, how, detail, "", stderr, 0.0, 0.0, 0.0, 0, "", "reviewed", (), {})


@pytest.mark.parametrize(
    ("run", "findings", "looked", "result"),
    [
        (ended(), [WRONG], LOOKED, "found"),
        (ended("timeout", None), [WRONG], {}, "found"),
        (ended(), [], LOOKED, "not_found"),
        (ended(code=1), [], LOOKED, "not_found"),
        (ended(), [], {"layout": {"compared": 0, "refused": []}}, "nothing_compared"),
        (ended(), [], {"layout": {"compared": 0, "refused": [["aten.mm", "why", 2]]}}, "undecided"),
        (ended(code=125), [], LOOKED, "cannot_run"),
        (ended(code=3), [], LOOKED, "failed"),
        (ended("signalled", None), [], {}, "failed"),
        (ended("timeout", None), [], {}, "timeout"),
        (ended("memory", None), [], {}, "out_of_memory"),
        (ended("sandbox_error", None), [], {}, "sandbox_error"),
    ],
)
def test_a_run_that_did_not_end_or_compared_nothing_is_no_clean_one(run, findings, looked, result):
    assert watched.judged(CASE, run, findings, looked)[0] == result


def test_a_plain_script_that_fails_did_not_reach_its_end(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import torch\n", encoding="utf-8")
    plain = watched.case_of_file(path)
    assert (plain.name, plain.code, plain.origin) == ("train", "import torch\n", "own")
    assert watched.judged(plain, ended(code=1, stderr="ValueError: no\n"), [], LOOKED) == (
        "failed",
        "exit 1: ValueError: no",
    )
    path.write_text("import (\n", encoding="utf-8")
    with pytest.raises(CaseError):
        watched.case_of_file(path)


def test_a_finding_shows_the_line_of_the_script_and_not_of_another_file_of_that_name(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    (tmp_path / "shown.py").write_text("another = 'file'\n" * 9, encoding="utf-8")
    (tmp_path / "real.py").write_text("import torch\n\ntorch.ones(4).bfloat16().log()\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    linecache.checkcache()
    code = attach._compiled(str(tmp_path / "real.py"), "shown.py")
    assert code.co_filename == "shown.py"
    assert linecache.getline("shown.py", 3) == "torch.ones(4).bfloat16().log()\n"


def test_an_unknown_oracle_is_refused():
    for text in ("odd", "layout,odd", "", ","):
        with pytest.raises(InputError, match="use layout or precision"):
            oracles_of(text)
    assert oracles_of("layout, precision,layout") == ["layout", "precision"]


def test_what_a_script_says_in_the_name_of_the_oracles_is_checked():
    for said in ("3", "[]", '{"layout": 3}', '{"layout": {"compared": "x", "refused": []}}', '{"layout": {}}', "{"):
        assert attach.looked(f"{attach.LOOKED}{said}\n") == {}
    forged = json.dumps({**WRONG.row(), "message": 3})
    assert finding.read(f"{finding.MARK}{forged}") == []


BROKEN = """
import sys, torch

library = torch.library.Library("watched", "DEF")
library.define("addcmul_(Tensor(a!) p, Tensor m, Tensor v, Scalar value) -> Tensor(a!)")
library.impl("addcmul_", lambda p, m, v, value: (p.contiguous().add_(m * v * value), p)[1], "CPU")


class Adam(torch.optim.Optimizer):
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            mean = state.setdefault("mean", torch.zeros_like(p)).lerp_(p.grad, 0.1)
            square = state.setdefault("square", torch.zeros_like(p)).lerp_(p.grad * p.grad, 0.01)
            torch.ops.watched.addcmul_(p.data, mean, square.sqrt().add(1e-8).reciprocal(), -0.01)


layer = torch.nn.Linear(8, 4)
layer.weight = torch.nn.Parameter(torch.ones(8, 4).t())
optimizer = Adam(layer.parameters(), {})
for step in range(2):
    layer(torch.ones(2, 8)).sum().backward()
    optimizer.step()
sys.stdout.close()
"""


def test_a_broken_step_of_an_optimizer_is_found_with_its_line_and_kept_apart_from_verdicts(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "e.duckdb"
    with Store(path).writer("test", create=True) as writer, writer.transaction():
        pass
    case = tmp_path / "train.py"
    case.write_text(case_text(BROKEN), encoding="utf-8")
    line = case.read_text(encoding="utf-8").splitlines().index(BROKEN.splitlines()[14]) + 1
    options = ["--oracle", "layout,precision", "--json", "--unsandboxed", "-d", str(path)]
    done = CliRunner().invoke(app, ["run", str(case), *options])
    assert done.exit_code == 10, done.output
    (row,) = json.loads(done.stdout)
    (found,) = row["findings"]
    assert (row["result"], row["case"], row["exit_code"]) == ("found", "train", 0)
    assert (found["op"], found["severity"], found["line"]) == ("watched.addcmul_", "wrong_value", f"train.py:{line}")
    assert row["looked"]["layout"]["compared"] > 1
    assert rows(path, "SELECT count(*) FROM verdicts WHERE provenance = 'own'") == [(0,)]
    assert rows(path, "SELECT DISTINCT result, exit_code FROM oracle_runs") == [("found", 0)]
    ops = rows(path, "SELECT op, severity FROM oracle_findings ORDER BY place")
    assert ops == [("watched.addcmul_", "wrong_value")]
