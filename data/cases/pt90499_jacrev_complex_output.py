# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#90499"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes the Jacobian of the eigenvalues of a real matrix that has complex ones. It is complex, so a complex result or a
refusal is due. Instead a real one is returned: the imaginary part is dropped without a word."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.zeros(2)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "Expected all outputs to be real" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    try:
        from torch.func import jacrev
    except ImportError:
        from functorch import jacrev

    turn = torch.tensor([[0.0, -1.0], [1.0, 0.3]], dtype=torch.float64)

    def parts(matrix):
        return torch.view_as_real(torch.linalg.eigvals(matrix))

    if not bool((parts(turn)[:, 1].abs() > 0.1).all()):
        return 125, "the workaround path fails too: the eigenvalues are real"
    if not bool((jacrev(parts)(turn)[:, 1].abs() > 0.1).any()):
        return 125, "the workaround path fails too: real and imaginary parts by themselves have no such slope"
    try:
        got = jacrev(torch.linalg.eigvals)(turn)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if got.is_complex():
        return 0, "the Jacobian is complex"
    return 1, "the Jacobian of complex eigenvalues is of type %s" % got.dtype


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
