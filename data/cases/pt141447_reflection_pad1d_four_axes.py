# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#141447"]
# relation = "same"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "programming"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = ["2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0"]
# fixed_in = "2.7.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes one element off both ends by reflection padding of minus one, for a tensor of four axes where the function
knows two or three. The call should be refused. Instead it works with the sizes of the wrong axes, and its result is
written beyond the memory of the output, which is looked for in a wider buffer around it."""

import os
import sys

RIM = 4096


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 1
    return observed


def rim_after(torch, signal, padding, shape):
    """Pad into the front of a wider buffer; return (elements changed behind the output, shape of the output)."""
    count = 1
    for size in shape:
        count *= size
    buffer = torch.full((count + RIM,), 7.0, dtype=torch.double)
    out = buffer[:count].view(shape)
    torch.ops.aten.reflection_pad1d.out(signal, padding, out=out)
    return int((buffer[count:] != 7).sum()), tuple(out.shape)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    three = torch.arange(5.0, dtype=torch.double).view(1, 1, 5)
    if torch.ops.aten.reflection_pad1d(three, [-1, -1]).flatten().tolist() != [1.0, 2.0, 3.0]:
        return 125, "the workaround path fails too: three axes are padded wrongly"
    if rim_after(torch, three, [-1, -1], (1, 1, 3)) != (0, (1, 1, 3)):
        return 125, "the workaround path fails too: a valid call writes beyond its output"
    four = torch.full((9, 7, 9, 9), 1e13, dtype=torch.double)
    refused = False
    try:
        written, shape = rim_after(torch, four, [-1, -1], (1, 9, 5))
    except RuntimeError as error:
        if "2D or 3D" not in str(error):
            raise
        written, shape, refused = 0, (1, 9, 5), True
    written = spoil(written)
    if shape != (1, 9, 5):
        return 125, "the output has another shape, %s" % (shape,)
    if not written:
        return 0, "four axes are refused" if refused else "nothing is written beyond the output"
    return 1, "four axes are accepted: %d numbers behind an output of 45 are overwritten" % written


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
