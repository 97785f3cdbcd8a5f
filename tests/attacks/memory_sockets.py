"""Take memory of the kernel in the buffers of sockets that nobody reads; at most 700 MB.

Ends: memory within 60 s.
"""

import os
import socket
import sys
import time

for _ in range(4):
    if os.fork() == 0:
        kept = []
        for _ in range(450):
            pair = socket.socketpair()
            for one in pair:
                one.settimeout(0)
                try:
                    while True:
                        one.send(bytes(65536))
                except OSError:
                    continue
            kept.append(pair)
        time.sleep(50)
        os._exit(0)
time.sleep(10)
sys.exit("4 processes with 900 full sockets each")
