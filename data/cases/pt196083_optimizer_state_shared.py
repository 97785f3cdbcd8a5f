# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196083"]
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
"""Gives the state of one optimizer with momentum to another one in the same process, and steps the first. The momentum
of the second should stay as it was, as after a deep copy of the state. Instead both hold the same tensor, and it
changes."""

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
    import copy

    def momentum_after(copied):
        first, second = (torch.nn.Parameter(torch.zeros(2)) for _ in range(2))
        source = torch.optim.SGD([first], lr=0.1, momentum=0.9)
        target = torch.optim.SGD([second], lr=0.1, momentum=0.9)
        first.grad = torch.ones(2)
        source.step()
        state = source.state_dict()
        target.load_state_dict(copy.deepcopy(state) if copied else state)
        source.step()
        return target.state[second]["momentum_buffer"]

    got = momentum_after(copied=False)
    got = spoil(got)
    expected = momentum_after(copied=True).tolist()
    if expected != [1.0, 1.0]:
        return 125, "the workaround path fails too: after a deep copy the momentum is %s" % expected
    if got.tolist() == expected:
        return 0, "the momentum of the other optimizer is still %s" % expected
    return 1, "the momentum of the other optimizer became %s" % got.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
