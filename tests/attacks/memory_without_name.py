"""Take memory in files that have no name.

Ends: exited 0.
"""

import os
import sys

try:
    number = os.memfd_create("hidden")
except (OSError, AttributeError):
    sys.exit(0)
sys.exit(f"descriptor {number}")
