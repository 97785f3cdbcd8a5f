"""Send to the outside by TCP and UDP, IPv4 and IPv6 (addresses for documentation, RFC 5737 and 3849).

Ends: exited 0.
"""

import json
import socket
import sys

bait = json.loads(sys.argv[1])

for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(family, kind) as one:
            one.settimeout(2)
            try:
                one.connect((address, 53))
            except OSError:
                continue
            sys.exit(f"a way to {address}")
