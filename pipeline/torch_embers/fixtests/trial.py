"""Trial runs: each fix test once on each release that decides its class, in the sandbox, resumable.

The releases around the fix come first, one more before it where the test does not fail there, then the newest for tests
that say something. Tests that fail on a release with the fix run on all from the fix on, which says since when; last,
tests that fail on one release and pass on another run on all others, which changes few classes: a run may end there.
One zygote per release preloads the testing package: a run costs a fork.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from packaging.version import Version

from torch_embers.builds.registry import environment_of
from torch_embers.builds.work import WHOLE, Work, note_builds
from torch_embers.cases import bank, fix_test_rules
from torch_embers.cases.case import Case, CaseError, parse
from torch_embers.fixtests.classes import TestClass, Trial, classify, reason_of, with_doubt
from torch_embers.fixtests.doubts import FixTest
from torch_embers.fixtests.first_release import EXACT
from torch_embers.normalize import now_utc
from torch_embers.sandbox.runner import Attempt, RunResult
from torch_embers.store import rows
from torch_embers.verdicts.batch import PRELOADS, PROFILES, Batch
from torch_embers.verdicts.ledger import Ledger
from torch_embers.verdicts.verdict import observe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine, Shard
    from torch_embers.fixtests.first_release import Evidence
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

MEMORY = 4 << 30
"""Bytes that a test may take."""
LONGEST_SIGNATURE = 60
"""Characters of a failure's message that its signature keeps: the rest holds values."""
_TESTS = """
SELECT t.name, t.case_hash, c.code, t.first_release, t.first_release_by
FROM fix_tests t JOIN cases c ON c.case_hash = t.case_hash AND c.name = t.name
WHERE t.status = 'script' AND t.repo = $repo
AND ($since IS NULL OR t.committed_at >= $since::TIMESTAMP) AND ($until IS NULL OR t.committed_at < $until::TIMESTAMP)
"""
_TEXTS = """
WITH titles AS (
    SELECT t.name, string_agg(i.title, chr(10) ORDER BY i.number) AS said
    FROM (SELECT DISTINCT repo, name, unnest(issues)::BIGINT AS number FROM fix_tests WHERE name IS NOT NULL) t
    JOIN items i USING (repo, number) GROUP BY t.name
)
SELECT t.name, t.test, c.code, v.code, b.code, concat_ws(chr(10), coalesce(t.subject, ''), n.said)
FROM fix_tests t JOIN cases c ON c.case_hash = t.case_hash AND c.name = t.name
JOIN artifacts v ON v.name = t.name AND v.kind = 'verbatim'
LEFT JOIN artifacts b ON b.name = t.name AND b.kind = 'before' LEFT JOIN titles n ON n.name = t.name
WHERE t.status = 'script' AND t.repo = ?
"""
_RUNS = """
SELECT r.case_hash, r.build, r.environment, b.version, r.outcome, r.signature, r.exit_code, r.signal, r.ended, r.detail,
       r.stdout, r.stderr
FROM runs r JOIN builds b USING (build) JOIN fix_tests t USING (case_hash)
WHERE r.batch = 0 AND NOT r.injected AND t.repo = ? ORDER BY r.attempt
"""
_WAITED = """
SELECT case_hash, build, environment FROM runs WHERE batch = 0 AND NOT injected GROUP BY ALL
HAVING count(*) < $most AND bool_and(ended = 'timeout' AND cpu < $share * duration)
"""
_RAN = re.compile(r"(\d{1,9}) of (\d{1,9}) variants ran, \d+ pass\s*\Z")
ATTEMPTS = 2
"""Runs of a test on a release, where a limit of time ended the first one while it waited for a processor."""
WAITED = 0.5
"""Share of its time that a run has a processor for at least, if its end says something about the test."""


@dataclass(frozen=True, slots=True)
class TrialTest:
    """A fix test that can run."""

    case: Case
    first_release: str | None
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Draw:
    """Which tests to run.

    Attributes:
        sample: how many tests, drawn at random; None for all.
        seed: of the draw. The order of the tests depends on the seed and their names alone, so that a larger sample
            holds the smaller one.
        since: only tests of commits from this day on (ISO text).
        until: only tests of commits before this day.
    """

    sample: int | None = None
    seed: int = 0
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What to run.

    Attributes:
        repo: the repository.
        builds: releases, in order.
        draw: the tests.
        jobs: runs at a time.
        shard: which of the tests.
    """

    repo: str
    builds: Sequence[Build]
    draw: Draw
    jobs: int = 1
    shard: Shard = WHOLE


def run_trials(store: Store, writer: Writer, machine: Machine, request: TrialRequest, progress: Progress) -> int:
    """Make the trial runs that are missing, and class every test; return how many runs were made.

    Raises:
        BuildError, SandboxError, StoreError: as of their makers.
    """
    sample = drawn(_tests(store, request.repo, request.draw), request.draw)
    tests = [test for test in sample if request.shard.has(test.case.hash)]
    ledger = Ledger(store, writer)
    environments = note_builds(writer, ((build, environment_of(build)) for build in request.builds))
    of_release: dict[str, list[Build]] = defaultdict(list)
    for build in request.builds:
        of_release[build.public_version].append(build)
    releases = [builds[-1] for builds in of_release.values()]
    made = 0
    for wanted in (_around, _around, _older, _newest, _since_when, _everywhere):
        ran = _ran(store, request.repo, tests)
        todo: list[Work[Case]] = []
        again = _waited(store)
        for test in tests:
            have = ran.get(test.case.hash, {})
            for release in wanted(test, releases, _by_release(have)):
                for build in of_release[release.public_version]:
                    place = build.identity, environments[build.identity]
                    if place not in have or (test.case.hash, *place) in again:
                        attempt = _attempt(str(len(todo)), test.case)
                        todo.append(Work(test.case, build, attempt, PROFILES["fix_test"], PRELOADS["fix_test"]))
        progress.expects(made + len(todo))
        for name, count in Counter(work.build.name for work in todo).items():
            progress.said(f"{name}: {count} tests")
        try:
            for work, result in machine.make(todo, request.jobs):
                place = work.build.identity, environments[work.build.identity]
                batch = Batch(work.subject, work.build, place[1], 0)
                number = int((work.subject.hash, *place) in again)
                ledger.keep(batch, work.attempt, result, observe(work.subject, result), number)
                progress.advanced(1)
        finally:  # Ctrl-C, too, keeps what was reached
            ledger.commit()
        made += len(todo)
    class_tests(store, writer, request.repo)
    return made


def drawn(tests: Sequence[TrialTest], draw: Draw) -> list[TrialTest]:
    """The sample, in the order of the draw."""
    ordered = sorted(tests, key=lambda test: blake2b(f"{draw.seed}:{test.case.name}".encode()).digest())
    return ordered[: draw.sample]


def class_tests(store: Store, writer: Writer, repo: str) -> int:
    """Class every test of which there are runs; give validated ones the signature of their failure.

    Returns:
        How many tests have a class.
    """
    tests = _tests(store, repo, Draw())
    ran, texts = _ran(store, repo, tests), _texts(store, repo)
    moment, rules = now_utc(), fix_test_rules.load()
    written, cases = [], []
    for test in tests:
        if not (trials := _by_release(ran.get(test.case.hash, {}))):
            continue
        found = classify(trials, test.first_release, test.evidence)
        if test.case.name in texts:
            found = with_doubt(found, trials, texts[test.case.name], rules.doubt)
        written.append(_row(test, trials, found) | {"rules": str(rules.version), "decided_at": moment})
        if found.validated_before is not None and (case := _with_signature(test.case, found)) is not None:
            cases.append(case)
    with writer.transaction() as connection:
        rows.replace(connection, "fix_test_classes", ("name",), written)
        bank.save(connection, cases)
    return len(written)


def _tests(store: Store, repo: str, draw: Draw) -> list[TrialTest]:
    asked = {"repo": repo, "since": draw.since, "until": draw.until}
    with store.read() as connection:
        found = connection.execute(_TESTS, asked).fetchall()
    tests = []
    for name, _, code, first, evidence in found:
        tests.append(TrialTest(parse(code, name, "fix_test"), first, evidence))
    return tests


def _texts(store: Store, repo: str) -> dict[str, FixTest]:
    """What the tests and their commits say, by name of the case."""
    with store.read() as connection:
        return {row[0]: FixTest(*row) for row in connection.execute(_TEXTS, [repo]).fetchall()}


def _ran(store: Store, repo: str, tests: Sequence[TrialTest]) -> dict[str, dict[tuple[str, str], Trial]]:
    """The last run of each test (by hash) on each build in each environment, read by the rules of today.

    Of a long error output the end is stored; where the traceback is not in it, the outcome of the run itself stays.
    """
    cases = {test.case.hash: test.case for test in tests}
    with store.read() as connection:
        found = connection.execute(_RUNS, [repo]).fetchall()
    trials: dict[str, dict[tuple[str, str], Trial]] = defaultdict(dict)
    for case_hash, build, environment, version, outcome, signature, *ended in found:
        if case_hash in cases:
            public = version.partition("+")[0]
            made = _trial(cases[case_hash], public, outcome, signature, _stored(*ended))
            trials[case_hash][build, environment] = made
    return trials


def _by_release(trials: Mapping[tuple[str, str], Trial]) -> list[Trial]:
    """One run per release: a test fails there if it does on any build, and passes if it does and never fails."""
    order = ("failed", "passed", "nothing")
    found: dict[str, Trial] = {}
    for trial in sorted(trials.values(), key=lambda trial: order.index(trial.said)):
        found.setdefault(trial.version, trial)
    return list(found.values())


def _trial(case: Case, version: str, outcome: str, signature: str | None, run: RunResult) -> Trial:
    seen = observe(case, run)
    shown, detail = (str(seen.signature) if seen.signature else None), seen.detail
    if signature and seen.signature is None:
        shown, detail = signature, run.detail
    else:
        outcome = seen.outcome
    found = Trial(version, outcome, detail, shown, run.stderr, variants=_variants(run.stdout))
    rules = fix_test_rules.load()
    return replace(found, reason=reason_of(detail, rules.silence, rules.reasons)) if found.said == "nothing" else found


def _variants(output: str) -> tuple[int, int] | None:
    """How many variants a test has, and how many of them ran, from the last line of a script that passes."""
    found = _RAN.search(output)
    return (int(found[2]), int(found[1])) if found else None


def _stored(
    exit_code: int | None, signal: int | None, ended: str, detail: str | None, stdout: str | None, stderr: str | None
) -> RunResult:
    """A stored run as the runner gave it, as far as an observation asks."""
    return RunResult(
        key="",
        exit_code=exit_code,
        signal=signal,
        ended=ended,
        detail=detail or "",
        stdout=stdout or "",
        stderr=stderr or "",
        duration=0.0,
        cpu=0.0,
        waited=0.0,
        peak_memory=0,
        zygote="",
        profile=PROFILES["fix_test"],
        guarantees=(),
        versions={},
    )


def _around(test: TrialTest, builds: Sequence[Build], known: Sequence[Trial]) -> Iterator[Build]:
    """The releases around the fix; the next one, too, where the first one still fails and may not have it."""
    first = Version(test.first_release) if test.first_release else None
    before = [build for build in builds if first is not None and Version(build.public_version) < first]
    after = [build for build in builds if first is None or Version(build.public_version) >= first]
    may_be_late = test.evidence not in EXACT and bool(known) and all(trial.said == "failed" for trial in known)
    yield from (*before[-1:], *after[: 2 if may_be_late else 1])


def _older(test: TrialTest, builds: Sequence[Build], known: Sequence[Trial]) -> Iterator[Build]:
    """The last but one release before the fix, for a test that does not fail on the last one.

    The fix may have been picked for that one; or the test says nothing there.
    """
    if test.first_release is None:
        return
    before = [build for build in builds if Version(build.public_version) < Version(test.first_release)]
    failed = {trial.version for trial in known if trial.said == "failed"}
    if len(before) > 1 and before[-1].public_version not in failed:
        yield before[-2]


def _newest(_test: TrialTest, builds: Sequence[Build], known: Sequence[Trial]) -> Iterator[Build]:
    """The newest release, for a test that says something on one around the fix."""
    if {"failed", "passed"} & {trial.said for trial in known}:
        yield from builds[-1:]


def _since_when(test: TrialTest, builds: Sequence[Build], known: Sequence[Trial]) -> Iterator[Build]:
    """All releases from the fix on, for a test that passes on one of them and fails on another."""
    first = Version(test.first_release) if test.first_release else None
    after = {trial.said for trial in known if first is None or Version(trial.version) >= first}
    if {"failed", "passed"} <= after:
        yield from (build for build in builds if first is None or Version(build.public_version) >= first)


def _everywhere(_test: TrialTest, builds: Sequence[Build], known: Sequence[Trial]) -> Iterator[Build]:
    """All releases, for a test that fails on one of those that decide and passes on another."""
    if {"failed", "passed"} <= {trial.said for trial in known}:
        yield from builds


def _waited(store: Store) -> set[tuple[str, str, str]]:
    """Tests (by hash), builds and environments of which the only run was cut off while it waited for a processor."""
    with store.read() as connection:
        asked = {"most": ATTEMPTS, "share": WAITED}
        return set(connection.execute(_WAITED, asked).fetchall())


def _attempt(key: str, case: Case) -> Attempt:
    patience = fix_test_rules.load().limits.patience
    return Attempt(key=key, code=case.code, name=f"{case.name}.py", timeout=case.timeout * patience, memory=MEMORY)


def _row(test: TrialTest, trials: Sequence[Trial], found: TestClass) -> dict[str, object]:
    ordered = sorted(trials, key=lambda trial: Version(trial.version))
    columns = asdict(found)
    variants = max((trial.variants for trial in trials if trial.variants), default=(None, None))
    return {
        "name": test.case.name,
        "class": columns.pop("kind"),
        **columns,
        "unusable_because": [trial.reason for trial in ordered if trial.said == "nothing"],
        "provenance": "own",
        "variants": variants[0],
        "variants_run": variants[1],
        **{
            column: [trial.version for trial in ordered if trial.said == said]
            for column, said in (("failed", "failed"), ("passed", "passed"), ("unusable", "nothing"))
        },
    }


def _with_signature(case: Case, found: TestClass) -> Case | None:
    """The case with the failure before the fix as the one that counts."""
    if found.signature is None:
        return None
    head, _, message = found.signature.partition(": ")
    declared = f"{head}: {message[:LONGEST_SIGNATURE].rstrip()}" if message else head
    text = _with_entry(_with_entry(case.code, "signature", declared), "known_bad", found.validated_before or "")
    try:
        return parse(text, case.name, "fix_test")
    except CaseError:
        return None


def _with_entry(text: str, key: str, value: str) -> str:
    """A case with one text as the entry ``key`` of its metadata."""
    shown = "".join(c for c in value if c.isprintable()).replace("\\", "\\\\").replace('"', '\\"')
    head, found, rest = text.partition(f"\n# {key} = ")
    return f'{head}{found}["{shown}"]\n{rest.partition(chr(10))[2]}' if found else text
