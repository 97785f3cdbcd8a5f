# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#118115", "pytorch/pytorch#124442"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Divides two matrices and adds the scaled quotient in place into a matrix that lies transposed in memory, with
dense or transposed operands. The matrix must hold the numbers that the CPU gets. Instead the numbers go to a
packed buffer, or to wrong places, and the matrix keeps old or wrong content without any message. Optimizers built
on this operator train wrong parameters."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


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

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    torch.manual_seed(0)
    start, one, other = torch.rand(3, 4), torch.rand(3, 4), torch.rand(3, 4) + 1

    def dense(x):
        return x.clone()

    def transposed(x):
        return x.t().contiguous().t()

    def run(target, first, second):
        return target(start.to(DEVICE)).addcdiv_(first(one.to(DEVICE)), second(other.to(DEVICE)), value=0.5).cpu()

    truth = start + 0.5 * one / other
    if not torch.allclose(run(dense, dense, dense), truth, atol=1e-5):
        return 125, "the workaround path fails too: dense operands give wrong numbers"
    for layouts in ((transposed, dense, dense), (transposed, transposed, transposed), (dense, transposed, dense)):
        got = run(*layouts)
        got = spoil(got)
        if not torch.allclose(got, truth, atol=1e-5):
            return 1, "%s target, %s and %s operands: %s" % (*[f.__name__ for f in layouts], where_off(got, truth))
    return 0, "every layout gives the numbers of the CPU"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
