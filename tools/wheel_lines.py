"""Count the Python lines of wheels: `python tools/wheel_lines.py DIR_OR_WHEEL ... [--released VERSION=DAY ...]`.

Rows of the same releases in the shipped measurement, analysis/results/wheel_lines.csv, are replaced; all others stay.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from torch_embers import resources
from torch_embers.study import wheel_lines

LINES = resources.CHECKOUT_DIR.joinpath("analysis", *wheel_lines.RESULT)


def _day(text: str) -> tuple[str, date]:
    version, _, day = text.partition("=")
    return version, date.fromisoformat(day)


def main() -> None:
    """Count, and write the shipped measurement anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheels", type=Path, nargs="+", metavar="DIR_OR_WHEEL")
    parser.add_argument("--released", type=_day, nargs="*", default=[], metavar="VERSION=DAY")
    given = parser.parse_args()
    known = wheel_lines.measured() if LINES.exists() else ()
    days = {row.version: row.released for row in known if row.released} | dict(given.released)
    new = [row for place in given.wheels for row in wheel_lines.count(place, days)]
    again = {row.version for row in new}
    kept = [row for row in known if row.version not in again]
    LINES.write_text(wheel_lines.to_csv([*kept, *new]), encoding="utf-8")
    for version in sorted(again):
        lines = sum(row.lines for row in new if row.version == version)
        sys.stdout.write(f"{version}: {lines:,} {wheel_lines.LABEL}\n")


if __name__ == "__main__":
    main()
