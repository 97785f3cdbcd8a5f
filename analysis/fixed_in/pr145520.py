"""Saved tensors that foreach operations change in place, where this is allowed."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    xs = [torch.ones(2, requires_grad=True) for _ in range(2)]
    try:
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            ys = [x.clone() for x in xs]
            zs = [y.square() for y in ys]
            torch._foreach_mul_(ys, 3.0)
            sum(z.sum() for z in zs).backward()
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    print(xs[0].grad)
    return any(x.grad.tolist() != [2.0, 2.0] for x in xs)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
