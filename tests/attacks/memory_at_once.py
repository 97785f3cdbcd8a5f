"""Take 64 GiB at once.

Ends: exited 1.
"""

data = bytearray(64 << 30)
