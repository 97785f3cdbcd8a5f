"""Close all descriptors, so that nothing can be said.

Ends: exited 5.
"""

import os

os.closerange(0, 1024)
os._exit(5)
