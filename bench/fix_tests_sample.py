"""Write what a sample of tests says that are not among the shipped facts: `python bench/fix_tests_sample.py NAME --database FILE --seed N`.

`older`: tests of commits before `--until DAY`, of which not all ran. The database is one in which `embers fix-tests --until DAY --sample N
--seed N` ran.

`many`: tests of commits that change more tests than limits.tests_of_a_commit of data/fix_tests.toml, and so make no scripts. Their database is
made by `--link CLONE --revision BRANCH --limit N`, with another limit and of these commits alone; then `embers fix-tests --sample N --seed N`
runs in it.

Each sample is counted on its own, in bench/fix_tests_NAME.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

from torch_embers.progress import Silent
from torch_embers.repro import shipped_fix_tests
from torch_embers.repro.fix_tests import rules as fix_test_rules
from torch_embers.run.fix_tests import link
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store

_POPULATION = """
SELECT count(*), count(DISTINCT commit_sha) FROM fix_tests
WHERE status = 'script' AND committed_at < coalesce($until::TIMESTAMP, 'infinity')
"""
_TESTS = """
SELECT t.name, t.commit_sha, strftime(t.committed_at, '%Y-%m-%d') AS day, t.first_release, k.class, k.reason, k.failed, k.passed, k.unusable
FROM fix_tests t JOIN fix_test_classes k USING (name)
WHERE t.status = 'script' AND t.committed_at < coalesce($until::TIMESTAMP, 'infinity') AND k.provenance = 'own' ORDER BY t.name
"""


def linked(store: Store, clone: Path, revision: str, limit: int) -> None:
    """Link the commits that the shipped facts refuse for their many tests, with another limit."""
    rules = fix_test_rules.load()
    raised = rules.model_copy(update={"limits": rules.limits.model_copy(update={"tests_of_a_commit": limit})})
    refused = {row["commit_sha"] for row in shipped_fix_tests.facts() if row["reason"] == "many_tests"}
    every = link.fix_commits
    with store.writer("bench", create=True):
        pass
    with (
        mock.patch.object(fix_test_rules, "load", return_value=raised),
        mock.patch.object(link, "fix_commits", lambda *asked: [c for c in every(*asked) if c.sha in refused]),
    ):
        link.link_fix_tests(store, DEFAULT_REPO, clone, Silent(), revision=revision)


def main() -> None:
    """Link, or count the sample."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("name", choices=("older", "many"))
    arguments.add_argument("--database", type=Path, required=True)
    arguments.add_argument("--link", type=Path, help="make the database from this clone")
    arguments.add_argument("--revision", default="HEAD")
    arguments.add_argument("--limit", type=int, help="of tests of a commit, that the database is linked with")
    arguments.add_argument("--until", help="count tests of commits before this day")
    arguments.add_argument("--seed", type=int, help="of the draw")
    given = arguments.parse_args()
    store = Store(given.database)
    if given.link:
        linked(store, given.link, given.revision, given.limit)
        return
    with store.read() as connection:
        [(population, commits)] = connection.execute(_POPULATION, {"until": given.until}).fetchall()
        result = connection.execute(_TESTS, {"until": given.until})
        names = [column[0] for column in result.description or ()]
        tests: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    facts = {
        "rules": fix_test_rules.load().version,
        "until": given.until,
        "limit": given.limit,
        "population": population,
        "commits": commits,
        "seed": given.seed,
        "drawn": len(tests),
        "classes": Counter(test["class"] for test in tests),
        "tests": tests,
    }
    out = Path(__file__).parent / f"fix_tests_{given.name}.json"
    out.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
