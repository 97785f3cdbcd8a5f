"""A nested compile region that reads a buffer transposed (w.T) must compile."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.randn(4, 4))

        @torch.compiler.nested_compile_region
        def forward(self, x):
            return x @ self.w.T

    layers = torch.nn.ModuleList([Layer(), Layer()])

    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    x = torch.randn(3, 4)
    want = run(x)
    try:
        got = torch.compile(run, backend="aot_eager", fullgraph=True)(x)
    except Exception as error:
        print(type(error), str(error)[:300])
        return True
    return not torch.allclose(want, got, atol=1e-5)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
