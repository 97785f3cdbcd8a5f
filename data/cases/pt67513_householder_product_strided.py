# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#67513"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Forms the orthogonal factor from reflectors that lie transposed in memory, with a coefficient vector that skips
every second element, forward and backward. The layout must not change a number. The report says that strided
inputs gave another result than dense copies."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def where_off(got, expected):
    """Say by how much got differs from expected, and where most."""
    off = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().nan_to_num(float("inf"))
    at, place = int(off.argmax()), []
    for size in reversed(off.shape):
        place.insert(0, at % size)
        at //= size
    return "off by up to %g at %s" % (off.max(), tuple(place))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    dense = torch.randn(2, 6, 4, dtype=torch.float64)
    scales = torch.rand(2, 4, dtype=torch.float64)

    def run(reflectors, tau, slope):
        reflectors, tau = reflectors.detach().requires_grad_(), tau.detach().requires_grad_()
        product = torch.linalg.householder_product(reflectors, tau)
        product.backward(slope)
        return torch.cat([t.flatten() for t in (product.detach(), reflectors.grad, tau.grad)])

    slope = torch.randn(2, 6, 4, dtype=torch.float64)
    wide = torch.zeros(2, 8, dtype=torch.float64)[:, ::2].copy_(scales)
    got = run(dense.mT.contiguous().mT, wide, slope.mT.contiguous().mT)
    if PLANT:
        got = got + 1
    expected = run(dense, scales, slope)
    truth = torch.eye(6, dtype=torch.float64).repeat(2, 1, 1)
    for column in range(4):
        vector = dense[:, :, column].clone()
        vector[:, :column], vector[:, column] = 0, 1
        mirror = scales[:, column, None, None] * vector[:, :, None] * vector[:, None, :]
        truth = truth @ (torch.eye(6, dtype=torch.float64) - mirror)
    if not torch.allclose(expected[:48], truth[:, :, :4].flatten()):
        return 125, "the workaround path fails too: the dense product is not the product of the reflections"
    if torch.allclose(got, expected):
        return 0, "product and both gradients agree with the dense run"
    return 1, "strided reflectors: " + where_off(got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
