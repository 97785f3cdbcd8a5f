"""Compiled code compares two tree specs of the C++ tree library as eager mode does."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    import torch.utils._cxx_pytree as pytree

    def compare(x):
        one = pytree.tree_structure({"a": 1, "b": [2, 3]})
        same = pytree.tree_structure({"a": 4, "b": [5, 6]})
        other = pytree.tree_structure({"a": 4, "b": (5, 6)})
        return x + 1, one == same, one == other, one != other, one == 3, hash(one) == hash(same)

    want = compare(torch.zeros(1))
    try:
        got = torch.compile(compare, backend="eager", fullgraph=True)(torch.zeros(1))
    except Exception as error:
        print(type(error), str(error)[:300])
        return True
    print(want[1:], got[1:])
    return want[1:] != got[1:]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
