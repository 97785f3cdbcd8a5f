"""Take all processor time with as many processes as there may be, so that the supervisor comes too late.

Ends: timeout within 3 s.
"""

import os

for _ in range(200):
    if os.fork() == 0:
        while True:
            pass
while True:
    pass
