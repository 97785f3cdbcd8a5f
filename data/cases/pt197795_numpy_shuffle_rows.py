# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197795"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu", "package:numpy"]
# known_bad = [
#     "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0",
#     "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Shuffles the rows of a tensor by torch._numpy with NumPy's random numbers. Each row should be there once, as with
torch._numpy's own arrays. Instead rows are swapped through views of the tensor: some come twice, others are lost."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [observed[0]] * 6
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    import warnings

    import torch._dynamo.config
    import torch._numpy

    warnings.simplefilter("ignore")
    rows = [[2 * i, 2 * i + 1] for i in range(6)]

    def shuffled(make):
        numbers = make(rows)
        with torch._dynamo.config.patch(use_numpy_random_stream=True):
            torch._numpy.random.seed(0)
            torch._numpy.random.shuffle(numbers)
        return sorted(numbers.tolist())

    got = shuffled(torch.tensor)
    got = spoil(got)
    expected = shuffled(torch._numpy.array)
    if expected != rows:
        return 125, "the workaround path fails too: an array has the rows %s" % expected
    if got == rows:
        return 0, "each row is there once"
    return 1, "the rows are %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
