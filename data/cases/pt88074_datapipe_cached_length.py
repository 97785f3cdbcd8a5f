# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#88074"]
# relation = "same"
# bug_type = "data_pipe"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks a batching data pipe for its length, then assigns shards, then asks again. The second answer should be that
of the shard. Older releases remember the first answer for good."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 6
    return observed


def pipeline():
    """Return 26 numbers behind a sharding filter, in batches of two, or None where data pipes are gone."""
    from torch.utils.data.datapipes.iter import IterableWrapper

    return IterableWrapper(range(26)).sharding_filter().batch(2)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import warnings

    warnings.simplefilter("ignore")
    try:
        from torch.utils.data.graph_settings import apply_sharding

        asked, fresh = pipeline(), pipeline()
    except ImportError as error:
        return 125, "this release has no data pipes: %s" % error
    before = len(asked)
    apply_sharding(asked, 2, 0)
    apply_sharding(fresh, 2, 0)
    expected = len(list(fresh))
    if before != 13 or expected != 7 or len(fresh) != 7:
        return 125, "the workaround path fails too: lengths %d and %d" % (before, expected)
    got = len(asked)
    got = spoil(got)
    if got == expected:
        return 0, "length after sharding: %d, as many as come out" % got
    return 1, "length after sharding: %d, but %d batches come out" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
