"""Write what a database says of fix tests as facts: `python bench/fix_tests.py --database FILE --seed 14 --sample 120`.

The database is one that `embers link-repros --fix-tests` and `embers fix-tests` filled. Written is bench/fix_tests.json: how many
commits and tests there were, how the sample was drawn, and one row per test that ran, with issue, commit, file, name and what it
says per release. No code, no message of a failure. The page docs/fix-tests.md is made from it by tools/docs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from torch_embers.run.fix_tests.report import yield_of
from torch_embers.run.fix_tests.trial import class_tests
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store

_TESTS = """
SELECT t.name, t.issues, t.commit_sha, strftime(t.committed_at, '%Y-%m-%d') AS committed, t.path, t.owner || '.' || t.test AS test,
       t.change, t.first_release, t.first_release_by, k.class, k.reason, k.failed, k.passed, k.unusable, k.validated_before,
       k.validated_after, k.fails_on_newest, t.later
FROM fix_tests t JOIN fix_test_classes k USING (name) ORDER BY t.committed_at, t.path, test
"""
_SPAN = """
SELECT strftime(min(committed_at), '%Y-%m-%d'), strftime(max(committed_at), '%Y-%m-%d'), count(*) FILTER (WHERE status = 'script'),
       count(k.name), (SELECT count(DISTINCT n.issue) FROM fix_tests, unnest(issues) AS n(issue))
FROM fix_tests t LEFT JOIN fix_test_classes k USING (name)
"""


def main() -> None:
    """Class the tests by the rules of today, and write the facts."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--database", type=Path, required=True)
    arguments.add_argument("--seed", type=int, required=True, help="of the sample that ran")
    arguments.add_argument("--sample", type=int, required=True, help="its size")
    arguments.add_argument("--out", default="fix_tests.json", help="file in bench/: one for each part of the history")
    given = arguments.parse_args()
    store = Store(given.database)
    with store.writer("fix-tests") as writer:
        class_tests(store, writer, DEFAULT_REPO)
    found = yield_of(store, DEFAULT_REPO)
    with store.read() as connection:
        [(first, last, scripts, ran, issues)] = connection.execute(_SPAN).fetchall()
        result = connection.execute(_TESTS)
        names = [column[0] for column in result.description or ()]
        tests = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    facts = {
        "commits_from": first,
        "commits_to": last,
        "issues": issues,
        "scripts": scripts,
        "ran": ran,
        "seed": given.seed,
        "sample": given.sample,
        "commits": found.commits,
        "yield": found.rows,
        "merged": found.merged,
        "decided": found.decided(),
        "sentence": found.sentence(),
        "tests": tests,
    }
    text = json.dumps(facts, indent=1, default=str)
    (Path(__file__).parent / given.out).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
