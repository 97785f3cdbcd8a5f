"""Read about processes that are not ours.

Ends: exited 0.
"""

import os
import sys
from pathlib import Path

seen = sorted(int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
if set(seen) - {1, os.getpid()}:
    sys.exit(f"processes {seen}")
for name in ("mem", "environ", "maps", "stack", "io"):
    try:
        data = Path(f"/proc/1/{name}").read_bytes()
    except OSError:
        continue
    if data:
        sys.exit(f"{name} of the supervisor")
