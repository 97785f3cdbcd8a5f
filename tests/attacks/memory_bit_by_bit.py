"""Take memory bit by bit.

Ends: exited 1.
"""

parts = []
while True:
    parts.append(bytearray(b"x") * (4 << 20))
