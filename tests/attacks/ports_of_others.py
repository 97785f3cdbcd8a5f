"""Leave a port behind that waits, and look for one of another run (the test runs it several times).

Ends: exited 0.
"""

import socket
import sys
from pathlib import Path

with Path("/proc/net/tcp").open() as file:
    lines = file.read().splitlines()[1:]
if lines:
    sys.exit(f"another run left {lines}")
server = socket.socket()
try:
    server.bind(("127.0.0.1", 23456))
except OSError as error:
    sys.exit(f"the port of another run: {error}")
server.listen()
client = socket.create_connection(("127.0.0.1", 23456))
accepted, _ = server.accept()
accepted.close()
client.close()
server.close()
with Path("/proc/net/tcp").open() as file:
    waiting = len(file.read().splitlines()) - 1
if not waiting:
    sys.exit("no port waits, the attack is not one")
