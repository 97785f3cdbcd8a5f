"""Ask for a name.

Ends: exited 0.
"""

import json
import socket
import sys

bait = json.loads(sys.argv[1])

try:
    answer = socket.getaddrinfo("example.org", 80)
except OSError:
    sys.exit(0)
sys.exit(f"a resolver answered {answer}")
