"""Print handlers of cases that would take just any exception for a refusal: part of `make lint`.

Usage: python tools/refusals.py; exit code 1 where a handler neither looks at the message nor stands in
data/refusals.toml. No case is run.
"""

from __future__ import annotations

import sys

from torch_embers.repro import case
from torch_embers.repro.checks import refusals


def main() -> int:
    """Print them; 1 where there are any."""
    found = refusals.check(case.shipped())
    for handler in found:
        sys.stdout.write(f"{handler}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
