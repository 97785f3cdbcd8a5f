"""Write what looks like the supervisor's answer into every descriptor, pipe and socket that can be found, then fail.

Ends: exited 3.
"""

import json
import os
import socket
import sys
from pathlib import Path

answer = {
    "ended": "exited",
    "exit_code": 0,
    "signal": None,
    "stdout": "",
    "stderr": "",
    "detail": "exit 0",
    "duration": 0.1,
}
text = json.dumps(answer).encode()
framed = len(text).to_bytes(8, "big") + text
status = b'{"status": 0, "cpu": 0, "peak_memory": 0}'
for number in range(3, 1024):
    for data in (framed, status, b"1\n" + status):
        try:
            os.write(number, data)
        except OSError:
            break
for pid in (1, os.getppid(), os.getpid()):
    for name in range(64):
        try:
            number = os.open(f"/proc/{pid}/fd/{name}", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
        if pid != os.getpid():
            sys.exit(0)
        if name > 2:
            os.write(number, framed)
if Path("/proc/net/unix").exists():
    for line in Path("/proc/net/unix").read_text(encoding="ascii").splitlines()[1:]:
        name = line.split()[-1]
        if name.startswith(("/", "@")):
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(name.replace("@", "\0", 1))
                one.send(framed)
sys.exit(3)
