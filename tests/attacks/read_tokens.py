"""Look for tokens in every environment that can be read.

Ends: exited 0.
"""

import json
import os
import sys
from pathlib import Path

bait = json.loads(sys.argv[1])
texts = [str(dict(os.environ))]
for path in Path("/proc").glob("[0-9]*/environ"):
    try:
        texts.append(path.read_bytes().decode(errors="replace"))
    except OSError:
        continue
if any(bait["value"] in text for text in texts):
    sys.exit("the token was found")
if any("TOKEN" in name or "SECRET" in name for name in os.environ):
    sys.exit("a variable with a telling name")
