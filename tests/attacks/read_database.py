"""Read or change the database of embers.

Ends: exited 0.
"""

import json
import sys
from pathlib import Path

bait = json.loads(sys.argv[1])
for mode in ("rb", "r+b", "wb"):
    try:
        Path(bait["database"]).open(mode).close()
    except OSError:
        continue
    sys.exit(f"the database opened with {mode}")
