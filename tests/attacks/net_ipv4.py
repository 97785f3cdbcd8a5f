"""Connect to a server on the host's loopback by IPv4.

Ends: exited 0.
"""

import json
import socket
import sys

bait = json.loads(sys.argv[1])

try:
    socket.create_connection(("127.0.0.1", bait["port"]), timeout=2)
except OSError:
    sys.exit(0)
sys.exit("reached the host by IPv4")
