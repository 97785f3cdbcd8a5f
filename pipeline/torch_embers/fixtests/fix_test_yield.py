"""The yield of fix tests: what became of the commits, by year, folder, class and reason; and the share alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.cases import fix_test_rules
from torch_embers.console import plain, print_table, stdout
from torch_embers.judgements import fix_test_answers
from torch_embers.statistics.intervals import percent
from torch_embers.store import rows, schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.store.store import Store

RAN = ("validated", "doubtful", "never_seen", "fails_after", "unusable")
NO_TEST_HERE = ("needs_device", "not_run")
"""Reasons of tests that are none of the processor, or that nobody ran."""
LEAST = 5
"""Issues or tests from which on a share and its interval are said: of fewer the interval says next to nothing."""
MERGED = ("commits", "all", "1 issue", "newest", "hold", "released", "days", "from", "to")
MERGED_KEY = (
    "newest: with a test that says something on the newest release;\n"
    "hold: no test fails there; days: median from merge to the first release"
)


@dataclass(frozen=True, slots=True)
class Alive:
    """How many issues of those with a validated test are there on the newest release (``queries/alive.sql``).

    Attributes:
        newest: that release; empty before the first run.
        issues: with a test that says something on it.
        read: of them, those with a test of which readers say that its failure before the fix shows the bug.
        fails: issues with a test that fails on the newest release.
        again: of those, the issues whose failure shows the reported bug again, as a reader says.
        otherwise: those whose every failure has another cause, as a reader says.
        open: those that nobody read, or of which readers are not sure.
    """

    newest: str
    issues: int
    read: int
    fails: int
    again: int
    otherwise: int
    open: int

    def sentence(self) -> str:
        """The share and its interval; bounds where failures are not read or not clear."""
        if not self.issues:
            return "No validated test says something on the newest release yet, so no share can be given."
        text = (
            f"Of {self.issues:,} issues whose own test fails on the last release before the fix and passes on the "
            f"first one with it ({self.read:,} of them with a test that readers found to show the reported bug), "
            f"{self.fails:,} have a test that fails on {self.newest}, the newest release here"
        )
        if self.fails:
            text += (
                f": read one by one, {self.again:,} show the reported bug again, {self.otherwise:,} fail for another "
                f"reason (a deliberate change, or drift of the test), {self.open:,} are not read or not clear"
            )
        low, high, of = self.again, self.again + self.open, f"of {self.issues:,}"
        if self.issues < LEAST:
            bounds = f"{low:,} to {high:,}" if self.open else f"{low:,}"
            return f"{text}. So {bounds} {of} are there again, too few for a share."
        if not self.open:
            return f"{text}. So {low:,} {of} ({percent(low, self.issues)}) are there again."
        return (
            f"{text}. So at least {low:,} {of} ({percent(low, self.issues)}) and at most {high:,} "
            f"({percent(high, self.issues)}) are there again."
        )


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
        counts = self.counted("class", "reason")
        ran = sum(n for kind, reason, n in counts if kind in RAN and reason not in NO_TEST_HERE)
        if not ran:
            return "No test was run yet."
        by_class = {wanted: sum(n for kind, _, n in counts if kind == wanted) for wanted in RAN[:3]}
        decided = sum(by_class.values())
        seen = sum(n for *found, n in counts if found == ["never_seen", "passes_before"])
        return (
            f"Of {ran:,} tests that ran and need no accelerator, {decided:,}"
            f"{f' ({percent(decided, ran)})' if ran >= LEAST else ''} are decided: {by_class['validated']:,} "
            f"validated, {by_class['doubtful']:,} doubtful (they fail before the fix, and rules doubt that this is the "
            f"bug), {by_class['never_seen']:,} never seen, of which {seen:,} pass on the release before the fix."
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
    days = fix_test_rules.load().releases.days
    read = {"before": fix_test_answers()["shows_bug"], "after": fix_test_answers()["shows_bug_again"]}
    answers = {f"{when}_names": list(said) for when, said in read.items()}
    answers |= {f"{when}_answers": list(said.values()) for when, said in read.items()}
    with store.read() as connection:
        schema.require_ours(connection, store.path)

        def shipped(name: str, **more: Any) -> list[dict[str, Any]]:
            query = resources.package_file("fixtests", "queries", name).read_text(encoding="utf-8")
            return rows.mappings(connection, query, {"repo": repo, **more})

        [commits], [alive] = shipped("commits.sql"), shipped("alive.sql", **answers)
        merged = rows.mappings(
            connection,
            resources.analysis_text("fix_tests", "time_to_release.sql"),
            {"repo": repo, "versions": list(days), "days": [day.isoformat() for day in days.values()]},
        )
        return Yield(shipped("yield.sql"), commits, Alive(**alive), shipped("failing.sql"), merged)


def print_yield(found: Yield) -> None:
    """Print the yield by class, year and folder, the tests that fail after their fix, and the share alive."""
    out = stdout()
    for columns in (("class", "reason"), ("year", "class"), ("folder", "class")):
        counted = found.counted(*columns)
        cells = [(*("" if cell is None else str(cell) for cell in row[:-1]), row[-1]) for row in counted]
        print_table([*columns, "tests"], cells)
        out.print()
    merged = [
        tuple("" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row.values())
        for row in found.merged
    ]
    print_table([*MERGED], merged)
    out.print(MERGED_KEY)
    out.print()
    if found.failing:
        out.print("Fail after their fix:")
        for row in found.failing:
            issues = " ".join(f"#{number}" for number in row["issues"])
            out.print(plain(f"  {issues} {row['test']}"))
            out.print(plain(f"    passes on {', '.join(row['passed'])}; fails on {', '.join(row['failed'])}"))
        out.print()
    out.print(plain(found.decided()))
    out.print(plain(found.sentence()))
