"""``python tools/encoder --help``: pairs of texts, training, and the folder in models/."""

from __future__ import annotations

import sys
from pathlib import Path


def start() -> int:
    """Run the command; returns its exit code."""
    # a folder that is run is no package: its own place on the path would let its modules shadow others
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from encoder.command import main

    return main()


if __name__ == "__main__":
    sys.exit(start())
