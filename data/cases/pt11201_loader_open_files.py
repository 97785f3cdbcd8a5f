# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#11201", "pytorch/pytorch#973"]
# relation."pytorch/pytorch#11201" = "same"
# relation."pytorch/pytorch#973" = "sibling"
# bug_type = "file_descriptor"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = ["RuntimeError: Too many open files", "RuntimeError: received 0 items of ancdata"]
# oracle = "self"
# ///
"""Collects the batches of a loading worker in a list while only 64 files may be open. Tensors hold numbers, not
files, so this should work. With the sharing strategy of Linux every tensor keeps a descriptor open, and the limit is
hit after some fifty batches."""

import os
import resource
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("Too many open files")
    return observed


def collect(torch, keep):
    """Return how many batches arrive when each is kept in the form that keep gives it."""
    loader = torch.utils.data.DataLoader([torch.ones(2)] * 120, num_workers=1, batch_size=1)
    return len([keep(batch) for batch in loader])


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch.utils.data

    torch.set_num_threads(1)
    if "file_descriptor" not in torch.multiprocessing.get_all_sharing_strategies():
        return 125, "this system does not share tensors by file descriptor"
    torch.multiprocessing.set_sharing_strategy("file_descriptor")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    if collect(torch, lambda batch: batch.clone()) != 120:
        return 125, "the workaround path fails too: copies do not all arrive"
    try:
        arrived = collect(torch, lambda batch: batch)
        spoil(None)
    except (RuntimeError, OSError) as error:
        if "Too many open files" not in str(error) and "ancdata" not in str(error):
            raise
        return 1, "%s: %s" % (type(error).__name__, str(error).split(". ")[0])
    return 0, "all %d batches arrived" % arrived


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
