# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#141100"]
# relation = "same"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "programming"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0"]
# fixed_in = "2.7.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates adaptive max pooling of volumes with a tensor of positions that has four axes instead of five, and a
fifth of the elements. The call should be refused. Instead positions are read from beyond the tensor, which is shown by
a buffer around it: the gradient follows the numbers that lie behind the positions."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    upstream = torch.full((5, 4, 5, 1, 3), 0.320139, dtype=torch.double)
    volumes = torch.full((5, 4, 4, 1, 3), 7.29222, dtype=torch.double)

    def gradient(shape, count, behind):
        buffer = torch.full((400,), behind, dtype=torch.long)
        buffer[:count] = 5
        return torch.ops.aten.adaptive_max_pool3d_backward(upstream, volumes, buffer[:count].view(shape))

    whole = gradient((5, 4, 5, 1, 3), 300, 0)
    truth = torch.zeros(5, 4, 12, dtype=torch.double)
    truth[:, :, 5] = 15 * 0.320139
    if not torch.allclose(whole.view(5, 4, 12), truth):
        return 125, "the workaround path fails too: positions of the right shape give a wrong gradient"
    refused = False
    try:
        # Every number behind the positions is a valid position, so that nothing outside the buffers is touched.
        differ = int((gradient((5, 4, 1, 3), 60, 0) != gradient((5, 4, 1, 3), 60, 5)).sum())
    except RuntimeError as error:
        if "indices" not in str(error):
            raise
        differ, refused = 0, True
    differ = spoil(differ)
    if not differ:
        return 0, "positions of another shape are refused" if refused else "nothing behind the positions is read"
    return 1, "%d of %d elements of the gradient follow what lies behind the positions" % (differ, volumes.numel())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
