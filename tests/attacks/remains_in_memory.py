"""Look for the text and the output of another run in the whole memory of this process (the test runs it several times).

Ends: exited 0.
"""

import re
import sys
from pathlib import Path

MARK = "".join(map(chr, (82, 69, 77, 65, 73, 78, 83, 45, 79, 70, 45, 65, 45, 82, 85, 78)))  # kept out of this text
with Path("/proc/self/maps").open() as file:
    maps = [line.split() for line in file]
wanted = re.compile(MARK.encode()[:-1] + b"[N]" + b"-[0-9]{6}")
with Path("/proc/self/mem").open("rb", buffering=0) as memory:
    for span, rights, *rest in maps:
        if rights[0] != "r" or (rest[3:] and rest[3].startswith("[v")):
            continue
        start, end = (int(part, 16) for part in span.split("-"))
        for place in range(start, end, 16 << 20):
            memory.seek(place)
            try:
                found = wanted.search(memory.read(min(16 << 20, end - place)))
            except OSError:
                continue
            if found:
                sys.exit(f"{found[0].decode()} in {rest[3:] or span}")
sys.stdout.write("nothing\n")
