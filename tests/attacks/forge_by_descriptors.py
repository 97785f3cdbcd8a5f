"""Write a good result into everything that might lead out.

Ends: exited 7.
"""

import json
import os

result = json.dumps(
    {"ended": "exited", "exit_code": 0, "signal": None, "detail": "forged", "stdout": "", "stderr": ""}
).encode()
for number in range(3, 1024):
    try:
        os.write(number, len(result).to_bytes(8, "big") + result)
    except OSError:
        continue
os._exit(7)
