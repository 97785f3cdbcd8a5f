"""Print which cases inject their fault, or take refusals, in a way that says nothing about them: part of `make lint`.

Usage: python tools/check_cases.py [FILE ...]; all of data/cases where no file is named. Exit code 1 where something is
wrong, where `known_bad` names no known release, or where data/case_rules.toml allows what no case has. No case is run.
docs/cases.md has the rules in words.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.cases import case, case_rules, shipped_verdicts
from torch_embers.study import fact_tables

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong; 1 where anything is."""
    files = [Path(name) for name in (sys.argv[1:] if arguments is None else arguments)]
    bank, wrong = [], []
    for path in files or sorted(resources.data_file(case.UNCOVERED).parent.glob("*.py")):
        try:
            bank.append(case.load(path))
        except case.CaseError as error:
            wrong.append(str(error).replace(f"{path.stem}:", f"{path.name}:", 1))
    lines = shipped_verdicts.parse(resources.analysis_text(*shipped_verdicts.FILE), shipped_verdicts.FILE[-1])
    released = {*fact_tables.release_days(), *(line["build"] for line in lines)}
    for one in bank:
        unknown = [f"known_bad: {name} is no known release" for name in one.known_bad if name not in released]
        wrong += [f"{one.name}.py: {text}" for text in (*case_rules.breaches(one.code, one.name), *unknown)]
    wrong += [] if files else case_rules.needless(bank)
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    sys.stdout.write(f"{len(wrong)} mistakes in {len(files) or len(bank)} cases\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
