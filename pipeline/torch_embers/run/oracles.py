"""Scripts of cases, of issues and of the user under oracles, in the sandbox, on builds: `embers run --oracle`.

What oracles find is evidence of its own: an operator behaved wrongly in this script on this build. It is no verdict on
a case and decides no status of its item, because the operator need not be what the issue is about. In the script of a
report, which shows little else, it is the match of the behaviour with the report (``timeline/judged.py``).
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from torch_embers import resources
from torch_embers.builds.registry import Registry, environment_of, environment_text
from torch_embers.builds.work import Machine, Work, note_builds
from torch_embers.cases import bank
from torch_embers.cases.case import BLOCK_START, Case, CaseError, parse
from torch_embers.errors import InputError
from torch_embers.normalize import now_utc
from torch_embers.oracles import attach, finding
from torch_embers.run import state as states
from torch_embers.sandbox import bundle
from torch_embers.sandbox.runner import PRELOAD, Attempt
from torch_embers.store import rows
from torch_embers.timeline import update_timelines
from torch_embers.timeline.item_script import of_report
from torch_embers.verdicts import shipped
from torch_embers.verdicts.batch import PRELOADS, PROFILES, cannot_run_here
from torch_embers.verdicts.verdict import BUG, RIGHT, SKIP, last_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.oracles.finding import Finding
    from torch_embers.progress import Progress
    from torch_embers.run.cases import RunRequest
    from torch_embers.sandbox.runner import RunResult
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer
    from torch_embers.timeline.item_script import ItemScript

Result = Literal[
    "found",
    "not_found",
    "nothing_compared",
    "undecided",
    "failed",
    "cannot_run",
    "timeout",
    "out_of_memory",
    "sandbox_error",
]
FOUND = 10
"""Exit code of the command when an oracle has found something."""
HEADER = '''# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# requires = ["cpu"]
# signature = "exception"
# oracle = "exception"
# ///
"""A script of the user."""
'''
"""What a plain script lacks of a case."""


_MADE = """
SELECT count(*) FROM oracle_runs WHERE name = ? AND case_hash = ? AND build = ? AND environment = ? AND oracles = ?
"""
_CRASHED = re.compile(r'(?m)^  File "([^"/<>]{1,200})", line (\d{1,6}) in ')
"""A frame of the script in what the interpreter writes when a signal ends it, the innermost first."""


class Watched(NamedTuple):
    """A script on a build under oracles, and what came of it.

    Attributes:
        result: ``found``; ``not_found``: the script reached its end and compared calls agree; ``nothing_compared``: no
            call that an oracle looks at; ``undecided``: no such call could be decided; ``failed``: the script ended
            before its end, and until there nothing was found; the others as outcomes of runs.
        looked: by oracle, ``compared`` calls, and ``refused`` ones as (operator, reason, how many).
    """

    case: Case
    build: Build
    oracles: Sequence[str]
    result: Result
    detail: str
    findings: Sequence[Finding] = ()
    looked: Mapping[str, Mapping[str, Any]] = {}
    run: RunResult | None = None

    @property
    def compared(self) -> int:
        """Calls that were compared."""
        return sum(part["compared"] for part in self.looked.values())

    def row(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "case": self.case.name,
            "items": [f"{repo}#{number}" for repo, number in self.case.issues],
            "build": self.build.name,
            "version": self.build.version,
            "environment": environment_text(environment_of(self.build, self.case.threads)),
            "oracles": list(self.oracles),
            "result": self.result,
            "detail": self.detail,
            "exit_code": self.run.exit_code if self.run else None,
            "signal": self.run.signal if self.run else None,
            "looked": {name: dict(part) for name, part in self.looked.items()},
            "findings": [found.row() for found in self.findings],
        }


def case_of_file(path: Path) -> Case:
    """A file as something to run: a case, or a plain script of the user.

    Raises:
        CaseError: not readable, or no Python.
    """
    try:
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: {error}") from error
    if BLOCK_START in text:
        return parse(text, path.stem, "own")
    return replace(parse(HEADER + text, path.stem, "own"), code=text)


def is_script(name: str) -> bool:
    """Whether an argument names a file rather than a case."""
    return name.endswith(".py") and Path(name).is_file()


def run_watched(
    store: Store,
    settings: Settings,
    request: RunRequest,
    oracles: Sequence[str],
    builds: Sequence[Build],
    progress: Progress,
) -> Iterator[Watched]:
    """Run scripts under oracles, keep what came of them, and yield each as it ends.

    Raises:
        InputError, BuildError, SandboxError, StoreError: as of their makers.
    """
    own = [case_of_file(Path(name)) for name in request.cases if is_script(name)]
    names = [name for name in request.cases if not is_script(name)]
    if not request.cases:
        raise InputError("name a case, an item or a script: `embers run CASE --oracle layout`")
    with states.kept(store, "run", request.state) as writer:
        if names:
            shipped.load(writer)
        cases = [case for case in own + _named(store, names, settings.repo) if request.shard.has(case.hash)]
        environments = note_builds(writer, ((build, environment_of(build)) for build in builds))
        progress.expects(len(cases) * len(builds))
        machine = Machine(Registry(settings.builds_dir), request.unsandboxed, progress)
        for done in _watch(machine, cases, builds, oracles, request.jobs):
            _keep(writer, done, environments[done.build.identity])
            progress.advanced(1)
            yield done
        update_timelines.refresh(writer, [item for case in cases if case.origin == "report" for item in case.issues])


def _named(store: Store, names: Sequence[str], repo: str) -> list[Case]:
    """The cases that are named; of an item without a case the script of its report."""
    found: dict[str, Case] = {}
    for name in names:
        try:
            cases = bank.load(store, [name], repo)
        except InputError:
            home, _, number = name.rpartition("#")
            if not number.isdecimal():
                raise
            with store.read() as connection:
                cases = [_of_report(of_report(connection, home or repo, int(number)))]
        found |= {case.hash: case for case in cases}
    return list(found.values())


def _of_report(item: ItemScript) -> Case:
    """The script of a report as something to run: of an unknown author, under the hash that its timeline has."""
    case = parse(HEADER + item.script.code, f"report{item.number}", "report")
    return replace(case, code=item.script.code, issues=((item.repo, item.number),), hash=item.script.hash)


def _watch(
    machine: Machine, cases: Sequence[Case], builds: Sequence[Build], oracles: Sequence[str], jobs: int
) -> Iterator[Watched]:
    """Run scripts under oracles, each in a process of its own; the database is left alone."""
    rules = resources.load_toml("oracles.toml")
    works = []
    for build in builds:
        for place, case in enumerate(cases):
            if reason := cannot_run_here(case, build):
                yield Watched(case, build, oracles, "cannot_run", reason)
            else:
                attempt = _attempt(str(place), case, oracles, rules)
                works.append(Work(case, build, attempt, PROFILES[case.origin], PRELOADS.get(case.origin, PRELOAD)))
    for work, ended in machine.make(works, jobs):
        findings, looked = finding.read(ended.stdout), attach.looked(ended.stdout)
        result, detail = judged(work.subject, ended, findings, looked)
        yield Watched(work.subject, work.build, oracles, result, detail, findings, looked, ended)


def _attempt(key: str, case: Case, oracles: Sequence[str], rules: Mapping[str, Any]) -> Attempt:
    options = {
        "code": case.code,
        "shown": f"{case.name}.py",
        "rules": rules,
        "oracles": list(oracles),
        "every": 1,
        "ops": [],
    }
    limits = rules["limits"]
    return Attempt(
        key,
        bundle.script("attach", "sandboxed", options),
        f"{case.name}.py",
        timeout=case.timeout * limits["slower"],
        memory=max(limits["memory"], case.memory),
        threads=case.threads,
        finalise=case.finalise,
    )


def judged(
    case: Case, ended: RunResult, findings: Sequence[Finding], looked: Mapping[str, Mapping[str, Any]]
) -> tuple[Result, str]:
    """What a run under oracles came to, and how its script ended. Pure."""
    result, detail = _ended(case, ended)
    if findings:
        return "found", detail
    if result is not None:
        return result, detail
    if any(part["compared"] for part in looked.values()):
        return "not_found", detail
    return ("undecided" if any(part["refused"] for part in looked.values()) else "nothing_compared"), detail


def _ended(case: Case, ended: RunResult) -> tuple[Result | None, str]:
    """None where the script reached its end. A case with a check of its own does so, too, where it sees its bug."""
    if ended.ended in ("timeout", "sandbox_error"):
        return ("timeout" if ended.ended == "timeout" else "sandbox_error"), ended.detail
    if ended.ended == "memory":
        return "out_of_memory", ended.detail
    if ended.ended != "exited" or ended.exit_code is None:
        where = f" at {place[1]}:{place[2]}" if (place := _CRASHED.search(ended.stderr)) else ""
        return "failed", (ended.detail or f"ended by signal {ended.signal}") + where
    own = case.oracle == "self"
    if own and ended.exit_code == SKIP:
        return "cannot_run", "exit 125"
    if ended.exit_code == RIGHT or (own and ended.exit_code == BUG):
        return None, f"exit {ended.exit_code}"
    return "failed", f"exit {ended.exit_code}: {last_line(ended.stderr) or 'no message'}"


def _keep(writer: Writer, done: Watched, environment: str) -> None:
    """Write a run; its key is that of the work, so that the same work of two machines is one run."""
    row: dict[str, Any] = {
        "name": done.case.name,
        "case_hash": done.case.hash,
        "build": done.build.identity,
        "environment": environment,
        "profile": PROFILES[done.case.origin],
        "oracles": list(done.oracles),
        "result": done.result,
        "detail": done.detail,
        "exit_code": done.run.exit_code if done.run else None,
        "signal": done.run.signal if done.run else None,
        "compared": done.compared,
        "looked": json.dumps(done.looked),
        "duration": done.run.duration if done.run else 0.0,
        "guarantees": list(done.run.guarantees) if done.run else [],
        "kernel": done.run.kernel if done.run else None,
        "ran_at": now_utc(),
    }
    work = [row["name"], row["case_hash"], row["build"], environment, row["oracles"]]
    with writer.transaction() as connection:
        [(attempt,)] = connection.execute(_MADE, work).fetchall()
        run = blake2b(repr([*work, attempt]).encode(), digest_size=8).hexdigest()
        rows.append(connection, "oracle_runs", [row | {"run": run}])
        rows.append(connection, "oracle_findings", [_row(run, *pair) for pair in enumerate(done.findings)])


def _row(run: str, place: int, found: Finding) -> dict[str, Any]:
    kept = {name: getattr(found, name) for name in ("oracle", "op", "overload", "severity", "line", "message")}
    return {"run": run, "place": place, **kept, "value": found.place, "finding": json.dumps(found.row())}


def exit_code(done: Sequence[Watched]) -> int:
    """Of the command: 10 with findings."""
    return FOUND if any(one.findings for one in done) else 0
