"""Take memory of the kernel in epoll: each of many files watches all others; at most some 300 MB.

Ends: memory within 60 s.
"""

import os
import select
import sys
import time

for _ in range(8):
    if os.fork() == 0:
        watched = [os.eventfd(0) for _ in range(500)] if hasattr(os, "eventfd") else [os.pipe()[0] for _ in range(300)]
        watchers = [select.epoll() for _ in range(400)]
        for watcher in watchers:
            for number in watched:
                watcher.register(number, select.EPOLLIN)
        time.sleep(50)
        os._exit(0)
time.sleep(20)
sys.exit("200,000 watches in each of 8 processes")
