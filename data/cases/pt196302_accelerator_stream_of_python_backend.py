# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196302"]
# relation = "same"
# bug_type = "device_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
# signature = "mismatch"
# oracle = "self"
# ///
"""Registers a backend written in Python that keeps its current stream, sets stream 7 by torch.accelerator and asks for
the current one. It should be 7. Instead it is stream 0, and the functions of the backend are never called."""

import os
import sys
import types


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 0
    return observed


WORDS = ("stream", "Stream")


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and any(word in str(error) for word in WORDS)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    backend = types.ModuleType("torch.drawer")
    backend.is_available = lambda: True
    backend.device_count = lambda: 1
    backend.current_device = lambda: 0
    backend._lazy_init = lambda: None
    backend.kept = [None]
    backend.set_stream = lambda stream: backend.kept.append(stream)
    backend.current_stream = lambda *_: backend.kept[-1]
    _setup_privateuseone_for_python_backend("drawer", backend_module=backend)
    if torch.accelerator.current_device_index() != 0:
        return 125, "the backend has no device 0"
    kind = int(torch._C._autograd.DeviceType.PrivateUse1)
    stream = torch.Stream(stream_id=7, device_index=0, device_type=kind)
    backend.set_stream(stream)
    if backend.current_stream().stream_id != 7:
        return 125, "the workaround path fails too: the module itself keeps another stream"
    backend.kept[1:] = []
    try:
        torch.accelerator.set_stream(stream)
        got = torch.accelerator.current_stream().stream_id
    except (RuntimeError, NotImplementedError) as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "streams of a backend in Python are refused"
    if got == 7:
        return 0, "the stream that was set is the current one"
    return 1, "set stream 7, current stream %d; the backend was called %d times" % (got, len(backend.kept) - 1)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
