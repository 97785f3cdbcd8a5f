# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = []
# relation = "sibling"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "programming"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.0", "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0",
#     "2.9.0", "2.9.1",
# ]
# fixed_in = "2.10.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Cuts the bytes of a tensor in a checkpoint and loads it with weights_only. The file should be refused, since it
promises more elements than it holds. Instead the tensor reaches beyond what was read. Its values are not looked at."""

import io
import os
import sys
import zipfile


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 4
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "record size" in str(error) and "does not match" in str(error)


def shortened(whole, size):
    """The archive with all but the first bytes of its tensor left out."""
    changed = io.BytesIO()
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(changed, "w", zipfile.ZIP_STORED) as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, content[:size] if name.endswith("/data/0") else content)
    changed.seek(0)
    return changed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    whole = io.BytesIO()
    torch.save(torch.arange(4, dtype=torch.int32), whole)
    if torch.load(shortened(whole, 16), weights_only=True).tolist() != [0, 1, 2, 3]:
        return 125, "the workaround path fails too: the whole file is not loaded"
    try:
        elements = torch.load(shortened(whole, 4), weights_only=True).numel()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        elements = error
    elements = spoil(elements)
    if isinstance(elements, Exception):
        return 0, "weights_only refuses a record that is too short"
    if elements > 1:
        return 1, "a record of 4 bytes gave a tensor of %d elements of 4 bytes" % elements
    return 0, "a record of 4 bytes gave %d elements" % elements


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
