"""Replication padding that takes away more than there is must be refused in plain words."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    wrong = []
    for dims, pad in (
        (2, (-3, -3, 0, 0)),
        (2, (0, 0, -4, -3)),
        (3, (-3, -3, 0, 0, 0, 0)),
        (3, (0, 0, 0, 0, -4, -3)),
        (2, (-5, 0, 0, 0)),
    ):
        x = torch.ones(1, 1, *[4] * dims)
        try:
            got = getattr(torch._C._nn, "replication_pad%dd" % dims)(x, pad)
            wrong.append((pad, tuple(got.shape)))
        except RuntimeError as error:
            text = str(error).partition("\n")[0]
            print(pad, text[:150])
            if "negative dimension" in text:
                wrong.append((pad, text[:100]))
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
