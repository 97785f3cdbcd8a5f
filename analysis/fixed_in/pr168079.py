"""The sizes of the first caches, which compiled matrix products ask for, must be known on an AMD processor."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    with open("/proc/cpuinfo") as file:
        if "AuthenticAMD" not in file.read():
            raise NotImplementedError("no AMD processor")
    sizes = torch._C._cpu._L1d_cache_size(), torch._C._cpu._L2_cache_size()
    print(sizes)
    return min(sizes) <= 0


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
