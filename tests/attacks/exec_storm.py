"""Start oneself again and again.

Ends: timeout within 1 s.
"""

import os
import sys

os.execv(sys.executable, [sys.executable, *sys.argv])
