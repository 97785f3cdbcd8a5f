# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#145071"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "overflow"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0"]
# fixed_in = "2.7.1"
# signature = ["mismatch", "SIGSEGV"]
# oracle = "self"
# ///
"""Takes a view that starts 2**62 elements behind the beginning of a tensor of four. It should be refused. Older
releases compute the bytes in 64 bits, where 2**62 times four wraps round to zero, and let the view through: it reads
the first elements, and other offsets would read anywhere."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.zeros(2)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("out of bounds for storage", "Storage size calculation overflowed")
    )


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    numbers = torch.arange(4.0)
    if numbers.as_strided((2,), (1,), 2).tolist() != [2.0, 3.0]:
        return 125, "the workaround path fails too: an ordinary offset gives wrong numbers"
    try:
        numbers.as_strided((2,), (1,), 10)
        return 125, "the workaround path fails too: not even a small offset is checked"
    except RuntimeError as error:
        if not is_refusal(error):
            raise
    try:
        view = numbers.as_strided((2,), (1,), 1 << 62)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        view = error
    view = spoil(view)
    if isinstance(view, Exception):
        return 0, "an offset of 2**62 is refused: %s" % str(view).splitlines()[0]
    return 1, "an offset of 2**62 is accepted and reads %s" % view.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
