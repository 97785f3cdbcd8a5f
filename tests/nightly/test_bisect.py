"""Bisections over builds: predicates, scripts, cases, nightlies, commits; what they keep, print and refuse."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from helpers.bisect import (  # noqa: F401 - fixtures
    VERSIONS,
    _nothing_but_these_builds_and_cases,
    ahead,
    build,
    database,
    embers,
    history,
    home,
    predicate,
    wheels,
)
from support import assert_clean_error, case_of, eventually, fake_python, rows
from torch_embers.builds import install
from torch_embers.builds.registry import Build, Registry
from torch_embers.progress import Silent
from torch_embers.repro import bank
from torch_embers.run.bisect import command as bisecting
from torch_embers.run.bisect import measuring, report, sessions
from torch_embers.run.bisect.build_list import BuildList
from torch_embers.run.bisect.places import Place
from torch_embers.run.bisect.request import BisectRequest
from torch_embers.run.bisect.search import Reply
from torch_embers.settings import Settings
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def table(home: Path, database: Path, *words: object) -> dict[str, Any]:
    done = embers(home, database, *words, "--json")
    assert done.returncode in (0, 11), done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def test_a_predicate_is_bisected_by_its_exit_codes_and_an_interrupted_search_goes_on(
    home: Path, database: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    command = predicate(["2.0.1", "2.1.2"], log)
    made = table(home, database, "--predicate", command, "--runs", 3, "--out", tmp_path / "r.md")
    assert (made["answer"], made["changes"]) == (
        "fixed",
        [{"kind": "fixed", "before": "2.1.2", "after": "2.2.2", "untestable": []}],
    )
    assert "gone since 2.2.2" in (tmp_path / "r.md").read_text(encoding="utf-8")
    asked = log.read_text(encoding="utf-8")
    assert rows(database, "SELECT kind, count(*) FROM bisections GROUP BY kind") == [("fixed", 1)]
    assert len(rows(database, "FROM bisection_steps")) == len(made["steps"])
    # what a kill left: some steps, no answer
    store = Store(database)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("UPDATE bisections SET finished_at = NULL, kind = NULL")
        connection.execute("DELETE FROM bisection_steps WHERE version = '2.2.2'")
    resumed = table(home, database, "--predicate", command, "--runs", 3)
    assert resumed["changes"] == made["changes"]
    assert {build["version"] for build in resumed["builds"] if build["asked_on"]} == set(VERSIONS) - {"2.2.2"}
    again = log.read_text(encoding="utf-8")[len(asked) :].split()
    assert set(again) == {"2.2.2"}
    finished = table(home, database, "--predicate", command, "--runs", 3)
    assert not any(build["asked_on"] for build in finished["builds"]), "a finished search of a command is not reused"


def test_an_interrupted_search_goes_on_with_the_builds_that_it_installed(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, log, room = Registry(tmp_path / "registry"), tmp_path / "log", [2]

    def installed(_: Settings, version: str, *__: object) -> Build:
        if not room[0]:
            raise KeyboardInterrupt
        room[0] -= 1
        own = registry.register(fake_python(tmp_path / version, version, version), version)
        return registry.save(replace(own, managed=True))

    monkeypatch.setattr(install, "known_releases", lambda: list(VERSIONS))
    monkeypatch.setattr(install, "add_for", installed)
    monkeypatch.setattr(BuildList, "prefetch", lambda *_: None)
    request = BisectRequest(predicate=predicate(["2.0.1", "2.1.2"], log), runs=2, install=True)
    store, wanted = Store(database), Settings(database=database, builds_dir=registry.folder)
    with pytest.raises(KeyboardInterrupt):
        bisecting.bisect(store, wanted, request, Silent())
    asked = log.read_text(encoding="utf-8").split()
    room[0] = 9
    made = bisecting.bisect(store, wanted, request, Silent())
    assert [place.version for place in made.last_change or ()] == ["2.1.2", "2.2.2"]
    assert set(asked) == {"2.0.1", "2.3.1"}
    assert log.read_text(encoding="utf-8").split()[len(asked) :].count("2.0.1") == 0, "it is stored"


def test_a_build_that_goes_while_a_predicate_is_bisected_is_left_out(tmp_path: Path, database: Path) -> None:
    registry = Registry(tmp_path / "registry")
    for place, version in enumerate(VERSIONS):
        registry.register(fake_python(tmp_path / version, version, f"{place}" * 16))
    away = [str(tmp_path / version) for version in ("2.1.2", "2.2.2")]
    code = (
        f"import os, shutil, sys; v = os.environ['EMBERS_VERSION']; "
        f"[shutil.rmtree(path, ignore_errors=True) for path in {away!r}]; sys.exit(v == '2.0.1')"
    )
    done = embers(
        tmp_path / "registry",
        database,
        "--predicate",
        f"{sys.executable} -c {shlex.quote(code)}",
        "--runs",
        1,
        "--json",
    )
    assert done.returncode == 0, done.stderr
    [change] = json.loads(done.stdout)["changes"]
    assert (change["before"], change["after"]) == ("2.0.1", "2.3.1")


def test_builds_that_a_predicate_skips_widen_the_range(home: Path, database: Path) -> None:
    made = table(home, database, "--predicate", predicate(["2.0.1"], skip=["2.1.2", "2.2.2"]), "--runs", 1)
    [change] = made["changes"]
    assert (change["before"], change["after"], change["untestable"]) == ("2.0.1", "2.3.1", ["2.1.2", "2.2.2"])
    assert "no later than 2.3.1" in made["sentence"]


def test_a_search_that_cannot_tell_ends_with_its_own_code(home: Path, database: Path) -> None:
    done = embers(home, database, "--predicate", predicate([], skip=VERSIONS), "--runs", 1)
    assert done.returncode == bisecting.CANNOT_TELL
    assert "no build could be tested" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--predicate", "exit 0", "--good", "2.0.1", "--bad", "2.0.1"], 3, "both 2.0.1"),
        (["--predicate", "true", "--good", "9.9.9"], 3, "no build '9.9.9'"),
        (["--predicate", "true", "--bad", "2.3.1", "--runs", "1"], 3, "was said to be bad, but it is clean"),
        (["--predicate", "no-such-program-here"], 3, "no-such-program-here"),
        (["--predicate", "'"], 3, "--predicate"),
        (["--predicate", " "], 3, "is empty"),
        (["--predicate", "sh -c 'exit 130'"], 3, "128 and above stop"),
        (["--script", "nowhere.py"], 3, "no script nowhere.py"),
        (["nothing_of_this_name", "--hang-is", "bad"], 3, "give it with --script or --predicate"),
        (["nothing_of_this_name"], 3, "nothing_of_this_name"),
        ([], 3, "give one thing to bisect"),
        (["1", "--predicate", "true"], 3, "give one thing to bisect"),
        (["--predicate", "true", "--commits", "nowhere"], 3, "no such folder"),
    ],
)
def test_bad_input_is_one_clean_line(home: Path, database: Path, words: list[str], code: int, said: str) -> None:
    assert_clean_error(embers(home, database, *words), code, said)


def test_a_script_runs_in_the_sandbox_and_a_missing_package_is_no_bug(
    home: Path, database: Path, tmp_path: Path
) -> None:
    script = tmp_path / "check.py"
    script.write_text(
        "import torch\n"
        "if torch.__version__ == '2.0.1': import no_such_package\n"
        "if torch.__version__ == '2.1.2': import os; os.kill(os.getpid(), 11)\n"
        "assert torch.__version__ == '2.3.1' or torch.__version__ == '2.1.2'\n"
    )
    made = table(home, database, "--script", script, "--runs", 3)
    answers = {build["version"]: build["answer"] for build in made["builds"]}
    assert answers == {"2.0.1": "unknown", "2.1.2": "yes", "2.2.2": "yes", "2.3.1": "no"}
    assert made["sentence"].startswith("The bug is gone since 2.3.1")


def test_a_case_is_bisected_by_sweeps_with_controls_and_from_known_verdicts(home: Path, tmp_path: Path) -> None:
    code = """
import os, sys, torch
bad = torch.__version__ < "2.2" or os.environ.get("EMBERS_PLANT") == "1"
print("off" if bad else "equal")
sys.exit(1 if bad else 0)
"""
    store, wanted = Store(tmp_path / "e.duckdb"), Settings(database=tmp_path / "e.duckdb", builds_dir=home)
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        bank.save(connection, [case_of(code, known_bad=["2.0.1"])])
    made = bisecting.bisect(store, wanted, BisectRequest("pt1_example"), Silent())
    assert made.sentence == "The bug is gone since 2.2.2 (2.1.2 is the last build with it)."
    runs = rows(store.path, "SELECT count(*) FROM runs")
    assert bisecting.bisect(store, wanted, BisectRequest("pt1_example"), Silent()).sentence == made.sentence
    assert rows(store.path, "SELECT count(*) FROM runs") == runs
    assert "Environment: cpu" in report.markdown(made)


@pytest.mark.parametrize("how", ["script", "predicate"])
def test_a_hang_is_the_bug_where_that_is_said(home: Path, database: Path, tmp_path: Path, how: str) -> None:
    script = tmp_path / "check.py"
    script.write_text("import time, torch\ntime.sleep(60 * (torch.__version__ < '2.2'))\n")
    words = ["--script", script] if how == "script" else ["--predicate", f"{{python}} {script}"]
    words += ["--good", "2.2.2", "--bad", "2.1.2", "--runs", 1, "--timeout", 5]
    made = table(home, database, *words, "--hang-is", "bad")
    assert [(one["before"], one["after"]) for one in made["changes"]] == [("2.1.2", "2.2.2")]
    assert_clean_error(embers(home, database, *words), 3, "said to be bad, but it cannot be tested here")


def test_a_command_past_its_time_is_killed_with_its_children(tmp_path: Path) -> None:
    late = tmp_path / "late"
    call = ["sh", "-c", f"(sleep 1; touch {shlex.quote(str(late))}); exit 0"]
    assert measuring._predicate_run(call, dict(os.environ), 0.3, "skip").outcome == "timeout"
    assert measuring._predicate_run(call, dict(os.environ), 0.3, "bad").outcome == "reproduced"
    time.sleep(1)
    assert not late.exists()


def test_what_a_command_leaves_in_the_background_ends_with_it(tmp_path: Path) -> None:
    late = tmp_path / "late"
    call = ["sh", "-c", f"(sleep 1; touch {shlex.quote(str(late))}) & exit 3"]
    assert measuring._predicate_run(call, dict(os.environ), 5, "skip").outcome == "reproduced"
    time.sleep(1.5)
    assert not late.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_bisection_that_is_ended_leaves_no_command_running(
    home: Path, database: Path, tmp_path: Path, number: int
) -> None:
    begun, late = tmp_path / "begun", tmp_path / "late"
    command = f"sh -c 'touch {begun}; sleep 5; touch {late}'"
    words = ["bisect", "--predicate", command, "--runs", "1", "--database", str(database)]
    surroundings = {**os.environ, "EMBERS_BUILDS_DIR": str(home), "NO_COLOR": "1"}
    program = [sys.executable, "-m", "torch_embers", *words]
    with subprocess.Popen(program, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        eventually(begun.exists)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert b"Traceback" not in said
    time.sleep(5.5)
    assert not late.exists()


def test_a_child_in_the_background_is_no_timeout_and_the_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MOST_OUTPUT", 1000)
    call = ["sh", "-c", "head -c 300000 /dev/zero; sleep 0.4; echo; echo seen; sleep 3 & exit 1"]
    began = time.monotonic()
    seen = measuring._predicate_run(call, dict(os.environ), 2.5, "skip")
    assert (seen.outcome, seen.detail) == ("reproduced", "seen")
    assert time.monotonic() - began < 2.5


def test_an_index_that_fails_after_the_search_leaves_the_answer_over_releases(home: Path, database: Path) -> None:
    command = predicate(["2.0.1", "2.1.2"])
    done = embers(home, database, "--predicate", command, "--runs", 1, "--index", "nowhere")
    assert done.returncode == 0, done.stderr
    assert "gone since 2.2.2" in done.stdout
    assert "no nightlies: nowhere is no folder" in done.stderr


def test_a_search_over_nightlies_goes_on_between_the_two_releases_and_ends_with_their_commits(
    home: Path,
    database: Path,
    wheels: Path,
    history: tuple[Path, dict[str, str], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    clone, _, days = history
    for path in wheels.iterdir():
        path.rename(path.with_name(path.name.replace("2.9.0", "2.2.0")))

    def installed(_: Settings, version: str, *__: object) -> Build:
        return Registry(home).register(fake_python(tmp_path / version, version, days[version[-2:]]), version)

    monkeypatch.setattr(install, "add_for", installed)
    command = predicate(["2.0.1", "2.1.2", "2.2.0.dev20250801", "2.2.0.dev20250802"])
    store, wanted = Store(database), Settings(database=database, builds_dir=home)
    request = BisectRequest(predicate=command, runs=1, index=str(wheels), evict=True, clone=clone)
    made = bisecting.bisect(store, wanted, request, Silent())
    assert made.nightlies is not None
    assert [place.version[-4:] for place in made.nightlies.places][1:-1] == ["0801", "0803", "0806"]
    assert [place.version[-4:] for place in made.nightlies.last_change or ()] == ["0801", "0803"]
    assert made.commits is not None
    assert (made.commits.before, made.commits.total) == ("2.2.0.dev20250801", 1)
    assert rows(database, "SELECT kind, commits_total FROM bisections ORDER BY finished_at") == [
        ("fixed", None),
        ("fixed", 1),
    ]
    assert not [b for b in Registry(home).installed() if b.channel == "nightly"]


def test_another_nightly_of_the_source_stands_in_for_one_that_cannot_be_had_and_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database: Path
) -> None:
    builds, begun, go_on = ahead(monkeypatch, tmp_path)
    go_on.set()
    alone, broken, fine = (Place(version, addresses=("x",)) for version in ("2.9.4", "2.9.4", "2.9.5"))
    builds.places[:] = [alone, replace(broken, alike=(broken, fine))]
    builds.prefetch([1])
    assert builds.of(0) is None
    own = builds.of(1)
    assert own is not None
    assert builds.places[1] == Place("2.9.5", own, ("x",)), "the list names what was run"
    assert begun == ["2.9.4"] * 3 + ["2.9.5"]
    builds.evict()
    store = Store(database)
    with store.writer("test", create=True) as writer:
        for asked in (1, 0):
            places = [replace(broken, alike=(fine,))]

            def ask(place: int, /, *, fresh: bool = False, asked: int = asked, places: Any = places) -> Reply:
                assert asked, "it is stored"
                places[place] = fine
                return Reply("yes", 1, 1)

            session = sessions.begun(store, writer, "key", "x", 1, fresh=True)
            assert sessions.Remembering(session, writer, places, ask)(0).answer == "yes"
            assert places == [fine], "a search that goes on names it, too"
