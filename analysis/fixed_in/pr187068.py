"""Reading layout and dtype of a recorded tensor must not take a reference for good."""

import sys


def bug():
    """Whether the bug is there."""
    import sys

    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True) as run:
        torch.ones(4, 4) + torch.ones(4, 4)
    found = []
    todo = list(run.profiler.kineto_results.experimental_event_tree())
    while todo:
        event = todo.pop()
        todo += event.children
        inputs = getattr(event.extra_fields, "inputs", None) or []
        found += [one for one in inputs if hasattr(one, "layout")]
    if not found:
        raise NotImplementedError("no tensors recorded")
    before = sys.getrefcount(torch.float32), sys.getrefcount(torch.strided)
    for _ in range(1000):
        found[0].dtype, found[0].layout
    after = sys.getrefcount(torch.float32), sys.getrefcount(torch.strided)
    print(before, after)
    return max(b - a for a, b in zip(before, after)) > 500


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
