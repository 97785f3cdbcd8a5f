# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#88868"]
# relation = "sibling"
# bug_type = "logical"
# consequence = "other"
# requires = ["cpu"]
# known_bad = ["1.13.0"]
# fixed_in = "1.13.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Parses a type comment of TorchScript that holds a call instead of a type. It should be refused. Before the fix the
comment was evaluated as Python. The call only appends to a list."""

import builtins
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed += 1
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "Type annotation should not contain calls" in str(error)


def calls_made(parse, line):
    """How often parsing the line called the function that it names."""
    made = []
    builtins.embers_called = made
    try:
        parse(line, None, 1)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
    finally:
        del builtins.embers_called
    return len(made)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    from torch.jit.annotations import parse_type_line

    arguments, result = parse_type_line("# type: (Tensor) -> Tensor", None, 1)
    if len(arguments) != 1 or str(result) != "Tensor":
        return 125, "the workaround path fails too: a plain type comment is not read"
    made = calls_made(parse_type_line, "# type: (embers_called.append(1) or Tensor) -> Tensor")
    made = spoil(made)
    if made:
        return 1, "the call in a type comment was executed"
    return 0, "the call in a type comment was not executed"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
