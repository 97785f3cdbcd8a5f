"""Write what a sample of tests of older commits says: `python bench/fix_tests_older.py --database FILE --until DAY --seed N`.

The database is one in which `embers fix-tests --until DAY --sample N --seed N` ran. The sample is counted on its own and is not among the
facts that come with embers, in which all tests from a day on ran.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from torch_embers.repro.fix_tests import rules as fix_test_rules
from torch_embers.store.store import Store

FILE = Path(__file__).parent / "fix_tests_older.json"
_POPULATION = "SELECT count(*) FROM fix_tests WHERE status = 'script' AND committed_at < $until::TIMESTAMP"
_TESTS = """
SELECT t.name, strftime(t.committed_at, '%Y-%m-%d') AS day, t.first_release, k.class, k.reason, k.failed, k.passed, k.unusable
FROM fix_tests t JOIN fix_test_classes k USING (name)
WHERE t.status = 'script' AND t.committed_at < $until::TIMESTAMP AND k.provenance = 'own' ORDER BY t.name
"""


def main() -> None:
    """Count the sample."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--database", type=Path, required=True)
    arguments.add_argument("--until", required=True)
    arguments.add_argument("--seed", type=int, required=True)
    given = arguments.parse_args()
    with Store(given.database).read() as connection:
        [(population,)] = connection.execute(_POPULATION, {"until": given.until}).fetchall()
        result = connection.execute(_TESTS, {"until": given.until})
        names = [column[0] for column in result.description or ()]
        tests: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    counts: dict[str, int] = {}
    for test in tests:
        counts[test["class"]] = counts.get(test["class"], 0) + 1
    head = {"rules": fix_test_rules.load().version, "until": given.until, "population": population, "seed": given.seed}
    FILE.write_text(
        json.dumps(head | {"drawn": len(tests), "classes": counts, "tests": tests}, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
