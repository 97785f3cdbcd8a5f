"""The layout oracle: it finds every injected fault, is quiet about correct kernels, and names the user's line."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torch_embers import resources  # noqa: E402
from torch_embers.oracles import repeat, reproducer  # noqa: E402
from torch_embers.oracles.layout import LayoutOracle  # noqa: E402
from torch_embers.oracles.oracle_rules import OracleRules  # noqa: E402

RULES = resources.load_toml("oracles.toml")


def test_rounding_in_double_precision_is_no_finding():
    torch.manual_seed(0)
    with LayoutOracle(RULES) as oracle:
        for _ in range(20):
            x = torch.randn(30, 40, dtype=torch.float64)
            torch.fft.fft2(x.t()), x.t().prod(1), x.t() @ x, x.t().var(1)
    assert (oracle.findings, oracle.counts["repeated"]) == ([], 80)


def test_the_case_of_a_finding_runs_on_its_own(tmp_path):
    """A correct operator: exit 0; with its injected fault: exit 1."""
    plan = repeat.plan_of(torch.ops.aten.addcmul_.default, OracleRules(RULES))
    origin = reproducer.Origin([torch.zeros(4, 3).t(), torch.ones(3, 4), torch.ones(3, 4)], {"value": 0.5}, plan)
    path = tmp_path / "case.py"
    problem = repeat.Problem("wrong_value", "self", "differs")
    path.write_text(
        reproducer.case_text(plan, (origin.args, origin.kwargs), problem, OracleRules(RULES)), encoding="utf-8"
    )
    right = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert (right.returncode, right.stdout) == (0, "the same as on dense copies\n")
    wrong = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env={"EMBERS_PLANT": "1"})
    assert wrong.returncode == 1
