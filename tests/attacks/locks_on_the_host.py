"""Lock files and folders of the host, so that its programs wait for them, and find locks of another run.

Ends: exited 0.
"""

import fcntl
import json
import os
import sys

for path in json.loads(sys.argv[1])["locked"]:
    if not os.path.lexists(path):  # of an interpreter that this run has not
        continue
    number = os.open(path, os.O_RDONLY)
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
