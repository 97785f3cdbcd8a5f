# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#194750"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "concurrency"
# memory_subtype = "miss_lock"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.5.1", "2.6.0", "2.7.1", "2.14.1"]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Loads a file whose sparse tensor has an index beyond its shape, while another thread loads a sound file. The first
load should refuse it, as it does alone. Instead both keep their tensors to be checked in one list; the other load
empties it, and the broken tensor is handed out."""

import io
import os
import sys
import threading


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [[5]]
    return observed


WORDS = ("size is inconsistent with indices", "indices")


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and any(word in str(error) for word in WORDS)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def saved(content):
        stream = io.BytesIO()
        torch.save(content, stream)
        return stream.getvalue()

    broken = torch.sparse_coo_tensor(torch.tensor([[0]]), torch.tensor([1.0]), (2,))
    broken._indices().fill_(5)  # beyond its two elements
    broken = saved([broken, torch.ones(3)])
    sound = saved([torch.ones(3)])

    def load_sound():
        try:
            torch.load(io.BytesIO(sound), weights_only=True)
        except RuntimeError as error:
            if not is_refusal(error):
                raise

    def beside(action):
        other = threading.Thread(target=action)
        other.start()
        other.join()

    class Interrupted(io.BytesIO):
        """A stream at each read of which another thread loads something else."""

        def read(self, *size):
            beside(load_sound)
            return super().read(*size)

        def readinto(self, place):
            beside(load_sound)
            return super().readinto(place)

    load_sound()
    try:
        torch.load(io.BytesIO(broken), weights_only=True)
        return 125, "the workaround path fails too: loaded alone, the index beyond the shape is accepted"
    except RuntimeError as error:
        if not is_refusal(error):
            raise
    try:
        got = torch.load(Interrupted(broken), weights_only=True)[0]._indices().tolist()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "the index beyond the shape is refused beside another load as well"
    return 1, "beside another load the index beyond the shape is accepted: %s of 2 elements" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
