# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197539"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Fuses batch normalization into a convolution that is also called without it. Both results of the model should stay.
Instead the weights of the shared convolution are replaced, and the call without normalization uses them too."""

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
    from torch.fx.experimental.optimization import fuse

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = torch.nn.Conv2d(1, 2, 1)
            self.normalization = torch.nn.BatchNorm2d(2)

        def forward(self, first, second):
            return self.normalization(self.convolution(first)), self.convolution(second)

    torch.manual_seed(0)
    model = Model().eval()
    model.normalization.running_mean.fill_(0.5)
    model.normalization.running_var.fill_(2.0)
    first, second = torch.randn(2, 1, 1, 3, 3)
    with torch.no_grad():
        normalized, plain = fuse(model)(first, second)
        expected = model(first, second)
    got = plain
    got = spoil(got)
    if not torch.allclose(normalized, expected[0], atol=1e-5):
        return 125, "the workaround path fails too: the normalized result changed as well"
    if torch.allclose(got, expected[1], atol=1e-5):
        return 0, "both results stay"
    return 1, "the result without normalization changed by up to %g" % (got - expected[1]).abs().max()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
