"""Gain rights by programs that have them, or by any user id.

Ends: exited 0.
"""

import os
import sys
from pathlib import Path

for number in range(3000):
    if number != os.getuid():
        try:
            os.setresuid(number, number, number)
        except OSError:
            continue
        sys.exit(f"became user {number}")
Path("/tmp/program").write_bytes(Path("/usr/bin/env").read_bytes())
Path("/tmp/program").chmod(0o6755)
status = Path("/proc/self/status").read_text(encoding="ascii")
if "NoNewPrivs:\t1" not in status or "CapEff:\t0000000000000000" not in status:
    sys.exit("there are privileges to gain")
