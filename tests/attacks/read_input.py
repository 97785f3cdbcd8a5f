"""Wait for input, or type into the terminal of the user.

Ends: exited 0.
"""

import fcntl
import os
import sys

if sys.stdin.read():
    sys.exit("there was input")
try:
    terminal = os.open("/dev/tty", os.O_RDWR)
except OSError:
    sys.exit(0)
for request in (0x5412, 0x541C):
    try:
        fcntl.ioctl(terminal, request, b"x")
    except OSError:
        continue
    sys.exit("typed into the terminal")
sys.exit("there is a terminal")
