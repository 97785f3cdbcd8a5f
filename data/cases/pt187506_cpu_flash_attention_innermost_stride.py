# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187506"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.2"]
# known_bad = ["2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0"]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Calls the CPU flash attention operator with queries, keys or values that take every second number of their last
axis. The strides must not matter. Instead the kernel reads the numbers as if they lay side by side and returns
plausible, wrong attention."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def where_off(got, expected):
    """Say by how much got differs from expected, and where most."""
    off = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().nan_to_num(float("inf"))
    at, place = int(off.argmax()), []
    for size in reversed(off.shape):
        place.insert(0, at % size)
        at //= size
    return "off by up to %g at %s" % (off.max(), tuple(place))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    attention = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)
    if attention is None:
        return 125, "this release has no flash attention operator of that name for the CPU"
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 2, 64, 16) for _ in range(3))

    def spread(x):
        return torch.zeros(1, 2, 64, 32)[..., ::2].copy_(x)

    expected = attention(query, key, value)[0]
    truth = torch.softmax(query.double() @ key.double().mT / 4, -1) @ value.double()
    if not torch.allclose(expected.double(), truth, atol=1e-5):
        return 125, "the workaround path fails too: dense operands give wrong attention"
    operands = {
        "queries": (spread(query), key, value),
        "keys": (query, spread(key), value),
        "values": (query, key, spread(value)),
    }
    for name, strided in operands.items():
        got = attention(*strided)[0]
        got = spoil(got)
        if not torch.allclose(got.double(), truth, atol=1e-4):
            return 1, "spread %s: attention is %s" % (name, where_off(got, truth))
    return 0, "spread queries, keys and values give the right attention"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
