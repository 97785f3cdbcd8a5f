"""Compiled attention of three dimensions with its key turned otherwise than transposed must be that of eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def attention(q, k, v):
        return torch.bmm(torch.bmm(q, k.permute(1, 2, 0)).softmax(dim=-1), v)

    torch.manual_seed(0)
    wrong = []
    for q, k, v in (((4, 4, 4), (4, 4, 4), (4, 4, 4)), ((2, 3, 4), (5, 2, 4), (2, 5, 6))):
        torch._dynamo.reset()
        arguments = [torch.randn(shape) for shape in (q, k, v)]
        with torch.no_grad():
            want = attention(*arguments)
            try:
                got = torch.compile(attention)(*arguments)
            except Exception as error:
                print(type(error).__name__, str(error)[:200])
                return True
        wrong.append((got - want).abs().max().item())
    print(wrong)
    return max(wrong) > 1e-4


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
