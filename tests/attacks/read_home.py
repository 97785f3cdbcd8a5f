"""Look for anything of the user: home folders, keys, the secret that was put out.

Ends: exited 0.
"""

import json
import sys
from pathlib import Path

bait = json.loads(sys.argv[1])
for place in [*bait["secrets"], "/etc/shadow", "/etc/ssh", "/run", "/var", "/mnt", "/boot"]:
    if Path(place).exists():
        sys.exit(f"{place} is there")
found = list(Path.home().rglob("*"))
if found:
    sys.exit(f"the home holds {found}")
