"""Print errors without an end, one long line.

Ends: output within 30 s.
"""

import sys

while True:
    sys.stderr.write("x" * 65536)
