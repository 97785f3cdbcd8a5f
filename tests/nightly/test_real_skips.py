"""The skip ledger of the torch of this environment, in the sandbox."""

import pytest

from torch_embers.builds.registry import CURRENT, Registry
from torch_embers.builds.work import Machine
from torch_embers.oracles.skip_list import FAILS, STATES, UNDECIDED
from torch_embers.research import skips


@pytest.mark.serial
@pytest.mark.timeout(900)
def test_a_real_ledger_decides_entries_of_two_operators(tmp_path, monkeypatch):
    pytest.importorskip("expecttest")
    decided = skips.decided

    def some(runner, entries, bounds):
        yield from decided(runner, [one for one in entries if one.operator in ("as_strided", "narrow_copy")], bounds)

    monkeypatch.setattr(skips, "decided", some)
    registry = Registry(tmp_path / "builds")
    rows = list(skips.read(registry.find(CURRENT), Machine(registry), {}))
    states = {(row.operator, row.test): row.state for row in rows if row.operator}
    assert {operator for operator, _ in states} == {"as_strided", "narrow_copy"}
    assert set(states.values()) <= set(STATES)
    assert states["as_strided", "test_noncontiguous_samples"] == FAILS  # strides are its arguments
    others = [row for row in rows if not row.operator]
    assert {row.state for row in others} == {UNDECIDED}
    assert sum(row.n for row in others) > 500
