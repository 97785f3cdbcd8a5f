"""Open sockets of protocols that no script needs; asking for one may load a module of the host's kernel.

Ends: exited 0.
"""

import socket
import sys

internet = [(kind, number) for kind in (1, 2, 3, 5, 6) for number in (1, 2, 33, 58, 132, 136, 255, 256, 262)]
wanted = [(family, kind, number) for family in (2, 10) for kind, number in internet]
wanted += [(16, kind, number) for kind in (2, 3) for number in range(1, 32)]
for one in wanted:
    try:
        socket.socket(*one).close()
    except OSError:
        continue
    sys.exit(f"a socket of family, kind and protocol {one}")
for family in (2, 10):  # what scripts use goes on
    for kind, number in ((1, 0), (1, 6), (2, 17)):
        socket.socket(family, kind, number).close()
socket.socket(16, 3, 0).close()
