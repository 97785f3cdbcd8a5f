# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = []
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.0", "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0",
#     "2.9.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Makes a quantized sigmoid whose step is zero. Such a step can hold no value but zero and should be refused. Instead
the module takes it, and every sigmoid is zero. With a step of 1/256 the values are right."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.zeros(3)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError)) and "scale" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    from torch.ao.nn.quantized import Sigmoid

    values = torch.quantize_per_tensor(torch.tensor([-1.0, 0.0, 1.0]), 0.1, 10, torch.quint8)
    truth = torch.sigmoid(values.dequantize())
    valid = Sigmoid(1 / 256, 0)(values).dequantize()
    if (valid - truth).abs().max().item() > 1 / 256:
        return 125, "the workaround path fails too: %s with a step of 1/256" % valid.tolist()
    try:
        got = Sigmoid(0.0, 0)(values).dequantize()
    except Exception as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "a step of zero is refused"
    if (got - truth).abs().max().item() <= 1 / 256:
        return 0, "a step of zero gives right values"
    return 1, "a step of zero is taken: %s" % ["%.2f" % value for value in got.tolist()]


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
