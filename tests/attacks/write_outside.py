"""Write into every folder that is there.

Ends: exited 0.
"""

import os
import sys
from pathlib import Path

OWN = tuple(map(os.path.realpath, ("/tmp", "/dev/shm", Path.home(), "/proc", "/dev/pts")))
count = 0
for top in ("/", "/usr", "/etc", "/embers", "/sys", "/dev", sys.prefix, sys.base_prefix):
    for folder, folders, _ in os.walk(top):
        folders[:] = [name for name in folders if str(Path(folder, name)) not in OWN][:40]
        count += 1
        if count > 4000:
            break
        try:
            Path(folder, ".written").touch()
        except OSError:
            continue
        sys.exit(f"wrote into {folder}")
