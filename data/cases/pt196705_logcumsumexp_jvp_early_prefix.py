# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196705"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes the forward derivative of the cumulative log-sum-exp of two logits that lie 801 apart. The first prefix is the
first element, so that its tangent is that of the element. Instead everything is scaled by the largest logit of all,
the first term underflows, and its tangent is zero."""

import operator
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = 0.0
    return observed


def apart(left, right):
    """Return the largest difference of two lists of numbers."""
    return max(map(abs, map(operator.sub, left, right)))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    logits = torch.tensor([-400.0, 401.0], dtype=torch.float64)
    direction = torch.tensor([1.0, -1.0], dtype=torch.float64)
    truth = [1.0, -1.0]  # the first prefix is the element itself, and in the second the larger logit has all the weight
    _, tangent = torch.func.jvp(lambda x: torch.logcumsumexp(x, 0), (logits,), (direction,))
    got = tangent.tolist()
    got = spoil(got)
    prefixes = [lambda x: x[:1].logsumexp(0), lambda x: x.logsumexp(0)]
    one_by_one = [torch.func.jvp(prefix, (logits,), (direction,))[1].item() for prefix in prefixes]
    if apart(one_by_one, truth) > 1e-9:
        return 125, "the workaround path fails too: each prefix by itself gives %s" % one_by_one
    if apart(got, truth) < 1e-9:
        return 0, "the tangents are %s, as they should be" % got
    return 1, "the tangents are %s instead of %s" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
