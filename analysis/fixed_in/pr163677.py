"""Gradients through a score_mod of flex_attention that reads a computed tensor must be those of eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.nn.attention.flex_attention import flex_attention

    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 16, 16) for _ in range(3))

    def gradient(wrap):
        bias = torch.linspace(-1, 1, 32).view(2, 16).requires_grad_()

        def run(bias):
            made = bias.sin() * 2
            return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + made[h, j])

        wrap(run)(bias).square().sum().backward()
        return bias.grad

    want = gradient(lambda run: run)
    got = gradient(lambda run: torch.compile(run, backend="aot_eager"))
    print(want.abs().max(), "None" if got is None else (got - want).abs().max())
    return got is None or not torch.allclose(want, got, atol=1e-4)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
