# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#184574"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0",
# ]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates clamp, and clamp_min with clamp_max, with the bounds 0 and 6, at points inside, outside and on the
bounds. It is the function of relu6, whose gradient on a bound is zero by the convention of least magnitude. Instead
it is one there."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [[0.0, 1.0, 1.0, 1.0, 0.0]] * 2
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    functional = torch.nn.functional

    def gradient(function, points):
        x = torch.tensor(points, requires_grad=True)
        function(x).sum().backward()
        return x.grad.tolist()

    points = [-1.0, 0.0, 3.0, 6.0, 7.0]
    truth = [0.0, 0.0, 1.0, 0.0, 0.0]  # of the slopes on both sides of a corner the one of least magnitude
    got = [gradient(lambda x: torch.clamp(x, 0.0, 6.0), points)]
    got.append(gradient(lambda x: torch.clamp_max(torch.clamp_min(x, 0.0), 6.0), points))
    got = spoil(got)
    others = [gradient(functional.relu6, points), gradient(lambda x: functional.hardtanh(x, 0.0, 6.0), points)]
    if others != [truth, truth]:
        return 125, "the workaround path fails too: relu6 and hardtanh give %s" % others
    if [row[::2] for row in got] != [truth[::2]] * 2:
        return 125, "away from the bounds the gradients are %s" % got
    if got == [truth, truth]:
        return 0, "at both bounds the gradient is zero, as with relu6"
    return 1, "at %s the gradients are %s instead of %s" % (points, got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
