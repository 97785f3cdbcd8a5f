# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = []
# relation = "sibling"
# bug_type = "logical"
# consequence = "other"
# requires = ["cpu", "torch>=2.1"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Saves an exported program and puts a pickle that calls a harmless function in the place of its weights and inputs.
Loading the archive should refuse it, since it is no tensor. Instead the function is called: the archive is unpickled
without limits. An archive that was not changed gives the program back."""

import io
import logging
import os
import sys
import zipfile

CALLED = []


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed += 1
    return observed


def harmless():
    """Only notes that it was called."""
    CALLED.append(True)
    return {}


class Caller(object):
    """Pickled as a call of ``harmless``."""

    def __reduce__(self):
        return harmless, ()


def is_refusal(error):
    """True where error says that the content of the archive is not trusted."""
    return any(
        words in str(error) for words in ("weights_only", "WeightsUnpickler", "Unsupported global", "not allowed")
    )


def with_calls(archive, pickled):
    """The archive with the pickle in place of every pickled part of it, and how many there were."""
    made, count = io.BytesIO(), 0
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            content = old.read(entry)
            if content[:4] == b"PK\x03\x04":
                content, count = pickled, count + 1
            new.writestr(entry.filename, content)
    made.seek(0)
    return made, count


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch.export

    class Twice(torch.nn.Module):
        def __init__(self):
            super(Twice, self).__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return 2 * x * self.weight

    archive, pickled = io.BytesIO(), io.BytesIO()
    torch.export.save(torch.export.export(Twice(), (torch.ones(2),)), archive)
    torch.save(Caller(), pickled)
    archive.seek(0)
    loaded = torch.export.load(archive)
    program = loaded.module() if hasattr(loaded, "module") else loaded
    if program(torch.ones(2)).tolist() != [2.0, 2.0]:
        return 125, "the workaround path fails too: an archive that was not changed gives another program"
    archive.seek(0)
    changed, count = with_calls(archive, pickled.getvalue())
    if not count:
        return 125, "the archive has no pickled part"
    del CALLED[:]
    logging.raiseExceptions = False  # 2.10.0 to 2.14.1 log the unlimited way with a message that cannot be formatted
    try:
        torch.export.load(changed)
    except Exception as error:
        if not CALLED and not is_refusal(error):
            raise
    called = len(CALLED)
    called = spoil(called)
    if called:
        return 1, "loading called the function"
    return 0, "loading called nothing"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
