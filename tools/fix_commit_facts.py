"""Write what is known of commits that fix issues beside their tests: `python tools/fix_commit_facts.py CLONE`.

For each commit of a clone that names a fixed issue, data/fix_commit_facts.csv gets the number of files and lines that
it changes outside of tests, and the component that these files are of (data path, computation, both, or neither;
data/components.toml). The study compares with them the fixes whose tests ran with the others. A bug type is not among
them: the shipped classifier, which was trained on reports, abstains on nearly half of the messages of fixes and calls
nearly all others no bug (2026-11-24: 1,772 and 1,849 of 3,907), so its classes compare nothing here.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import defaultdict
from pathlib import Path

from torch_embers.cases import fix_test_rules
from torch_embers.fixtests.fix_commits import fix_commits, revision_of
from torch_embers.link.components import Components
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.settings import DEFAULT_REPO

FILE = Path(__file__).resolve().parent.parent / "data" / "fix_commit_facts.csv"
TESTS = re.compile(r"^(?:test|functorch/test|caffe2/python/operator_test)/|(?:^|/)tests?/|_test\.")
_LOG = ("log", "--stdin", "--no-walk=unsorted", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")


def sizes(clone: Clone, shas: list[str]) -> dict[str, list[tuple[str, int]]]:
    """Path and changed lines of each file of each commit; a binary file has none."""
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    sha = ""
    for line in clone.run(*_LOG, "--numstat", "--format=%x01%H", lines=shas).decode("utf-8", "replace").split("\n"):
        if line.startswith("\x01"):
            sha = line[1:]
        elif line.count("\t") == 2:
            added, deleted, path = line.split("\t")
            found[sha].append((path, sum(int(number) for number in (added, deleted) if number != "-")))
    return found


def main() -> None:
    """Read the clone, write the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("clone", type=Path)
    arguments.add_argument("--revision", default="HEAD", help="end of the history")
    arguments.add_argument("--since", default="", help="day from which on commits are read")
    given = arguments.parse_args()
    clone = Clone(given.clone)
    commits = fix_commits(clone, DEFAULT_REPO, revision_of(clone, given.revision), fix_test_rules.load().paths.tests)
    shas = [commit.sha for commit in reversed(commits) if commit.committed_at >= given.since]
    files, components = sizes(clone, shas), Components.load()
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["commit_sha", "files", "lines", "component"])
        for sha in shas:
            own = [(path, lines) for path, lines in files[sha] if not TESTS.search(path)]
            parts = {found.component for path, _ in own if (found := components.by_path(path))}
            named = "both" if len(parts) > 1 else next(iter(parts), "neither")
            writer.writerow([sha, len(own), sum(lines for _, lines in own), named])


if __name__ == "__main__":
    main()
