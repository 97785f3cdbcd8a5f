"""Leave times on devices of the host, and read back those that another run left.

Ends: exited 0.
"""

import os
import sys
from pathlib import Path

MARK = 1_000_000_007
for path in sorted(Path("/dev").rglob("*")):
    if int(path.lstat().st_mtime) == MARK:
        sys.exit(f"{path} has the time that another run left")
    for times in (None, (MARK, MARK)):
        before = path.lstat()
        if path.is_dir() and os.access(path, os.W_OK):
            continue  # shared memory, the run's own
        try:
            os.utime(path, times, follow_symlinks=False)
        except OSError:
            continue
        if path.lstat().st_mtime_ns != before.st_mtime_ns:
            sys.exit(f"a time of {path}")
