"""Leave a file everywhere for the next run, and look for what the last one left (the test runs it twice).

Ends: exited 0.
"""

import os
import sys
from pathlib import Path

for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", "/home", str(Path.home())):
    mark = Path(place) / "left-by-another-run"
    if mark.exists():
        sys.exit(f"{mark} was left by another run")
    try:
        mark.write_text("left", encoding="ascii")
    except OSError:
        continue
if "left" in os.environ:
    sys.exit("the environment was kept")
