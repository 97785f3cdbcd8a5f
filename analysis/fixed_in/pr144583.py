"""Gradients of min and max of a jagged nested tensor over a dense dimension."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    parts = [torch.randn(n, 4, dtype=torch.float64) for n in (2, 3)]
    for name in ("amax", "amin", "max", "min"):
        nested = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)
        dense = torch.cat(parts).requires_grad_()
        got, want = getattr(nested, name)(dim=-1), getattr(dense, name)(dim=-1)
        got, want = (got, want) if name.startswith("a") else (got.values, want.values)
        want.sum().backward()
        try:
            (got if not got.is_nested else torch.cat(list(got.unbind()))).sum().backward()
            grad = torch.cat(list(nested.grad.unbind()))
        except Exception as error:
            print(name, type(error), str(error)[:200])
            return True
        if not torch.equal(grad, dense.grad):
            print(name, grad, dense.grad)
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
