"""Compiled searchsorted in sequences that are not dense in memory."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def find(values, *sequences):
        return [torch.searchsorted(one, values) for one in sequences]

    sequences = [
        torch.arange(40.0).view(2, 20)[:, ::2],
        torch.arange(20.0).view(10, 2).t(),
        torch.arange(60.0).view(2, 30)[:, 5:15],
    ]
    values = torch.tensor([[0.0, 7.0, 12.5], [25.0, 40.0, 55.0]])
    want = find(values, *sequences)
    try:
        got = torch.compile(find)(values, *sequences)
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    print([torch.equal(a, b) for a, b in zip(want, got)])
    return not all(torch.equal(a, b) for a, b in zip(want, got))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
