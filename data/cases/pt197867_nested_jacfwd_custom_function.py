# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197867"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates the fourth power, built from a custom function with a forward rule, twice in forward mode. The second
derivative is that of plain operations. Instead it is zero: inside the rule the saved input has lost its tangent."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [108.0, 0.0]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    class Square(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(number):
            return number * number

        @staticmethod
        def setup_context(ctx, inputs, _output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, cotangent):
            return 2 * ctx.saved_tensors[0] * cotangent

        @staticmethod
        def jvp(ctx, tangent):
            return 2 * ctx.saved_tensors[0] * tangent

    forward = torch.func.jacfwd
    reverse = torch.func.jacrev

    def custom(number):
        return Square.apply(Square.apply(number))

    point = torch.tensor(3.0, dtype=torch.float64)
    torch.func.jvp(torch.sin, (point,), (point,))  # loads what some releases cannot load inside a transformation
    truth = [108.0, 108.0]  # the fourth power: 4 * 27 and 12 * 9
    got = [forward(custom)(point).item(), forward(forward(custom))(point).item()]
    got = spoil(got)
    plain = forward(forward(lambda number: number**4))(point).item()
    mixed = forward(reverse(custom))(point).item()
    if (plain, mixed) != (108.0, 108.0):
        return 125, "the workaround path fails too: plain operations give %g, forward over reverse %g" % (plain, mixed)
    if got == truth:
        return 0, "first and second derivative are %s, as they should be" % got
    return 1, "first and second derivative are %s instead of %s" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
