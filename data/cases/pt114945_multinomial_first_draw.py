# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#114945", "pytorch/pytorch#159927"]
# relation."pytorch/pytorch#114945" = "same"
# relation."pytorch/pytorch#159927" = "sibling"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Draws one and then two numbers with replacement from the same seed. The first number should be the same. Instead a
request for a single number takes another path and draws another."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [-1]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def draw(count):
        generator = torch.Generator().manual_seed(123)
        return torch.multinomial(torch.ones(10), count, replacement=True, generator=generator).tolist()

    one, two, three = draw(1), draw(2), draw(3)
    one = spoil(one)
    if two != three[:2]:
        return 125, "the workaround path fails too: two and three draws begin differently"
    if one[0] == two[0]:
        return 0, "one, two and three draws begin alike"
    return 1, "a single draw is %d, the first of two is %d" % (one[0], two[0])


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
