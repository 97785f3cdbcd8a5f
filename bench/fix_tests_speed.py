"""Measure how long fix tests take to link: `python bench/fix_tests_speed.py CLONE --revision BRANCH --every 40`.

Every n-th commit that fixes an issue and touches test files is made into scripts twice, in one process: as embers does it (tests
that both versions of a file have alike are not parsed), and with every file parsed whole. Both must give the same scripts. Written is
bench/fix_tests_speed.json: seconds of processor time, so that other work on the machine counts little, and what follows for all
commits. Git's own time is counted apart.

With `--whole` every commit is linked into a new database, too, in two processes and by the clock. With `--trials FILE` tests of a database
that `embers link-repros --fix-tests` filled are drawn and run on the
installed builds as `embers fix-tests --build all` does it (in a copy of the database, which should hold no runs); with `--everywhere`
each of them on every build, not only where a run can decide something. `--only-trials` measures nothing else, and keeps the other
figures of the file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

from torch_embers import settings
from torch_embers.builds.registry import Registry
from torch_embers.mine.git.fix_commits import FixCommit, contents, fix_commits, revision_of
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.progress import Silent
from torch_embers.repro.fix_tests import rules as fix_test_rules
from torch_embers.repro.fix_tests import versions
from torch_embers.repro.fix_tests.cases import FileOfTests, TestFound, scripts_of_commit
from torch_embers.run.fix_tests import trial
from torch_embers.run.fix_tests.link import blobs_of, files_of, link_fix_tests
from torch_embers.run.fix_tests.trial import Draw, TrialRequest, run_trials
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store.store import Store

FILE = Path(__file__).parent / "fix_tests_speed.json"


def _git() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _files(clone: Clone, commits: list[FixCommit]) -> list[list[FileOfTests]]:
    texts = contents(clone, (blob for commit in commits for blob in blobs_of(commit)))
    return [list(files_of(commit, texts)) for commit in commits]


def _scripts(files: list[list[FileOfTests]]) -> tuple[float, list[list[TestFound]]]:
    rules = fix_test_rules.load()
    start = time.process_time()
    found = [scripts_of_commit(each, rules) for each in files]
    return time.process_time() - start, found


def _whole(clone: Path, revision: str) -> dict[str, Any]:
    """Link every commit of the history into a new database: seconds by the clock, and of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "speed.duckdb")
        with store.writer("bench", create=True):
            pass
        start, used = time.perf_counter(), _used()
        done = link_fix_tests(store, DEFAULT_REPO, clone, Silent(), revision=revision, jobs=2)
        return {
            "whole_commits": done.commits,
            "whole_scripts": done.tests.get("script", 0),
            "whole_seconds": round(time.perf_counter() - start),
            "whole_seconds_processor": round(_used() - used),
            "whole_load": [round(value, 1) for value in os.getloadavg()],
        }


def _trials(database: Path, size: int, seed: int, everywhere: bool) -> dict[str, Any]:
    """Run drawn tests on all installed builds from none: how long, with all that starts.

    Args:
        database: is copied.
        size: how many tests.
        seed: of the draw.
        everywhere: each test on each build, not only where `embers fix-tests` would run it.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(shutil.copy(database, folder)))
        registry = Registry(settings.load().builds_dir)
        builds = registry.installed()
        request = TrialRequest(DEFAULT_REPO, builds, Draw(size, seed), jobs=2)
        around: Any = (lambda *_: iter(builds)) if everywhere else trial._around  # noqa: SLF001 - as it is
        with store.writer("bench") as writer, mock.patch.object(trial, "_around", around):
            start = time.perf_counter()
            runs = run_trials(store, writer, registry, request, Silent())
            seconds = time.perf_counter() - start
    return {
        "trial_tests": size,
        "trial_builds": len(builds),
        "trial_everywhere": everywhere,
        "trial_runs": runs,
        "trial_seconds": round(seconds),
        "trial_load": [round(value, 1) for value in os.getloadavg()],
    }


def _used() -> float:
    """Processor time of this process and of those that it waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main() -> None:
    """Measure, compare, write."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("clone", type=Path)
    arguments.add_argument("--revision", default="HEAD")
    arguments.add_argument("--every", type=int, default=40, help="take one of so many commits")
    arguments.add_argument("--whole", action="store_true", help="link the whole history by the clock, too")
    arguments.add_argument("--trials", type=Path, help="a linked database: run tests of it on every build, too")
    arguments.add_argument("--tests", type=int, default=60, help="how many, drawn at random")
    arguments.add_argument("--seed", type=int, default=0, help="of that draw")
    arguments.add_argument("--everywhere", action="store_true", help="each of them on every build")
    arguments.add_argument("--only-trials", action="store_true", help="keep the other figures")
    given = arguments.parse_args()
    if given.only_trials:
        _write(json.loads(FILE.read_text()) | _trials(given.trials, given.tests, given.seed, given.everywhere))
        return
    clone = Clone(given.clone)
    tip = revision_of(clone, given.revision)
    history = int(clone.run("rev-list", "--count", "--stdin", lines=[tip]))
    start, git = time.process_time(), _git()
    commits = fix_commits(clone, DEFAULT_REPO, tip, fix_test_rules.load().paths.tests)
    listing, listing_git = time.process_time() - start, _git() - git
    todo = [c for c in commits if c.files and not c.is_reverted]
    sample = todo[:: given.every]
    start, git = time.process_time(), _git()
    files = _files(clone, sample)
    reading, reading_git = time.process_time() - start, _git() - git
    partly, scripts = _scripts(files)
    with mock.patch.object(versions, "_alike", return_value=([], [])):
        whole, expected = _scripts(files)
    if scripts != expected:
        raise SystemExit("the scripts of a part parse are not those of a whole one")
    times = len(todo) / len(sample)
    facts = {
        "history": history,
        "commits": len(commits),
        "with_test_files": len(todo),
        "sample": len(sample),
        "files": sum(map(len, files)),
        "bytes": sum(len(f.after or b"") + len(f.before or b"") for each in files for f in each),
        "tests": sum(len([test for test in tests if test.test]) for tests in scripts),
        "equal_scripts": True,
        "seconds_listing": round(listing, 2),
        "seconds_listing_git": round(listing_git, 2),
        "seconds_reading": round(reading, 2),
        "seconds_reading_git": round(reading_git, 2),
        "seconds_scripts": round(partly, 2),
        "seconds_scripts_whole": round(whole, 2),
        "all_seconds_scripts": round(partly * times),
        "all_seconds_scripts_whole": round(whole * times),
        "all_seconds": round(listing + listing_git + (reading + reading_git + partly) * times),
        "load": [round(value, 1) for value in os.getloadavg()],
        "cores": os.cpu_count(),
    }
    if given.whole:
        facts |= _whole(given.clone, given.revision)
    if given.trials:
        facts |= _trials(given.trials, given.tests, given.seed, given.everywhere)
    _write(facts)


def _write(facts: dict[str, Any]) -> None:
    FILE.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
