"""Fork without an end.

Ends: processes within 20 s.
"""

import os

while True:
    try:
        os.fork()
    except OSError:
        continue
