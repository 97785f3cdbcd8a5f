"""Fork sleeping processes until it is refused.

Ends: processes within 30 s.
"""

import os
import sys
import time

count = 0
while count < 5000:
    try:
        if os.fork() == 0:
            time.sleep(60)
    except OSError:
        break
    count += 1
if count > 256:
    sys.exit(f"{count} processes")
time.sleep(60)
