"""Print which share of the statements the tests ran, by package and in total: part of `make coverage`.

Usage: python tools/coverage_report.py [FLOOR]; exit code 1 where the total is below the floor, in percent.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from coverage import Coverage

SOURCE = Path(__file__).resolve().parent.parent / "pipeline" / "torch_embers"


def main(arguments: list[str]) -> int:
    """Print a line per package; 1 where the total is below the floor."""
    measured = Coverage()
    measured.load()
    statements: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    for name in measured.get_data().measured_files():
        _, all_lines, _, missed, _ = measured.analysis2(name)
        parts = Path(name).relative_to(SOURCE).parts
        for package in (parts[0] if len(parts) > 1 else "(top)", "total"):
            statements[package] += len(all_lines)
            missing[package] += len(missed)
    for package, count in sorted(statements.items(), key=lambda entry: (entry[0] == "total", entry[0])):
        sys.stdout.write(f"{package:<12} {count:>7,} statements {100 * (1 - missing[package] / count):>6.1f} %\n")
    reached = 100 * (1 - missing["total"] / max(1, statements["total"]))
    return int(bool(arguments) and reached < float(arguments[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
