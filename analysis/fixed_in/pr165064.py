"""Compiled searchsorted in sequences that are not dense in memory."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def find(sequence, values):
        return torch.searchsorted(sequence, values)

    sequences = {
        "every other": torch.arange(40.0).view(2, 20)[:, ::2],
        "transposed": torch.arange(20.0).view(10, 2).t(),
        "part": torch.arange(60.0).view(2, 30)[:, 5:15],
    }
    wrong = []
    for name, sequence in sequences.items():
        torch._dynamo.reset()
        values = torch.tensor([[0.0, 7.0, 12.5], [25.0, 40.0, 55.0]])
        try:
            if not torch.equal(find(sequence, values), torch.compile(find)(sequence, values)):
                wrong.append(name)
        except Exception as error:
            print(type(error).__name__, str(error)[:200])
            return True
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
