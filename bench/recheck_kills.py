"""Re-checks that are killed at random moments: `python bench/recheck_kills.py [KILLS]`, written to bench/recheck_kills.json.

What is compared with an undisturbed run is said in tests/recheck_kills.py.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from recheck_kills import Attack

OUT = Path(__file__).with_suffix(".json")
KILLS = 30


def main(kills: int = KILLS) -> int:
    """Kill until there were so many; 1 where something was lost, differs, or was announced twice."""
    began, load = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        attack, seed = Attack(Path(folder)), 0
        while attack.result.kills < kills:
            seed += 1
            attack.run(seed)
            print(seed, asdict(attack.result), flush=True)
    result = asdict(attack.result)
    result |= {
        "date": datetime.now(UTC).date().isoformat(),
        "histories": seed,
        "seconds": round(time.monotonic() - began),
    }
    result |= {"undisturbed_seconds": [round(length, 1) for length in attack.lengths]}
    result |= {"load": [round(load, 1), round(os.getloadavg()[0], 1)]}
    OUT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))
    return 1 if result["unequal"] or result["lost"] or result["twice"] else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
