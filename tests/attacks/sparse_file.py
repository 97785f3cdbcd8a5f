"""Make a file that is larger than every disk.

Ends: exited 0.
"""

import os
import sys
from pathlib import Path

with Path("/tmp/sparse").open("wb") as file:
    for action in (lambda: os.truncate(file.fileno(), 1 << 40), lambda: os.posix_fallocate(file.fileno(), 0, 1 << 33)):
        try:
            action()
        except OSError:
            continue
        sys.exit("a file of a tebibyte")
