# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Normalises a transposed batch into a transposed destination. The values must be those of dense copies. Instead they
are written in the order of memory, to other places."""

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
    batch = torch.arange(60.0).view(3, 5, 4).sin().transpose(1, 2)

    def normalised(values, out):
        plain = (torch.ones(4), torch.zeros(4), torch.zeros(4), torch.ones(4), True, 0.1, 1e-5)
        torch.native_batch_norm(values, *plain, out=(out, torch.zeros(4), torch.zeros(4)))
        return out

    wide = batch.double()
    centred = wide - wide.mean((0, 2), keepdim=True)
    truth = centred / (centred.pow(2).mean((0, 2), keepdim=True) + 1e-5).sqrt()
    got = normalised(batch, torch.zeros(3, 5, 4).transpose(1, 2))
    got = spoil(got)
    dense = normalised(batch.contiguous(), torch.zeros(3, 4, 5))
    if (dense - truth).abs().max() > 1e-5:
        return 125, "the workaround path fails too: dense tensors give other values"
    off = (got - truth).abs().max().item()
    if off <= 1e-5:
        return 0, "the transposed destination holds the normalised values"
    return 1, "the transposed destination is off by up to %.3g" % off


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
