"""A sweep of one operator: what is called, what is counted, and how random operators and fatal calls are treated."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from helpers.sweep import Op, counts, sweep  # noqa: E402
from torch_embers.oracles import cells  # noqa: E402
from torch_embers.oracles.cells import Cell  # noqa: E402


@pytest.mark.parametrize("name", ["dropout", "normal_", "multinomial"])
def test_operators_that_draw_are_compared_and_quiet(name):
    calls = {
        "dropout": Op(
            torch.nn.functional.dropout, "nn.functional.dropout", lambda x: torch.dropout_(x, 0.5, train=True)
        ),
        "normal_": Op(lambda x: x.clone().normal_(), "normal", torch.Tensor.normal_, autograd=False),
        "multinomial": Op(lambda x: torch.multinomial(x.abs(), 3), "multinomial", autograd=False, samples=[(5, 6)]),
    }
    row = sweep(calls[name], ("forward", "backward", "inplace")).run()
    assert row["findings"] == []
    assert counts(row, "forward")["tested"] > 5
    assert "two dense calls differ" not in row["skipped"]


def test_a_call_that_ends_the_process_is_announced_and_its_case_shows_it(tmp_path, capfd):
    def fatal(x):
        if x.stride() == (1, 3):
            os._exit(9)
        return x.exp()

    child = os.fork()
    if not child:
        one = sweep(Op(fatal, samples=[(3, 4)]), ("forward",))
        one.only = Cell("forward", "exp", "0", "transposed")
        one.run()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    told = capfd.readouterr()
    assert cells.last_cell(told.err) == ("exp", Cell("forward", "exp", "0", "transposed"))
    case = tmp_path / "case.py"
    case.write_text(cells.unpack(told.out)[-1]["case"], encoding="utf-8")
    for inject, code in (("0", 0), ("1", 1)):
        ended = subprocess.run([sys.executable, case], env={**os.environ, "EMBERS_PLANT": inject}, check=False)
        assert ended.returncode == code
