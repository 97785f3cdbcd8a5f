"""What the tests in test_sweep.py share."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch_embers import resources  # noqa: E402 - needs torch
from torch_embers.oracles import cells  # noqa: E402
from torch_embers.oracles.sweep import Bounds, Sweep  # noqa: E402

RULES = resources.load_toml("oracles.toml")


class Op:
    """An entry of a database of samples."""

    def __init__(self, call, name="exp", inplace=None, samples=None, autograd=True):
        self.call, self.name, self.inplace, self.samples = call, name, inplace, samples
        self.supports_autograd, self.supports_out = autograd, True

    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs)

    def get_inplace(self):
        return self.inplace

    def sample_inputs(self, _device, dtype, requires_grad):
        assert not requires_grad
        shapes = self.samples or [(3, 4), (2, 3, 4), (5, 6)]
        return [SimpleNamespace(input=torch.randn(shape).to(dtype), args=(), kwargs={}) for shape in shapes]


def sweep(op, modes=cells.MODES, skip=(), samples=4, seconds=30.0):
    return Sweep(op, op.name, torch.float32, RULES, skip, Bounds(seconds, samples, modes))


def counts(row, mode):
    total = dict.fromkeys(cells.COUNTED, 0)
    for entry in row["cells"]:
        if entry[0] == mode:
            for at, what in enumerate(cells.COUNTED):
                total[what] += entry[4 + at]
    return total
