"""Start threads until it is refused.

Ends: processes within 30 s.
"""

import sys
import threading
import time

count = 0
threading.stack_size(65536)
while count < 5000:
    try:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    except (RuntimeError, MemoryError):
        break
    count += 1
if count > 256:
    sys.exit(f"{count} threads")
time.sleep(60)
