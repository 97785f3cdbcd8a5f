"""Open files without an end.

Ends: exited 0.
"""

import os
import sys

count = 0
while count < 100000:
    try:
        os.dup(0)
    except OSError:
        break
    count += 1
if count > 1024:
    sys.exit(f"{count} files")
