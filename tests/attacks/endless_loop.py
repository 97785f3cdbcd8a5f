"""Loop without an end and ignore whatever can be ignored.

Ends: timeout within 1 s.
"""

import signal

for number in range(1, signal.NSIG):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue
while True:
    pass
