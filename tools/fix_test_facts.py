"""Write the facts about fix tests that come with embers: `python tools/fix_test_facts.py --database FILE`.

The database is one that `embers mine --fix-tests` and `embers research fix-tests` filled. Written are
data/fix_test_facts.csv, a row per test, file or commit (no code, no message of a failure), and
analysis/results/fix_tests.json: on which builds how many runs were made, when, and by which version of the rules.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from torch_embers.cases import fix_test_rules, shipped_fix_tests
from torch_embers.fixtests.trial import class_tests
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store

ROOT = Path(__file__).resolve().parent.parent
_BUILDS = """
FROM (
    SELECT split_part(b.version, '+', 1) AS version, any_value(b.python) AS python, any_value(b.platform) AS platform,
           count(*) AS runs
    FROM runs r JOIN builds b USING (build)
    WHERE r.batch = 0 AND NOT r.injected AND r.case_hash IN (SELECT case_hash FROM fix_tests) GROUP BY ALL
) ORDER BY string_split(version, '.')::INTEGER[]
"""
_SPAN = """
SELECT (SELECT strftime(min(committed_at), '%Y-%m-%d') FROM fix_tests) AS commits_from,
       (SELECT strftime(max(committed_at), '%Y-%m-%d') FROM fix_tests) AS commits_to,
       strftime(min(ran_at), '%Y-%m-%d') AS run_from, strftime(max(ran_at), '%Y-%m-%d') AS run_to,
       count(DISTINCT date_trunc('minute', ran_at)) AS minutes, count(DISTINCT case_hash) AS tests
FROM runs WHERE batch = 0 AND NOT injected AND case_hash IN (SELECT case_hash FROM fix_tests)
"""


def main() -> None:
    """Class the tests by the rules of today, and write the facts."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--database", type=Path, required=True)
    arguments.add_argument("--since", required=True, help="day from which on tests of commits were run")
    arguments.add_argument("--seed", type=int, help="of the sample that ran; left out where all ran")
    arguments.add_argument("--sample", type=int, help="its size")
    arguments.add_argument("--load", type=float, required=True, help="of the machine while the tests ran")
    given = arguments.parse_args()
    store = Store(given.database)
    with store.writer("fix-tests") as writer:
        class_tests(store, writer, DEFAULT_REPO)
    with store.read() as connection:
        shipped_fix_tests.write(connection, ROOT / "data" / shipped_fix_tests.FILE)

        def ask(query: str) -> list[dict[str, Any]]:
            result = connection.execute(query)
            names = [column[0] for column in result.description or ()]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

        [span], builds = ask(_SPAN), ask(_BUILDS)
    facts = {
        "rules": fix_test_rules.load().version,
        **span,
        "ran_since": given.since,
        "seed": given.seed,
        "sample": given.sample,
        "load": given.load,
        "cores": os.cpu_count(),
        "builds": builds,
    }
    text = json.dumps(facts, indent=1)
    (ROOT / "analysis" / "results" / "fix_tests.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
