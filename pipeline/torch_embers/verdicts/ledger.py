"""The ledger: what runs and verdicts are in the database, and how new ones get there."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.builds.registry import environment_of, environment_text
from torch_embers.normalize import naive_utc, now_utc
from torch_embers.signature import Signature
from torch_embers.store import rows
from torch_embers.verdicts.verdict import Control, Decision, Observation

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from torch_embers.builds.registry import Build
    from torch_embers.cases.case import Case
    from torch_embers.sandbox.runner import Attempt, RunResult
    from torch_embers.statistics.absence import AbsenceRules
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer
    from torch_embers.verdicts.batch import Batch

COMMIT_SECONDS = 2.0
"""Finished runs wait at most this long for their transaction: opening the database for each one would cost more."""
KEPT_OUTPUT = 4_000
"""Characters of output and of error output that a stored run keeps."""
MEASURED = ("profile", "exit_code", "signal", "ended", "duration", "cpu", "peak_memory", "zygote", "kernel")
"""Columns of ``runs`` that hold a field of the result as it is."""

_VERDICTS = """
SELECT case_hash, build, environment, profile, batch, verdict, flaky, k, n, detectable_rate,
       control, control_build, control_k, control_n, detail, signature
FROM latest_verdicts WHERE provenance = 'own' AND ($since IS NULL OR decided_at BETWEEN $since AND $now)
"""
_AGREEING = """
SELECT v.case_hash, list(DISTINCT v.batch)
FROM verdicts v JOIN latest_verdicts l USING (case_hash, build, environment, verdict)
WHERE v.provenance = 'own' AND v.build = ? AND v.environment = ? AND v.decided_at BETWEEN ? AND ?
GROUP BY v.case_hash
"""
_OPEN_BATCH = """
SELECT coalesce(max(batch) FILTER (build = ? AND ran_at BETWEEN ? AND ?), max(batch) + 1, 0) FROM runs
"""
_RUNS = """
SELECT case_hash, environment, injected, outcome, signature, detail, seed FROM runs
WHERE build = $build AND batch = $batch AND ($since IS NULL OR ran_at BETWEEN $since AND $now) ORDER BY attempt
"""
_STARTS = """
SELECT case_hash, build, environment, batch, count(DISTINCT CASE WHEN zygote = '' THEN seed::VARCHAR ELSE zygote END),
       count(*)
FROM runs WHERE NOT injected GROUP BY ALL
"""
"""Fresh processes of a batch, and its runs; without a zygote each run is a process of its own."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A case on a build, with its verdict.

    Attributes:
        fresh: whether the verdict was reached now, not looked up.
        where: columns of the environment; None for this machine.
    """

    case: Case
    build: Build
    environment: str
    profile: str
    batch: int
    decision: Decision
    fresh: bool
    where: Mapping[str, object] | None = None

    def row(self) -> dict[str, Any]:
        """The cell as plain data."""
        return {
            "case": self.case.name,
            "items": [f"{repo}#{number}" for repo, number in self.case.issues],
            "build": self.build.name,
            "version": self.build.version,
            "environment": self.place,
            **self.decided(),
            "fresh": self.fresh,
        }

    @property
    def place(self) -> str:
        """Device, processor, CPU capability and system on which it was reached."""
        return environment_text(self.where or environment_of(self.build, self.case.threads))

    def decided(self) -> dict[str, Any]:
        """What the verdict says, by the names of the columns of ``verdicts``."""
        decision, control = self.decision, self.decision.control
        return {
            "verdict": decision.verdict,
            "flaky": decision.flaky,
            "k": decision.hits,
            "n": decision.runs,
            "detectable_rate": decision.detectable_rate,
            "control": control.kind,
            "control_k": control.hits,
            "control_n": control.runs,
            "detail": decision.detail,
        }


class Ledger:
    """Reads and writes runs and verdicts; its writer must be held."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer
        self._runs: list[dict[str, Any]] = []
        self._verdicts: list[dict[str, Any]] = []
        self._committed = time.monotonic()

    def verdicts(
        self, cases: Sequence[Case], builds: Sequence[Build], environments: dict[str, str], since: datetime | None
    ) -> dict[tuple[str, str], Cell]:
        """Verdicts that are there already, by case hash and build identity; none from before ``since`` (UTC, naive).

        With ``since`` none counts that is dated later than now, either: it was written under a wrong clock, and nobody
        knows how old it is.
        """
        by_hash = {case.hash: case for case in cases}
        by_identity = {build.identity: build for build in builds}
        with self._store.read() as connection:
            stored = connection.execute(_VERDICTS, {"since": since, "now": naive_utc()}).fetchall()
        cells = {}
        for row in stored:
            case, build = by_hash.get(row[0]), by_identity.get(row[1])
            if case is not None and build is not None and environments[build.identity] == row[2]:
                cells[row[0], row[1]] = Cell(case, build, row[2], row[3], row[4], _decision(row[5:]), fresh=False)
        return cells

    def seen_bad(self, cases: Collection[str]) -> dict[str, frozenset[str]]:
        """Identities of builds on which cases (by hash) have occurred."""
        with self._store.read() as connection:
            occurring = connection.execute(
                "SELECT DISTINCT case_hash, build FROM verdicts WHERE verdict = 'occurs' AND provenance = 'own'"
            ).fetchall()
        bad: dict[str, set[str]] = defaultdict(set)
        for case_hash, build in occurring:
            if case_hash in cases:
                bad[case_hash].add(build)
        return {case_hash: frozenset(builds) for case_hash, builds in bad.items()}

    def last_batch(self) -> int:
        """Number of the newest batch; -1 where nothing was run yet."""
        with self._store.read() as connection:
            [(batch,)] = connection.execute("SELECT coalesce(max(batch), -1) FROM runs").fetchall()
        return int(batch)

    def open_batch(self, build: Build, since: datetime) -> int:
        """Number of the batch on a build that was begun after ``since`` (UTC, naive), to go on with; else a new one."""
        with self._store.read() as connection:
            [(batch,)] = connection.execute(_OPEN_BATCH, [build.identity, since, naive_utc()]).fetchall()
        return int(batch)

    def agreeing_batches(self, build: Build, environment: str, since: datetime) -> dict[str, frozenset[int]]:
        """Numbers of the batches after ``since`` (UTC, naive) whose verdict is the one that counts, by case hash."""
        with self._store.read() as connection:
            found = connection.execute(_AGREEING, [build.identity, environment, since, naive_utc()]).fetchall()
        return {case_hash: frozenset(batches) for case_hash, batches in found}

    def without_starts(self, cells: Mapping[tuple[str, str], Cell], rules: AbsenceRules) -> set[tuple[str, str]]:
        """Verdicts that count forks although they should count fresh starts, by case hash and build identity.

        Args:
            cells: verdicts that should count starts.
            rules: say how many forks make a clean start.
        """
        if not cells:
            return set()
        with self._store.read() as connection:
            made = {tuple(row[:4]): row[4:] for row in connection.execute(_STARTS).fetchall()}
        lacking = set()
        for key, cell in cells.items():
            processes, runs = made.get((*key, cell.environment, cell.batch), (0, 0))
            hits, starts = cell.decision.hits, cell.decision.runs
            if processes < starts or runs < hits + (starts - hits) * rules.layout_forks:
                lacking.add(key)
        return lacking

    def recall(self, build: Build, batches: Sequence[Batch], since: datetime | None, rules: AbsenceRules) -> None:
        """Give the batches of one build the runs that an interrupted sweep has stored.

        With ``since`` none from before that, and none that is dated later than now.

        Where fresh starts are counted, those that were cut short are left out.
        """
        for number in {batch.number for batch in batches}:
            with self._store.read() as connection:
                parameters = {"build": build.identity, "batch": number, "since": since, "now": naive_utc()}
                runs = connection.execute(_RUNS, parameters).fetchall()
            stored: dict[tuple[str, str, bool], list[tuple[int, Observation]]] = defaultdict(list)
            for case_hash, environment, is_injected, outcome, seen, detail, seed in runs:
                observation = Observation(outcome, _signature(seen), detail)
                stored[case_hash, environment, is_injected].append((int(seed), observation))
            for batch in batches:
                if batch.number == number:
                    own = stored[batch.case.hash, batch.environment, False]
                    batch.recall(own, rules)
                    batch.injected = [seen for _, seen in stored[batch.case.hash, batch.environment, True]]

    def keep(self, batch: Batch, attempt: Attempt, result: RunResult, seen: Observation, number: int) -> None:
        """Queue a finished run; it is written within ``COMMIT_SECONDS`` of the last ones, or at the end of its build.

        Args:
            batch: the batch that it belongs to.
            attempt: what was asked for.
            result: how it ended.
            seen: what that says about the bug.
            number: its place among the runs of the batch, from 0.
        """
        self._runs.append(
            {
                "case_hash": batch.case.hash,
                "build": batch.build.identity,
                "environment": batch.environment,
                "batch": batch.number,
                "attempt": number,
                "injected": attempt.inject,
                "outcome": seen.outcome,
                "detail": seen.detail,
                "signature": str(seen.signature) if seen.signature else None,
                "stdout": result.stdout[-KEPT_OUTPUT:],
                "stderr": result.stderr[-KEPT_OUTPUT:],
                **{name: getattr(result, name) for name in MEASURED},
                "seed": attempt.seed,
                "guarantees": list(result.guarantees),
                "repeated": result.repeated,
                "memory_counted_by": result.memory_counted_by,
                "ran_at": now_utc(),
            }
        )
        self._commit_in_time()

    def keep_verdict(self, cell: Cell) -> None:
        """Queue a verdict; it is written in one transaction with the runs that wait."""
        self._verdicts.append(_verdict_row(cell, now_utc()))
        self._commit_in_time()

    def _commit_in_time(self) -> None:
        if time.monotonic() - self._committed > COMMIT_SECONDS:
            self.commit()

    def commit(self) -> None:
        """Write the runs and verdicts that wait."""
        if self._runs or self._verdicts:
            with self._writer.transaction() as connection:
                rows.append(connection, "runs", self._runs)
                rows.append_numbered(connection, "verdicts", self._verdicts)
            self._runs, self._verdicts = [], []
        self._committed = time.monotonic()


def _signature(text: str | None) -> Signature | None:
    """A stored signature; a message was normalised when it was stored, and stays as it is."""
    if not text:
        return None
    head, _, message = text.partition(": ")
    if head.startswith("SIG"):
        return Signature("signal", head)
    if head[:1].isupper():
        return Signature("exception", head, message)
    return Signature(head, "", message)


def _verdict_row(cell: Cell, moment: str) -> dict[str, Any]:
    signature = cell.decision.signature
    return {
        "case_hash": cell.case.hash,
        "build": cell.build.identity,
        "environment": cell.environment,
        "profile": cell.profile,
        "batch": cell.batch,
        **cell.decided(),
        "control_build": cell.decision.control.build,
        "signature": str(signature) if signature else None,
        "decided_at": moment,
        "provenance": "own",
    }


def _decision(row: Sequence[Any]) -> Decision:
    verdict, flaky, k, n, rate, kind, build, hits, runs, detail, seen = row
    return Decision(verdict, flaky, k, n, rate, Control(kind, build, hits, runs), detail, _signature(seen))
