"""A hunt of the torch of this environment, in the sandbox."""

import pytest

from torch_embers.builds.registry import CURRENT, Registry
from torch_embers.progress import Silent
from torch_embers.run import hunt
from torch_embers.run.dispatch import LocalDispatcher


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.timeout(900)
def test_a_real_hunt_of_one_operator_calls_it_in_all_modes(tmp_path):
    pytest.importorskip("expecttest")
    registry = Registry(tmp_path / "builds")
    current = registry.find(CURRENT)
    request = hunt.HuntRequest(["neg"], ["float32"], tmp_path / "out")
    rows = list(hunt.hunt(current, request, LocalDispatcher(registry, Silent())))
    assert [row.op for row in rows] == ["neg"]
    assert {cell[0] for cell in rows[0].cells} >= {"forward", "backward", "inplace", "out"}
    assert rows[0].counts()["tested"] > 50
