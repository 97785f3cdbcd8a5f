"""Reach outside by symbolic links, and lay one where the harness might write.

Ends: exited 0.
"""

import json
import os
import sys
from pathlib import Path

bait = json.loads(sys.argv[1])
for number, target in enumerate(
    [*bait["secrets"], bait["database"], "/etc/shadow", *(f"/proc/1/{link}" for link in ("root/etc/shadow", "cwd"))]
):
    link = Path(f"/tmp/link{number}")
    link.symlink_to(target)
    try:
        link.read_bytes()
    except OSError:
        continue
    sys.exit(f"read {target}")
script = Path(__file__)
script.unlink()
script.symlink_to(bait["database"])
os.chdir("/tmp")
Path("/tmp/left").symlink_to(bait["secrets"][0])
