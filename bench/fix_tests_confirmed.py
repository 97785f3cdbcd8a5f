"""Draw validated fix tests that readers had judged, for another reader: `python bench/fix_tests_confirmed.py --seed 2411`.

Of all tests that data/fix_test_facts.csv calls `validated` two groups are drawn from: those that every reader before found to show the bug of
their issue, and, so that the new reader cannot take one answer for granted, those that every reader found not to. The names are drawn from
each group in alphabetical order by `random.Random(seed)`. Written is bench/fix_tests_confirmed.json, with the groups as they were; a file that is
there is not written again, for answers belong to its draw. The answers are lines of data/fix_test_reviews.jsonl.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from torch_embers.repro import shipped_fix_tests
from torch_embers.repro.fix_tests import reviews

HERE = Path(__file__).parent
ANNOTATOR = "embers-reader-13"


def drawn(right: list[str], wrong: list[str], seed: int, sample: int, others: int) -> tuple[list[str], list[str]]:
    """So many names of each group."""
    generator = random.Random(seed)
    return generator.sample(sorted(right), sample), generator.sample(sorted(wrong), others)


def main() -> None:
    """Draw, and write the names."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--sample", type=int, default=40, help="of those found to show their bug")
    arguments.add_argument("--others", type=int, default=12, help="of those found not to")
    given = arguments.parse_args()
    said: dict[str, set[str]] = {}
    for review in reviews.load():
        if review.failure == "before" and review.annotator != ANNOTATOR:
            said.setdefault(review.case, set()).add(review.verdict)
    names = sorted(test["name"] for test in shipped_fix_tests.facts() if test["class"] == "validated")
    right, wrong = ([name for name in names if said.get(name) == {verdict}] for verdict in ("right", "wrong"))
    found = drawn(right, wrong, given.seed, given.sample, given.others)
    facts = {
        "seed": given.seed,
        "annotator": ANNOTATOR,
        "drawn_right": found[0],
        "drawn_wrong": found[1],
        "right": right,
        "wrong": wrong,
    }
    with (HERE / "fix_tests_confirmed.json").open("x", encoding="utf-8") as out:
        out.write(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
