"""celu with alpha = 0 must be refused on meta, by its reference and in compiled code, in the words of eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def words(f):
        try:
            f()
        except Exception as error:
            return str(error)
        return "no error"

    def curve(x):
        return torch.nn.functional.celu(x, alpha=0.0)

    found = {
        "eager": words(lambda: curve(torch.ones(3))),
        "meta": words(lambda: curve(torch.ones(3, device="meta"))),
        "reference": words(lambda: torch._refs.nn.functional.celu(torch.ones(3), alpha=0.0)),
        "compiled": words(lambda: torch.compile(curve, backend="aot_eager")(torch.ones(3))),
    }
    print({name: text[:60] for name, text in found.items()})
    return any(found["eager"][:20] not in text for text in found.values())


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
