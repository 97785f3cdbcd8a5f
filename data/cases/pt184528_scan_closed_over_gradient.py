# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#184528"]
# relation = "sibling"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1"]
# fixed_in = "2.13.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Runs a recurrence, a times the state plus an input, by scan and by a loop. The state begins without a gradient; a is
not an argument of the step. Values agree, and the gradient for a should. Instead it lacks what went through the
state."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    from torch._higher_order_ops.scan import scan

    inputs = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    start = torch.tensor(0.5, dtype=torch.float64)

    def outcome(looped):
        factor = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)

        def step(state, one):
            state = factor * state + one
            return state.clone(), state.clone()

        if looped:
            states, state = [], start
            for one in inputs:
                state, _ = step(state, one)
                states.append(state)
            states = torch.stack(states)
        else:
            _, states = scan(step, start, inputs, dim=0)
        (gradient,) = torch.autograd.grad(states.sum(), factor)
        return states.detach(), gradient

    values, got = outcome(looped=False)
    got = spoil(got)
    right, expected = outcome(looped=True)
    if not torch.allclose(values, right) or abs(expected.item() - 14.291) > 1e-9:
        return 125, "the workaround path fails too: values differ, or the loop's gradient is %g" % expected.item()
    if torch.allclose(got, expected):
        return 0, "the gradient is %g" % got.item()
    return 1, "the gradient by scan is %g, by the loop %g" % (got.item(), expected.item())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
