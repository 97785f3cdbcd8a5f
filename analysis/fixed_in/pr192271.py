"""The fused attention kernel of the CPU must take inputs of three dimensions."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (torch.randn(2, 8, 16) for _ in range(3))
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    try:
        with sdpa_kernel(backends=[SDPBackend.FLASH_ATTENTION]):
            got = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    except RuntimeError as error:
        print(str(error)[:100])
        return True
    return not torch.allclose(want, got, atol=1e-5)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
