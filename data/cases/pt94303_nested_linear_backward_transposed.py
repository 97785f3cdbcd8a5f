# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#94303"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "RuntimeError: contiguous"
# oracle = "self"
# ///
"""Projects a nested tensor twice, transposes one projection, multiplies the two and differentiates. The loss should
send gradients to both layers, as it does when the items are handled one by one. Instead backward raises, because
the incoming gradient of a layer is a transposed view."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("expected a contiguous gradient (injected)")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    make = getattr(torch.nested, "nested_tensor", None)
    if make is None or not hasattr(torch.nested, "to_padded_tensor"):
        return 125, "this release lacks parts of the interface to nested tensors"
    items = [torch.randn(2, 4), torch.randn(3, 4)]
    keys, queries = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def gradients(loss):
        keys.zero_grad()
        queries.zero_grad()
        loss().backward()
        return torch.cat([keys.weight.grad.flatten(), queries.weight.grad.flatten(), keys.bias.grad, queries.bias.grad])

    def one_by_one():
        return sum((queries(item) @ keys(item).t()).sum() for item in items)

    def nested():
        batch = make(items)
        scores = torch.matmul(queries(batch), keys(batch).transpose(-1, -2))
        return torch.nested.to_padded_tensor(scores, 0.0).sum()

    expected = gradients(one_by_one)
    try:
        got = gradients(nested)
        got = spoil(got)
    except RuntimeError as error:
        if "contiguous" in str(error):
            return 1, "backward raised RuntimeError: %s" % str(error).splitlines()[0]
        raise
    if not torch.allclose(got, expected, atol=1e-5):
        return 125, "another failure: no exception, but the gradients are wrong"
    return 0, "the gradients agree with those of single items"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
