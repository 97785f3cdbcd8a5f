"""Fill the disk.

Ends: disk within 30 s.
"""

from pathlib import Path

with Path("/tmp/big").open("wb") as file:
    while True:
        file.write(b"x" * (1 << 20))
        if file.tell() > 200 << 20:
            break
with Path("/tmp/more").open("wb") as file:
    while True:
        file.write(b"x" * (1 << 20))
