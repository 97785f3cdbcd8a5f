"""Write what a database says of fix tests as facts that come with embers: `python bench/fix_tests.py --database FILE`.

The database is one that `embers link-repros --fix-tests` and `embers fix-tests` filled. Written are data/fix_test_facts.csv, a row per
test, file or commit (no code, no message of a failure), and bench/fix_tests.json: on which builds how many runs were made, when, and by
which version of the rules. docs/fix-tests.md is made of both by tools/docs.

With `--earlier COMMIT` tests that did not run in this database get the outcomes that three files of bench/ had at that commit of this
repository, whose databases are gone. They are classed by the rules and the cuts of today; which rules had read their runs is told beside them
(`outcome_rules`), and why a run said nothing only as far as the files kept it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers.normalize import now_utc
from torch_embers.repro import shipped_fix_tests
from torch_embers.repro.fix_tests import rules as fix_test_rules
from torch_embers.run.fix_tests.classes import Trial, classify
from torch_embers.run.fix_tests.trial import class_tests
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import rows
from torch_embers.store.store import Store

if TYPE_CHECKING:
    import duckdb

    from torch_embers.mine.git.first_release import Evidence
    from torch_embers.repro.fix_tests.rules import Rules

ROOT = Path(__file__).resolve().parent.parent
_BUILDS = """
FROM (
    SELECT split_part(b.version, '+', 1) AS version, any_value(b.python) AS python, any_value(b.platform) AS platform, count(*) AS runs
    FROM runs r JOIN builds b USING (build)
    WHERE r.batch = 0 AND NOT r.planted AND r.case_hash IN (SELECT case_hash FROM fix_tests) GROUP BY ALL
) ORDER BY string_split(version, '.')::INTEGER[]
"""
_SPAN = """
SELECT strftime(min(committed_at), '%Y-%m-%d') AS commits_from, strftime(max(committed_at), '%Y-%m-%d') AS commits_to,
       (SELECT strftime(min(r.ran_at), '%Y-%m-%d') FROM runs r) AS run_from,
       (SELECT strftime(max(r.ran_at), '%Y-%m-%d') FROM runs r) AS run_to
FROM fix_tests
"""


EARLIER = {"fix_tests.json": "3", "fix_tests_earlier.json": "6", "fix_tests_oldest.json": "7"}
"""Files of an earlier measurement, with the version of the rules that read the runs."""
NOT_KEPT = "not_kept"
_WITHOUT_RUN = """
SELECT name, first_release, first_release_by FROM fix_tests
WHERE status = 'script' AND name NOT IN (SELECT name FROM fix_test_classes WHERE outcome_rules = rules)
"""


def earlier(connection: duckdb.DuckDBPyConnection, commit: str) -> list[dict[str, Any]]:
    """Rows of fix_test_classes for tests that did not run here, from the outcomes of an earlier measurement."""
    tests: dict[str, tuple[str, dict[str, Any]]] = {}
    for file, version in EARLIER.items():
        shown = ["git", "-C", str(ROOT), "show", f"{commit}:bench/{file}"]
        text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
        tests |= {test["name"]: (version, test) for test in json.loads(text)["tests"]}
    rules, moment = fix_test_rules.load(), now_utc()
    made = []
    for name, first, evidence in connection.execute(_WITHOUT_RUN).fetchall():
        if name in tests:
            version, test = tests[name]
            row = _from_outcomes(test, first, evidence, rules)
            made.append(row | {"rules": str(rules.version), "outcome_rules": version, "decided_at": moment})
    return made


def _from_outcomes(test: dict[str, Any], first: str | None, evidence: Evidence, rules: Rules) -> dict[str, Any]:
    """The class of a test of which only outcomes are left; a doubt about its failure before the fix is kept."""
    because = NOT_KEPT if test["class"] in ("validated", "doubtful", "fails_after") else test["reason"]
    because = because if because not in ("passes_before", "no_release_before", "fails_everywhere", None) else NOT_KEPT
    trials = [
        *(Trial(version, "reproduced", "", None) for version in test["failed"]),
        *(Trial(version, "not_reproduced", "", None) for version in test["passed"]),
        *(Trial(version, "cannot_run", "", None, reason=because) for version in test["unusable"]),
    ]
    found = classify(trials, first, evidence)
    if test["reason"] in {rule.id for rule in rules.doubt} and found.validated_before and found.reason is None:
        found = replace(found, reason=test["reason"], kind="doubtful" if found.kind == "validated" else found.kind)
    columns = asdict(found)
    return {
        "name": test["name"],
        "class": columns.pop("kind"),
        **columns,
        **{outcome: test[outcome] for outcome in ("failed", "passed", "unusable")},
        "unusable_because": [because] * len(test["unusable"]),
        "provenance": "own",
    }


def main() -> None:
    """Class the tests by the rules of today, and write the facts."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--database", type=Path, required=True)
    arguments.add_argument("--since", required=True, help="day from which on tests of commits were run")
    arguments.add_argument("--seed", type=int, help="of the sample that ran; left out where all ran")
    arguments.add_argument("--sample", type=int, help="its size")
    arguments.add_argument("--earlier", help="commit of this repository whose facts fill in for tests that did not run")
    given = arguments.parse_args()
    store = Store(given.database)
    with store.writer("fix-tests") as writer:
        class_tests(store, writer, DEFAULT_REPO)
        if given.earlier:
            with writer.transaction() as connection:
                rows.replace(connection, "fix_test_classes", ("name",), earlier(connection, given.earlier))
    with store.read() as connection:
        shipped_fix_tests.write(connection, ROOT / "data" / shipped_fix_tests.FILE)

        def ask(query: str) -> list[dict[str, Any]]:
            result = connection.execute(query)
            names = [column[0] for column in result.description or ()]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

        [span], builds = ask(_SPAN), ask(_BUILDS)
        by_rules = dict(
            connection.execute("SELECT outcome_rules, count(*) FROM fix_test_classes GROUP BY ALL").fetchall()
        )
    facts = {
        "tests_by_outcome_rules": {version: by_rules[version] for version in sorted(by_rules)},
        "earlier": given.earlier,
        "rules": fix_test_rules.load().version,
        **span,
        "ran_since": given.since,
        "seed": given.seed,
        "sample": given.sample,
        "builds": builds,
    }
    text = json.dumps(facts, indent=1)
    (ROOT / "bench" / "fix_tests.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
