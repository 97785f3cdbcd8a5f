# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197859"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles a module that calls its part, a linear layer of the identity. Then object.__setattr__ puts another layer,
full of fives, into the dictionary of the module under the name of the part; attribute lookup finds that one first.
The compiled module should call it as well. Instead it goes on calling the old part."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [0.0, 1.0, 2.0, 3.0]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def layer(weight):
        made = torch.nn.Linear(4, 4, bias=False)
        with torch.no_grad():
            made.weight.copy_(weight)
        return made

    class Whole(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.part = layer(torch.eye(4))

        def forward(self, x):
            return self.part(x)

    whole, x = Whole(), torch.arange(4.0)
    compiled = torch.compile(whole, backend="eager")
    if compiled(x).tolist() != [0.0, 1.0, 2.0, 3.0]:
        return 125, "the workaround path fails too: before the change the compiled module is no identity"
    object.__setattr__(whole, "part", layer(torch.full((4, 4), 5.0)))
    truth = [30.0] * 4
    if whole(x).tolist() != truth:
        return 125, "the workaround path fails too: uncompiled the new layer is not called"
    got = compiled(x).tolist()
    got = spoil(got)
    if got == truth:
        return 0, "the compiled module calls the new layer"
    return 1, "the compiled module gives %s instead of %s" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
