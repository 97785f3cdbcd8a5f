"""Find where the branches of releases left the main line: `python bench/fix_tests_cuts.py CLONE BUILD... --revision BRANCH`.

A wheel holds the Python files of its release as the repository has them. So of each commit of the main line that changes such files, the
wheel says whether the release has it (each of these files stands as after the commit, or as after a later one), or lacks it. The branch was cut
where nearly all commits before are there and nearly all after it are lacking. A commit after the cut that is there was picked for the release;
one before it that is lacking was taken back on the branch, which is rare: it weighs as much as three that were picked. Written is
bench/fix_tests_cuts.json: for each release the commits to either side of the cut, the counts that speak for it, the range of cuts that weights
from 1 to 6 would give, and which of the commits that fix issues were picked. data/fix_tests.toml takes times and picked commits from there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha1
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers.mine.git.fix_commits import fix_commits, revision_of
from torch_embers.mine.git.git_records import moment
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.repro.fix_tests import rules as fix_test_rules
from torch_embers.settings import DEFAULT_REPO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE = Path(__file__).parent / "fix_tests_cuts.json"
SINCE = "2019-06-01"
WEIGHT = 3
"""Of a commit before the cut that the release lacks, beside one after it that it has."""
WEIGHTS = range(1, 7)
_LOG = ("log", "--stdin", "--first-parent", "--diff-merges=first-parent", "--reverse", "--raw", "--no-abbrev")
_ASK = (
    "import pathlib, torch; "
    "print(torch.__version__, torch.version.git_version, pathlib.Path(torch.__file__).parent.parent)"
)


@dataclass(frozen=True)
class History:
    """Changes of files in the order of the main line.

    Attributes:
        commits: hash and time (ISO text) of each commit that changes one of the files, oldest first.
        contents: for each file the places in ``commits`` at which it changes, with its contents (hash) from then on; -1 is before all.
    """

    commits: Sequence[tuple[str, str]]
    contents: Mapping[str, Sequence[tuple[int, str]]]


def history(clone: Clone, revision: str) -> History:
    """The changes of torch/*.py."""
    log = clone.run(
        *_LOG, "--no-renames", "--format=%x01%H %ct", f"--since={SINCE}", "--", "torch/*.py", lines=[revision]
    )
    commits: list[tuple[str, str]] = []
    contents: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for record in log.decode("utf-8", "replace").split("\x01")[1:]:
        head, *lines = record.split("\n")
        sha, seconds = head.split()
        for line in lines:
            if line.startswith(":"):
                entry, path = line.split("\t", 1)
                _, _, old, new, _ = entry.split()
                contents[path] = contents[path] or [(-1, old)]
                contents[path].append((len(commits), new))
        commits.append((sha, moment(seconds.encode()) or ""))
    return History(commits, contents)


def files_of(site: Path, paths: Sequence[str]) -> dict[str, str]:
    """The files that an installation has, with git's hash of their contents."""
    found = {}
    for path in paths:
        if (site / path).is_file():
            content = (site / path).read_bytes()
            found[path] = sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return found


def there(found: History, files: Mapping[str, str]) -> list[tuple[int, bool]]:
    """The places of commits of which a release says whether it has them, in order, with the answer.

    A file whose contents are none of the main line says nothing, nor do its changes between two times at which it had them; nor does a
    commit of which files say both.
    """
    said: dict[int, set[bool]] = defaultdict(set)
    for path, has in files.items():
        changes = found.contents[path]
        if alike := [number for number, (_, contents) in enumerate(changes) if contents == has]:
            for number, (place, _) in enumerate(changes[1:], 1):
                if not alike[0] < number <= alike[-1]:
                    said[place].add(number <= alike[0])
    return [(place, answers == {True}) for place, answers in sorted(said.items()) if len(answers) == 1]


def cut(answers: Sequence[tuple[int, bool]], weight: int) -> int:
    """How many of the answers lie before the cut; of several cuts that are as good the earliest."""
    wrong = best = sum(has for _, has in answers)
    before = 0
    for number, (_, has) in enumerate(answers, 1):
        wrong += -1 if has else weight
        if wrong < best:
            best, before = wrong, number
    return before


def facts_of(found: History, answers: Sequence[tuple[int, bool]], fixes: frozenset[str]) -> dict[str, Any]:
    """The cut of one release, and what speaks for it."""
    place = cut(answers, WEIGHT)
    last, lacks = (found.commits[at] for at, _ in answers[place - 1 : place + 1])
    others = sorted(found.commits[answers[cut(answers, weight) - 1][0]][1] for weight in WEIGHTS)
    before, after = [has for _, has in answers[:place]], answers[place:]
    return {
        "last": last[0],
        "last_at": last[1],
        "first_lacking": lacks[0],
        "first_lacking_at": lacks[1],
        "last_at_by_weights": [others[0], others[-1]],
        "before_there": sum(before),
        "before_lacking": len(before) - sum(before),
        "after_there": sum(has for _, has in after),
        "after_lacking": sum(not has for _, has in after),
        "picked": [found.commits[at][0] for at, has in after if has and found.commits[at][0] in fixes],
    }


def main() -> None:
    """Read the history, compare the builds, write the file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("clone", type=Path)
    arguments.add_argument("builds", type=Path, nargs="+", help="Python of each build, one of each release")
    arguments.add_argument("--revision", default="HEAD", help="end of the main line")
    given = arguments.parse_args()
    clone = Clone(given.clone)
    tip = revision_of(clone, given.revision)
    found = history(clone, tip)
    named = fix_commits(clone, DEFAULT_REPO, tip, fix_test_rules.load().paths.tests)
    fixes = frozenset(commit.sha for commit in named if any(file.blob for file in commit.files or ()))
    facts: dict[str, Any] = {}
    for python in given.builds:
        told = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=True).stdout
        version, commit, site = told.split()
        public = version.partition("+")[0]
        answers = there(found, files_of(Path(site), list(found.contents)))
        line = f"{public.rpartition('.')[0]}.0"
        facts[line] = {"wheel": public, "wheel_commit": commit} | facts_of(found, answers, fixes)
    out = {
        "commits": len(found.commits),
        "commits_out_of_order": sum(later[1] < earlier[1] for earlier, later in pairwise(found.commits)),
        "releases": dict(sorted(facts.items(), key=_place)),
    }
    FILE.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


def _place(entry: tuple[str, Any]) -> tuple[int, ...]:
    return tuple(map(int, entry[0].split(".")))


if __name__ == "__main__":
    main()
