"""A compiled deque, made anew with more items than it could hold before, must hold them all."""

import sys


def bug():
    """Whether the bug is there."""
    import collections

    import torch

    def again(x):
        items = collections.deque([1, 2], maxlen=2)
        items.__init__([1, 2, 3, 4])
        return x + sum(items), list(items), items.maxlen

    want = again(torch.zeros(1))
    got = torch.compile(again, backend="eager")(torch.zeros(1))
    print(want, got)
    return want != got


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
