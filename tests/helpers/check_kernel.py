"""What the tests in test_check_kernel.py share."""

import copy
from dataclasses import replace

import pytest
import torch

from torch_embers.oracles.kernel import check_kernel

SIZES = (16, 128, 1024)


def fresh(kernel):
    """The kernel as nobody called it: some keep what they saw."""
    return replace(kernel, candidate=copy.deepcopy(kernel.candidate))


def check(kernel, **options):
    return check_kernel(
        fresh(kernel).candidate,
        kernel.reference,
        kernel.inputs,
        **{"counts": kernel.counts, "sizes": SIZES, "gradients": kernel.gradients, "name": kernel.name, **options},
    )


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)
