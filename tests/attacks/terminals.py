"""Make a pseudo-terminal, or find the one of another run.

Ends: exited 0.
"""

import os
import sys
from pathlib import Path

try:
    pair = os.openpty()
except OSError:
    pair = None
if pair:
    sys.exit(f"made {os.ttyname(pair[1])}")
found = list(Path("/dev/pts").iterdir())
if found:
    sys.exit(f"found {found}")
