"""Let a connection grow its buffers, asked for or by moving much, then stop reading: one held 21 MB, fifty times what is counted.

Ends: exited 0.
"""

import socket
import sys
import time

BLOCK = bytes(1 << 16)
pair = socket.socketpair()
for one in pair:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    if max(one.getsockopt(socket.SOL_SOCKET, which) for which in (socket.SO_SNDBUF, socket.SO_RCVBUF)) > 1 << 20:
        sys.exit("a pair of sockets gets the buffers that it asks for")
for host in ("127.0.0.1", "::1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.create_server((host, 0), family=family)
    client = socket.create_connection(server.getsockname()[:2])
    peer, _ = server.accept()
    for one in (client, peer):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        one.settimeout(0)
    moved = held = 0
    end = time.monotonic() + 3
    while moved < 200 << 20 and time.monotonic() < end:
        try:
            moved += client.send(BLOCK)
            while len(peer.recv(1 << 20)) == 1 << 20:
                pass
        except BlockingIOError:
            continue
    for _ in range(200):
        try:
            while True:
                held += client.send(BLOCK)
        except BlockingIOError:
            time.sleep(0.002)
    if held > 1 << 20:
        sys.exit(f"{held >> 10} KiB in one connection")
