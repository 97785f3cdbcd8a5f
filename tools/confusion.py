"""Write the confusion matrices of the shipped classifier from an evaluation: part of `make evaluation`.

Usage: python tools/confusion.py [EVALUATION] (bench/evaluation.json)
"""

from __future__ import annotations

import sys
from pathlib import Path

from torch_embers.classify import confusions
from torch_embers.classify.bundle import reseal, shipped_folder
from torch_embers.errors import EmbersError

EVALUATION = Path(__file__).resolve().parent.parent / "bench" / "evaluation.json"


def main(arguments: list[str]) -> int:
    """Write the file; 0 when it is written."""
    try:
        confusions.write(Path(arguments[0]) if arguments else EVALUATION, shipped_folder() / confusions.FILE)
        reseal(shipped_folder())
    except EmbersError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
