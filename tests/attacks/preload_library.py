"""Make the dynamic linker load a library into the programs of others.

Ends: exited 0.
"""

import os
import subprocess
import sys
from pathlib import Path

for place in ("/etc/ld.so.preload", "/etc/ld.so.cache", "/etc/ld.so.conf"):
    try:
        Path(place).open("a").close()
    except OSError:
        continue
    sys.exit(f"{place} can be written")
os.environ["LD_PRELOAD"] = "/tmp/evil.so"
Path("/tmp/evil.so").write_bytes(b"\x7fELF evil")
subprocess.run([sys.executable, "-c", "pass"], stderr=subprocess.DEVNULL, check=False)
