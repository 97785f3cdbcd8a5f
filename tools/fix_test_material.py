"""Write what second readers of fix tests need: `python tools/fix_test_material.py CLONE OUT --database FILE --seed 14`.

OUT gets `tests.jsonl`, a line per test (40 validated ones drawn at random, and all that fail after their fix), and
`scripts/`. A reader adds a line per test to data/fix_test_reviews.jsonl, as docs/fix-tests.md says. The texts come from
the clone and the database; they are for reading here, and not to be shipped.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from torch_embers.mine.git.fix_commits import revision_of
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.run.fix_tests.material import material_of
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store


def main(arguments: list[str] | None = None) -> None:
    """Read the database and the clone, write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--database", type=Path, required=True)
    parser.add_argument("--revision", default="HEAD", help="end of the history in which later commits are looked for")
    parser.add_argument("--sample", type=int, default=40, help="how many validated tests")
    parser.add_argument("--seed", type=int, required=True, help="of the draw")
    given = parser.parse_args(arguments)
    clone = Clone(given.clone)
    tip = revision_of(clone, given.revision)
    found = material_of(Store(given.database), clone, DEFAULT_REPO, tip, given.sample, given.seed)
    (given.out / "scripts").mkdir(parents=True, exist_ok=True)
    for test in found:
        (given.out / test.row["script"]).write_text(test.code, encoding="utf-8")
    lines = "".join(json.dumps(test.row, ensure_ascii=False) + "\n" for test in found)
    (given.out / "tests.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
