"""Compiled code must see the errors that Python gives for wrong calls of next, set and frozenset."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def tried(f):
        try:
            f()
        except Exception as error:
            return type(error).__name__, str(error)
        return "no error"

    def calls(x):
        found = [
            tried(lambda: next(3)),
            tried(lambda: next()),
            tried(lambda: next(iter([]))),
            tried(lambda: set(3)),
            tried(lambda: set(1, 2)),
            tried(lambda: frozenset(None)),
            tried(lambda: set([[]])),  # noqa: C405
            tried(lambda: next([1])),
        ]
        return x + 1, found

    want = calls(torch.ones(1))[1]
    try:
        got = torch.compile(calls, backend="eager", fullgraph=True)(torch.ones(1))[1]
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    print([pair for pair in zip(want, got) if pair[0] != pair[1]])
    return want != got


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
