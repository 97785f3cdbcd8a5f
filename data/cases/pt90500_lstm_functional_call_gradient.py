# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#90500"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Calls an LSTM with parameters that are passed in, and differentiates. Each parameter should get a gradient. Instead
the module uses the list of weights that it took down when it was built, so nothing depends on those passed in."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [*observed, "bias_ih_l0"]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    try:
        from torch.func import functional_call
    except ImportError:
        from torch.nn.utils.stateless import functional_call

    torch.manual_seed(0)
    module = torch.nn.LSTM(3, 4, batch_first=True)
    steps = torch.randn(2, 3, 3)
    module(steps)[0].sum().backward()
    own, parameter, nudge = float(module.bias_ih_l0.grad[0]), module.bias_ih_l0, 1e-2
    with torch.no_grad():
        parameter[0] += nudge
        above = float(module(steps)[0].double().sum())
        parameter[0] -= 2 * nudge
        slope = (above - float(module(steps)[0].double().sum())) / (2 * nudge)
        parameter[0] += nudge
    if abs(slope - own) > 0.01:
        return 125, "the workaround path fails too: the module's own gradient %g is not the slope %g" % (own, slope)
    passed = {name: value.detach().clone().requires_grad_() for name, value in module.named_parameters()}
    functional_call(module, passed, (steps,))[0].sum().backward()
    missing = [name for name, value in passed.items() if value.grad is None]
    missing = spoil(missing)
    if not missing:
        return 0, "every parameter that is passed in gets a gradient"
    return 1, "no gradient reaches %s" % ", ".join(missing)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
