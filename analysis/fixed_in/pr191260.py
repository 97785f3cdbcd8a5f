"""Compiled attention of three dimensions, with its key turned in another way, must be that of eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def attention(q, k, v):
        weights = (q @ k.permute(0, 2, 1) / 4.0).softmax(-1)
        turned = (q @ k.permute(1, 2, 0).permute(2, 0, 1).transpose(-2, -1).transpose(-2, -1) / 4.0).softmax(-1)
        return weights @ v, turned @ v

    torch.manual_seed(0)
    q, k, v = (torch.randn(3, 8, 16) for _ in range(3))

    def other(q, k, v):
        return (torch.bmm(q, k.permute(2, 0, 1).permute(1, 0, 2)).mul(0.25)).softmax(-1) @ v

    square = [torch.randn(4, 4, 4) for _ in range(3)]
    wrong = []
    for f, arguments in ((attention, (q, k, v)), (other, square)):
        for grad in (False, True):
            torch._dynamo.reset()
            arguments = [one.detach().requires_grad_(grad) for one in arguments]
            want = f(*arguments)
            try:
                got = torch.compile(f)(*arguments)
            except Exception as error:
                print(type(error).__name__, str(error)[:200])
                return True
            want, got = (one if isinstance(one, tuple) else (one,) for one in (want, got))
            wrong.append(not all(torch.allclose(a, b, atol=1e-4) for a, b in zip(want, got)))
    print(wrong)
    return any(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
