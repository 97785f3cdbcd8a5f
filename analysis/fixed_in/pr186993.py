"""A condition that sums hundreds of sizes must not end the making of an exported program's checks."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.export._unlift import _convert_guards_code_to_fn
    from torch.utils import _pytree as pytree

    size = "L['x'].size()[0]"
    condition = " + ".join([size] * 600) + " >= 0"
    try:
        check = _convert_guards_code_to_fn([condition], [(pytree.MappingKey("x"),)])
        check(torch.ones(2))
    except RecursionError as error:
        print(error)
        return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
