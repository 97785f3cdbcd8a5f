# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = ["2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
# signature = "mismatch"
# oracle = "self"
# ///
"""Attends with queries that are a window sliding over a signal, so that their rows overlap in memory. The result must
equal that of dense copies of the queries. Instead the product with the keys is not formed as asked, and the result
is off by more than its own size."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    attend = torch.nn.functional.scaled_dot_product_attention
    queries = torch.sin(torch.arange(11.0)).unfold(0, 8, 1)[None, None]
    keys = torch.cos(torch.arange(32.0)).view(1, 1, 4, 8)
    weights = torch.softmax(queries.double() @ keys.double().transpose(-2, -1) / 8**0.5, -1)
    truth = weights @ keys.double()
    got = attend(queries, keys, keys).double()
    got = spoil(got)
    dense = attend(queries.contiguous(), keys, keys).double()
    if (dense - truth).abs().max() > 1e-5:
        return 125, "the workaround path fails too: dense queries give another result"
    off = (got - truth).abs().nan_to_num(float("inf")).max().item()
    if off <= 1e-5:
        return 0, "overlapping queries give the result of dense ones, to within %.2g" % off
    return 1, "overlapping queries give a result that is off by %.3g" % off


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
