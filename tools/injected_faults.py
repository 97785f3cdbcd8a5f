"""Print which cases inject their fault anywhere but into what the call under test gave: part of `make lint`.

Usage: python tools/injected_faults.py [FILE ...]; all cases of data/cases where no file is named. Exit code 1 where a
case is refused without an exception in data/injected_faults.toml, or an exception has nothing to refuse. The rule is
read from the syntax tree (torch_embers.repro.checks.injected_faults); no case is run. docs/cases.md has it in words.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.repro import case as cases
from torch_embers.repro.checks.fault_words import RULES, exemptions
from torch_embers.repro.checks.injected_faults import Breach, breaches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def refused(bank: Iterable[cases.Case]) -> dict[str, list[Breach]]:
    """What is wrong with the injected fault of each case; cases that are right are left out."""
    return {one.name: found for one in bank if (found := breaches(one.code))}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is refused; 1 where it has no exception, or an exception refuses nothing."""
    parser = argparse.ArgumentParser(prog="injected_faults", description="Faults that bypass the observed value.")
    parser.add_argument("files", nargs="*", type=Path, help="case files; all of data/cases where none is named")
    files = parser.parse_args(arguments).files
    try:
        bank = [cases.load(path) for path in files] or cases.shipped()
    except cases.CaseError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    found = refused(bank)
    reasons = exemptions()
    bare = sorted(found.keys() - reasons.keys())
    stale = sorted(name for name in reasons.keys() - found.keys() if not files)
    for name in bare:
        sys.stdout.writelines(f"{name}.py: {breach}\n" for breach in found[name])
    sys.stdout.writelines(f"{RULES}: the exception for {name} refuses nothing: take it out\n" for name in stale)
    sys.stdout.write(f"{len(bank)} cases, {len(found)} refused, {len(found) - len(bare)} with an exception\n")
    return int(bool(bare or stale))


if __name__ == "__main__":
    sys.exit(main())
