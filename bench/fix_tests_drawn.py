"""Draw validated fix tests for an independent reader: `python bench/fix_tests_drawn.py --seed 4014 --sample 40 --annotator NAME`.

The population are all tests that data/fix_test_facts.csv calls `validated`. Their names are put in the order of a digest of the seed and the
name, and the first ones are taken. Written is bench/fix_tests_drawn.json, with `--unread`, which leaves out the tests that the file of reviews
has an answer about, bench/fix_tests_unread.json; a file that is there is not written again, for answers belong to its draw. The answers are lines of data/fix_test_reviews.jsonl; what came of a second look at them (`again`) and the causes of wrong ones
(`causes`) are added to the file by hand.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.repro import shipped_fix_tests
from torch_embers.repro.fix_tests import reviews
from torch_embers.repro.fix_tests import rules as fix_test_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).parent


def order(names: Iterable[str], seed: int) -> list[str]:
    """The names in the order of the draw."""
    return sorted(names, key=lambda name: blake2b(f"{seed}:{name}".encode()).digest())


def main() -> None:
    """Draw, and write the names."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--sample", type=int, default=40)
    arguments.add_argument("--annotator", required=True, help="who will read")
    arguments.add_argument("--unread", action="store_true", help="only tests that nobody read")
    given = arguments.parse_args()
    read = {review.case for review in reviews.load() if review.failure == "before"} if given.unread else set()
    validated = {test["name"] for test in shipped_fix_tests.facts() if test["class"] == "validated"}
    names = sorted(validated - read)
    population = {shipped_fix_tests.FILE: names}
    asked = ["git", "-C", str(HERE), "rev-parse", "HEAD"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    facts = {
        "facts_of": commit,
        "seed": given.seed,
        "annotator": given.annotator,
        "rules": {shipped_fix_tests.FILE: fix_test_rules.load().version},
        "drawn": order(names, given.seed)[: given.sample],
        "causes": {},
        "again": [],
        "population": population,
    }
    out_file = HERE / ("fix_tests_unread.json" if given.unread else "fix_tests_drawn.json")
    with out_file.open("x", encoding="utf-8") as out:
        out.write(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
