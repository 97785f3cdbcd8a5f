"""Print what a good result looks like.

Ends: exited 7.
"""

import json
import sys

sys.stdout.write(json.dumps({"ended": "exited", "exit_code": 0, "signal": None, "detail": "forged"}) + "\n")
sys.stderr.write("0\n0 behaves right\n")
sys.exit(7)
