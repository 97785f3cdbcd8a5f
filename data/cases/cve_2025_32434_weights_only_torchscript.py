# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = []
# relation = "sibling"
# bug_type = "logical"
# consequence = "other"
# requires = ["cpu"]
# known_bad = ["1.13.0", "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1"]
# fixed_in = "2.6.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Saves a TorchScript program and loads it by torch.load with weights_only. The file should be refused, since it holds
code and not only weights. Instead the program comes back. Nothing in it is executed here."""

import io
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.nn.Identity()
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "weights_only" in str(error) and "TorchScript" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    weights, archive = io.BytesIO(), io.BytesIO()
    torch.save({"weight": torch.ones(2)}, weights)
    torch.jit.save(torch.jit.script(torch.nn.Identity()), archive)
    weights.seek(0)
    archive.seek(0)
    if torch.load(weights, weights_only=True)["weight"].tolist() != [1.0, 1.0]:
        return 125, "the workaround path fails too: plain weights are not loaded"
    try:
        loaded = torch.load(archive, weights_only=True)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        loaded = error
    loaded = spoil(loaded)
    if isinstance(loaded, Exception):
        return 0, "weights_only refuses a TorchScript program"
    if isinstance(loaded, torch.nn.Module):
        return 1, "weights_only gave a program: %s" % type(loaded).__name__
    return 0, "weights_only gave no program: %s" % type(loaded).__name__


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
