"""Trial runs: each fix test once on each release that decides its class, in the sandbox, resumable.

One zygote per release preloads the testing package: a run costs a fork.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from torch_embers.builds.registry import environment_of
from torch_embers.builds.work import WHOLE, Work, note_builds
from torch_embers.cases import bank, fix_test_rules
from torch_embers.cases.case import Case, CaseError, parse
from torch_embers.fixtests.classes import TestClass, Trial, classify, reason_of
from torch_embers.fixtests.doubts import FixTestTexts, with_doubt
from torch_embers.fixtests.first_release import EXACT
from torch_embers.normalize import now_utc
from torch_embers.sandbox.runner import Attempt, RunResult
from torch_embers.store import rows
from torch_embers.verdicts.batch import PRELOADS, PROFILES, Batch
from torch_embers.verdicts.ledger import Ledger
from torch_embers.verdicts.verdict import observe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine, Shard
    from torch_embers.fixtests.classes import Said
    from torch_embers.fixtests.first_release import Evidence
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

LONGEST_SIGNATURE = 60
"""Characters of a failure's message that its signature keeps: the rest holds values."""
_TESTS = """
WITH titles AS (
    SELECT t.name, string_agg(i.title, chr(10) ORDER BY i.number) AS said
    FROM (SELECT DISTINCT repo, name, unnest(issues)::BIGINT AS number FROM fix_tests WHERE name IS NOT NULL) t
    JOIN items i USING (repo, number) GROUP BY t.name
)
SELECT t.first_release, t.first_release_by, t.name, t.test, c.code, v.code, b.code,
       concat_ws(chr(10), coalesce(t.subject, ''), n.said)
FROM fix_tests t JOIN cases c ON c.case_hash = t.case_hash AND c.name = t.name
JOIN artifacts v ON v.name = t.name AND v.kind = 'verbatim'
LEFT JOIN artifacts b ON b.name = t.name AND b.kind = 'before' LEFT JOIN titles n ON n.name = t.name
WHERE t.status = 'script' AND t.repo = $repo
AND ($since IS NULL OR t.committed_at >= $since::TIMESTAMP) AND ($until IS NULL OR t.committed_at < $until::TIMESTAMP)
"""
_RUNS = """
SELECT r.case_hash, r.build, r.environment, split_part(b.version, '+', 1) AS version, r.outcome, r.signature,
       r.exit_code, r.signal, r.ended, coalesce(r.detail, '') AS detail, coalesce(r.stdout, '') AS stdout,
       coalesce(r.stderr, '') AS stderr, r.duration, r.cpu, r.peak_memory, r.zygote, r.profile
FROM runs r JOIN builds b USING (build) SEMI JOIN fix_tests t ON t.case_hash = r.case_hash AND t.repo = ?
WHERE r.batch = 0 AND NOT r.injected ORDER BY r.attempt
"""
_RAN = re.compile(r"(\d{1,9}) of (\d{1,9}) variants ran, \d+ pass\s*\Z")
_SAID: dict[str, Said] = {"reproduced": "failed", "not_reproduced": "passed"}


@dataclass(frozen=True, slots=True)
class TrialTest:
    """A fix test that can run."""

    case: Case
    first_release: str | None
    evidence: Evidence
    texts: FixTestTexts


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What to run.

    Attributes:
        repo: the repository.
        builds: releases, in order.
        sample: how many tests, drawn at random; None for all.
        seed: of the draw. The order of the tests depends on the seed and their names alone, so that a larger sample
            holds the smaller one.
        since: only tests of commits from this day on (ISO text).
        until: only tests of commits before this day.
        jobs: runs at a time.
        shard: which of the tests.
    """

    repo: str
    builds: Sequence[Build]
    sample: int | None = None
    seed: int = 0
    since: str | None = None
    until: str | None = None
    jobs: int = 1
    shard: Shard = WHOLE


def run_trials(store: Store, writer: Writer, machine: Machine, request: TrialRequest, progress: Progress) -> int:
    """Make the trial runs that are missing, round by round, and class every test; return how many runs were made.

    What a test says in one round decides where it runs in the next one.

    Raises:
        BuildError, SandboxError, StoreError: as of their makers.
    """
    tests = _tests(store, request.repo, request.since, request.until)
    tests.sort(key=lambda test: blake2b(f"{request.seed}:{test.case.name}".encode()).digest())
    tests = [test for test in tests[: request.sample] if request.shard.has(test.case.hash)]
    ledger = Ledger(store, writer)
    environments = note_builds(writer, ((build, environment_of(build)) for build in request.builds))
    patience = fix_test_rules.load().limits.patience
    of_release: dict[str, list[Build]] = defaultdict(list)
    for build in request.builds:
        of_release[build.public_version].append(build)
    made: set[tuple[str, str, str]] = set()
    while True:
        ran = _ran(store, request.repo, tests)
        todo: list[Work[Case]] = []
        for test in tests:
            have = ran.get(test.case.hash, {})
            for release in wanted_releases(test, list(of_release), _by_release(have.values())):
                for build in of_release[release]:
                    place = build.identity, environments[build.identity]
                    if place not in have and (test.case.hash, *place) not in made:
                        made.add((test.case.hash, *place))
                        todo.append(_work(str(len(todo)), test.case, build, test.case.timeout * patience))
        if not todo:
            break
        progress.expects(len(made))
        for name, count in Counter(work.build.name for work in todo).items():
            progress.said(f"{name}: {count} tests")
        try:
            for work, result in machine.make(todo, request.jobs):
                batch = Batch(work.subject, work.build, environments[work.build.identity], 0)
                ledger.keep(batch, work.attempt, result, observe(work.subject, result), 0)
                progress.advanced(1)
        finally:  # Ctrl-C, too, keeps what was reached
            ledger.commit()
    class_tests(store, writer, request.repo)
    return len(made)


def _work(key: str, case: Case, build: Build, timeout: float) -> Work[Case]:
    attempt = Attempt(key=key, code=case.code, name=f"{case.name}.py", timeout=timeout)
    return Work(case, build, attempt, PROFILES["fix_test"], PRELOADS["fix_test"])


def wanted_releases(test: TrialTest, releases: Sequence[str], known: Sequence[Trial]) -> Iterator[str]:
    """The releases on which a test has to run, as far as its runs tell: also those on which it ran.

    The releases around the fix come first, the next one, too, where the first one still fails and may not have it; one
    more before the fix where the test does not fail there, because the fix may have been picked for it; then the newest
    for a test that says something; and all for one that fails on one release and passes on another.

    Args:
        test: the test.
        releases: in order.
        known: its runs.
    """
    said = {trial.version: trial.said for trial in known}
    before = [one for one in releases if test.first_release and Version(one) < Version(test.first_release)]
    after = releases[len(before) :]
    may_be_late = test.evidence not in EXACT and set(said.values()) == {"failed"}
    yield from (*before[-1:], *after[: 2 if may_be_late else 1])
    if len(before) > 1 and said.get(before[-1], "failed") != "failed":
        yield before[-2]
    if {"failed", "passed"} & set(said.values()):
        yield releases[-1]
    if {"failed", "passed"} <= set(said.values()):
        yield from releases


def class_tests(store: Store, writer: Writer, repo: str) -> None:
    """Class every test of which there are runs; give validated ones the signature of their failure."""
    tests = _tests(store, repo)
    ran, rules = _ran(store, repo, tests), fix_test_rules.load()
    shared = {"rules": str(rules.version), "decided_at": now_utc(), "provenance": "own"}
    written, cases = [], []
    for test in tests:
        if trials := _by_release(ran.get(test.case.hash, {}).values()):
            found = classify(trials, test.first_release, test.evidence)
            found = with_doubt(found, trials, test.texts, rules.doubt)
            written.append(shared | _row(test.case.name, trials, found))
            if found.validated_before is not None and (case := _with_signature(test.case, found)) is not None:
                cases.append(case)
    with writer.transaction() as connection:
        rows.replace(connection, "fix_test_classes", ("name",), written)
        bank.save(connection, cases)


def _tests(store: Store, repo: str, since: str | None = None, until: str | None = None) -> list[TrialTest]:
    with store.read() as connection:
        found = connection.execute(_TESTS, {"repo": repo, "since": since, "until": until}).fetchall()
    tests = []
    for first, evidence, *columns in found:
        texts = FixTestTexts(*columns)
        tests.append(TrialTest(parse(texts.code, texts.name, "fix_test"), first, evidence, texts))
    return tests


def _ran(store: Store, repo: str, tests: Sequence[TrialTest]) -> dict[str, dict[tuple[str, str], Trial]]:
    """The last run of each test (by hash) on each build in each environment, read by the rules of today."""
    cases = {test.case.hash: test.case for test in tests}
    with store.read() as connection:
        found = rows.mappings(connection, _RUNS, [repo])
    trials: dict[str, dict[tuple[str, str], Trial]] = defaultdict(dict)
    for run in found:
        key, place = run.pop("case_hash"), (run.pop("build"), run.pop("environment"))
        if key in cases:
            trials[key][place] = _trial(cases[key], **run)
    return trials


def _trial(case: Case, version: str, outcome: str, signature: str | None, **ended: Any) -> Trial:
    """A stored run; where its error output was cut before the traceback, the outcome of the run itself stays."""
    run = RunResult(key="", waited=0.0, guarantees=(), versions={}, **ended)
    seen = observe(case, run)
    shown, detail = (str(seen.signature) if seen.signature else None), seen.detail
    if signature and seen.signature is None:
        shown, detail = signature, run.detail
    else:
        outcome = seen.outcome
    ran = _RAN.search(run.stdout)
    said = _SAID.get(outcome, "nothing")
    reason = reason_of(detail, fix_test_rules.load()) if said == "nothing" else None
    return Trial(version, said, detail, shown, run.stderr, reason, (int(ran[2]), int(ran[1])) if ran else None)


def _by_release(trials: Iterable[Trial]) -> list[Trial]:
    """One run per release: a test fails there if it does on any build, and passes if it does and never fails."""
    found: dict[str, Trial] = {}
    for trial in sorted(trials, key=lambda trial: ("failed", "passed", "nothing").index(trial.said)):
        found.setdefault(trial.version, trial)
    return sorted(found.values(), key=lambda trial: Version(trial.version))


def _row(name: str, trials: Sequence[Trial], found: TestClass) -> dict[str, Any]:
    columns = asdict(found)
    variants, variants_run = max((trial.variants for trial in trials if trial.variants), default=(None, None))
    said = {one: [trial for trial in trials if trial.said == one] for one in ("failed", "passed", "nothing")}
    return {
        "name": name,
        "class": columns.pop("kind"),
        **columns,
        "failed": [trial.version for trial in said["failed"]],
        "passed": [trial.version for trial in said["passed"]],
        "unusable": [trial.version for trial in said["nothing"]],
        "unusable_because": [trial.reason for trial in said["nothing"]],
        "variants": variants,
        "variants_run": variants_run,
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
