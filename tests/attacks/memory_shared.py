"""Take memory that is shared and so no data of the process.

Ends: memory within 30 s.
"""

import mmap

areas = []
while True:
    area = mmap.mmap(-1, 16 << 20)
    for place in range(0, len(area), 4096):
        area[place] = 1
    areas.append(area)
