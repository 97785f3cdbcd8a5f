"""Which later commits changed the tests that fail after their fix: `python bench/fix_tests_later.py CLONE --revision BRANCH`.

Of each test that data/fix_test_facts.csv calls `fails_after`, bench/fix_tests_later.json gets the commits of the history behind its own
that changed its text or took it away: hash, day, and changed, gone or back, as far as the history of the clone goes.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

from torch_embers import resources
from torch_embers.mine.git.fix_commits import revision_of
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.repro import shipped_fix_tests
from torch_embers.run.fix_tests.material import later_changes


def main() -> None:
    """Read the history, write the commits."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("clone", type=Path)
    arguments.add_argument("--revision", default="HEAD", help="end of the history")
    given = arguments.parse_args()
    clone = Clone(given.clone)
    with resources.data_file(shipped_fix_tests.FILE).open(encoding="utf-8", newline="") as file:
        failing = [row for row in csv.DictReader(file) if row["class"] == "fails_after"]
    asked = [
        {"case": row["name"], "path": row["path"], "test": f"{row['owner']}.{row['test']}", "commit": row["commit_sha"]}
        for row in failing
    ]
    found = later_changes(clone, revision_of(clone, given.revision), asked)
    facts = {
        name: [[each["commit"], each["committed"][:10], each["change"]] for each in changes]
        for name, changes in sorted(found.items())
    }
    out = Path(__file__).parent / "fix_tests_later.json"
    out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
