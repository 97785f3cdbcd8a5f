"""Take files of the build and the system into a writable folder by hard links and renames.

Ends: exited 0.
"""

import os
import sys
from pathlib import Path

for number, source in enumerate((os.__file__, os.path.realpath(sys.executable), "/etc/passwd", "/usr/bin/env")):
    for action in (os.link, os.rename):
        try:
            action(source, f"/tmp/taken{number}")
        except OSError:
            continue
        sys.exit(f"took {source}")
    try:
        Path(source).open("r+b").close()
    except OSError:
        continue
    sys.exit(f"opened {source} for writing")
