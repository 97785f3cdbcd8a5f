"""Traces replication padding of a tensor of a GPU, a fake one, in deterministic mode as one graph."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    def padded(x):
        return torch.nn.functional.pad(x, (1, 2), mode="replicate")

    torch.use_deterministic_algorithms(True)
    with FakeTensorMode():
        x = torch.empty(1, 2, 4, device="cuda")
        want = padded(x)
        try:
            got = torch.compile(padded, backend="eager", fullgraph=True)(x)
        except Exception as error:
            print(type(error).__name__, str(error)[:300])
            return True
    print(want.shape, got.shape)
    return want.shape != got.shape


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
