"""Open sockets that no network namespace covers: vsock to the hypervisor, Bluetooth, packets, kernel crypto.

Ends: exited 0.
"""

import json
import socket
import sys

bait = json.loads(sys.argv[1])

for family in range(64):
    if family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16):
        continue
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
        except OSError:
            continue
        sys.exit(f"a socket of family {family}")
