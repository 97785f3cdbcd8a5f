# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#90992"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "RuntimeError: INTERNAL ASSERT FAILED"
# oracle = "self"
# ///
"""Scatters into a strided window of a transposed matrix that needs a gradient. The result should come out, or a
plain error should name the limit. Instead an internal assertion fails, which asks the user to report a bug."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = "INTERNAL ASSERT FAILED (injected)"
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in ("contiguous", "stride"))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not hasattr(torch, "as_strided_scatter"):
        return 125, "this release has no as_strided_scatter"

    def scatter(matrix):
        return torch.as_strided_scatter(matrix.detach().requires_grad_(), torch.zeros(2), (2,), (1,))

    expected = scatter(torch.arange(12.0).reshape(4, 3))
    if expected.flatten().tolist() != [0.0, 0.0, *range(2, 12)]:
        return 125, "the workaround path fails too: a dense matrix gets wrong numbers"
    try:
        scatter(torch.arange(12.0).reshape(3, 4).t())
        refused = ""
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        refused = str(error)
    refused = spoil(refused)
    if "INTERNAL ASSERT FAILED" in refused:
        return 1, "RuntimeError: %s" % refused.splitlines()[0]
    if refused:
        return 0, "the layout is refused with a plain error: " + refused.splitlines()[0]
    return 0, "the transposed matrix is accepted"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
