"""Print what a terminal obeys, and text that reads otherwise than it is.

Ends: exited 3.
"""

import sys

sys.stdout.write("\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b31m\rover\b\b\u202edesrever\u200b\n")
sys.stdout.buffer.write(b"\xff\xfe\x00not text\n")
sys.stderr.write("\x1bP1;1|tmux\x1b\\")
sys.exit(3)
