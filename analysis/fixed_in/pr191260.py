"""Compiled attention of three dimensions with its key turned in other ways must be that of eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def attention(q, k, v):
        return (torch.bmm(q, k.permute(1, 2, 0)) / 2.0).softmax(-1) @ v, (
            torch.matmul(q, k.permute(2, 0, 1)) / 2.0
        ).softmax(-1) @ v

    torch.manual_seed(0)
    arguments = [torch.randn(4, 4, 4) for _ in range(3)]
    with torch.no_grad():
        want = attention(*arguments)
        try:
            got = torch.compile(attention)(*arguments)
        except Exception as error:
            print(type(error).__name__, str(error)[:200])
            return True
    print([(a - b).abs().max().item() for a, b in zip(want, got)])
    return not all(torch.allclose(a, b, atol=1e-4) for a, b in zip(want, got))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
