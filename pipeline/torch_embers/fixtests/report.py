"""The yield of fix tests: what became of the commits, by year, folder, class and reason; and the share alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from torch_embers import resources
from torch_embers.cases import fix_test_rules
from torch_embers.fixtests.alive import LEAST, Alive, ShownIssue, alive, shows_bug
from torch_embers.judgements import fix_test_answers
from torch_embers.statistics.intervals import percent
from torch_embers.store import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.store.store import Store

RAN = ("validated", "doubtful", "never_seen", "fails_after", "unusable")
NO_TEST_HERE = ("needs_device", "not_run")
"""Reasons of tests that are none of the processor, or that nobody ran."""
_YIELD = """
SELECT year(t.committed_at) AS year,
       CASE WHEN t.path IS NULL THEN NULL
            WHEN len(string_split(t.path, '/')) > 2 THEN array_to_string(string_split(t.path, '/')[1:2], '/')
            ELSE string_split(t.path, '/')[1] END AS folder,
       CASE WHEN t.status <> 'script' THEN 'no_script' ELSE coalesce(k.class, 'not_run') END AS class,
       CASE WHEN t.status <> 'script' THEN t.reason ELSE k.reason END AS reason,
       count(*) AS tests,
       count(DISTINCT t.commit_sha) AS commits
FROM fix_tests t LEFT JOIN fix_test_classes k USING (name)
WHERE t.repo = $repo GROUP BY ALL ORDER BY year, folder, class, tests DESC, reason
"""
_COMMITS = """
SELECT count(DISTINCT commit_sha) AS commits,
       count(DISTINCT commit_sha) FILTER (WHERE test IS NOT NULL) AS with_tests,
       count(DISTINCT commit_sha) FILTER (WHERE t.status = 'script') AS with_script,
       count(DISTINCT commit_sha) FILTER (WHERE k.name IS NOT NULL) AS ran,
       count(DISTINCT commit_sha) FILTER (
           WHERE k.class IN ('validated', 'doubtful', 'never_seen', 'fails_after')) AS decided
FROM fix_tests t LEFT JOIN fix_test_classes k USING (name) WHERE t.repo = $repo
"""
_SHOWN = """
SELECT DISTINCT n.number::BIGINT AS number, t.name AS case, k.failed, k.passed, k.class, k.reason
FROM fix_tests t JOIN fix_test_classes k USING (name), unnest(t.same) AS n(number)
WHERE t.repo = $repo AND k.validated_before IS NOT NULL ORDER BY ALL
"""
_VERSIONS = """
SELECT DISTINCT unnest(k.failed || k.passed || k.unusable) AS version
FROM fix_tests t JOIN fix_test_classes k USING (name) WHERE t.repo = $repo
"""
_FAILING = """
SELECT k.name, t.issues, t.path, t.owner || '.' || t.test AS test, k.validated_before, k.validated_after,
       k.failed, k.passed, k.unusable, t.later, k.detail
FROM fix_tests t JOIN fix_test_classes k USING (name)
WHERE t.repo = $repo AND k.class = 'fails_after' ORDER BY t.committed_at, k.name
"""


@dataclass(frozen=True, slots=True)
class Yield:
    """What became of the commits that fix issues.

    Attributes:
        rows: year, folder, class, reason, tests, commits.
        commits: counts of commits: all, with a changed test, with a script, with a run, with a decided test.
        alive: issues whose own validated test (relation ``same``) fails on the newest release on which any test ran.
        failing: the tests that fail after the fix, to be read by a person.
        merged: all commits that fix issues by what their tests say, with the days to the first release that contains
            them (``analysis/fix_tests/time_to_release.sql``).
    """

    rows: Sequence[dict[str, Any]]
    commits: dict[str, int]
    alive: Alive
    failing: Sequence[dict[str, Any]]
    merged: Sequence[dict[str, Any]]

    def counted(self, *columns: str) -> list[tuple[Any, ...]]:
        """Tests by these columns, most first."""
        counts: dict[tuple[Any, ...], int] = {}
        for row in self.rows:
            key = tuple(row[column] for column in columns)
            counts[key] = counts.get(key, 0) + int(row["tests"])
        return [(*key, count) for key, count in sorted(counts.items(), key=lambda entry: (-entry[1], str(entry[0])))]

    def decided(self) -> str:
        """How many of the tests that ran, and need no accelerator, are decided."""
        counts = {(kind, reason): count for kind, reason, count in self.counted("class", "reason")}
        ran = sum(n for (kind, reason), n in counts.items() if kind in RAN and reason not in NO_TEST_HERE)
        validated, doubtful, passing = (
            sum(n for (kind, _), n in counts.items() if kind == wanted)
            for wanted in ("validated", "doubtful", "never_seen")
        )
        decided = validated + doubtful + passing
        seen = counts.get(("never_seen", "passes_before"), 0)
        if not ran:
            return "No test was run yet."
        share = f" ({percent(decided, ran)})"
        return (
            f"Of {ran:,} tests that ran and need no accelerator, {decided:,}"
            f"{share if ran >= LEAST else ''} are decided: {validated:,} validated, {doubtful:,} doubtful (they fail "
            f"before the fix, and rules doubt that this is the bug), {passing:,} never seen, "
            f"of which {seen:,} pass on the release before the fix."
        )

    def sentence(self) -> str:
        """What may be said of the bugs that are closed with a merged fix."""
        c = self.commits
        return (
            f"{c['commits']:,} commits that fix issues were read; {c['with_tests']:,} add or change a test, "
            f"{c['with_script']:,} gave a script, tests of {c['ran']:,} were run and of {c['decided']:,} decided. "
            + self.alive.sentence()
        )


def yield_of(store: Store, repo: str) -> Yield:
    """Read the tables.

    Raises:
        StoreError: the database cannot be used.
    """
    with store.read() as connection:
        schema.require_ours(connection, store.path)

        def ask(query: str, **more: Any) -> list[dict[str, Any]]:
            result = connection.execute(query, {"repo": repo, **more})
            names = [column[0] for column in result.description or ()]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

        rows, [commits], shown, failing = ask(_YIELD), ask(_COMMITS), ask(_SHOWN), ask(_FAILING)
        releases = fix_test_rules.load().releases
        merged = ask(
            resources.analysis_text("fix_tests", "time_to_release.sql"),
            versions=list(releases.days),
            days=[day.isoformat() for day in releases.days.values()],
        )
        newest = max((row["version"] for row in ask(_VERSIONS)), key=Version, default="")
    before, after = fix_test_answers()["shows_bug"], fix_test_answers()["shows_bug_again"]
    issues = (
        ShownIssue(row["number"], row["case"], row["failed"], row["passed"])
        for row in shown
        if shows_bug(row["class"], row["reason"], before.get(row["case"]))
    )
    return Yield(rows, commits, alive(issues, newest, before, after), failing, merged)
