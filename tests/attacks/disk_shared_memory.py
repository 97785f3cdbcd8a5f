"""Fill /dev/shm, which has no bound by default.

Ends: disk within 30 s.
"""

from pathlib import Path

for name in ("one", "two", "three"):
    with Path("/dev/shm", name).open("wb") as file:
        for _ in range(200):
            file.write(b"x" * (1 << 20))
