"""Which later commits changed the tests that fail after their fix: `python bench/fix_tests_later.py CLONE --revision BRANCH`.

Every bench/fix_tests*.json that bench/fix_tests.py wrote gets, for each test of the class `fails_after`, the commits of the history
behind its own that changed its text or took it away (`changed_later`: hash, day, and changed, gone or back), as far as the history of the clone goes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from torch_embers.mine.git.fix_commits import revision_of
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.run.fix_tests.material import later_changes

FACTS = ("fix_tests.json", "fix_tests_earlier.json", "fix_tests_oldest.json")


def main() -> None:
    """Read the history, write the commits into the facts."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("clone", type=Path)
    arguments.add_argument("--revision", default="HEAD", help="end of the history")
    given = arguments.parse_args()
    clone = Clone(given.clone)
    tip = revision_of(clone, given.revision)
    for file in (Path(__file__).parent / name for name in FACTS):
        if not file.exists():
            continue
        facts = json.loads(file.read_text(encoding="utf-8"))
        failing = [test for test in facts["tests"] if test["class"] == "fails_after"]
        asked = [
            {"case": test["name"], "path": test["path"], "test": test["test"], "commit": test["commit_sha"]}
            for test in failing
        ]
        found = later_changes(clone, tip, asked)
        for test in failing:
            changes = found[test["name"]]
            test["changed_later"] = [[each["commit"], each["committed"][:10], each["change"]] for each in changes]
        file.write_text(json.dumps(facts, indent=1, default=str) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
