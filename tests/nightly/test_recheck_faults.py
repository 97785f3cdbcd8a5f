"""The re-check under stress, as a whole command: wrong clocks, full disks, two at once, kills, builds that go."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from helpers.executor import BAD, GOOD, HELD, NEW, fixed_case, put_item
from helpers.verdicts import registered
from support import Ended, assert_clean_error, execute, fake_python, rows, small_disk
from torch_embers.atom_output import SPACE
from torch_embers.builds.registry import Registry
from torch_embers.cases import bank
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.timeout(900)]

DRIVER = """
import os
import sys
from pathlib import Path

sys.path[:0] = {paths!r}
from helpers.executor import BAD, GOOD, NEW, fixed_case
from torch_embers.cli import entry
from torch_embers.recheck import service

service.shipped.load = lambda _: 0
service.bank.load = lambda *_: [fixed_case((BAD, GOOD, NEW), known_bad=[BAD], relation="same")]
{more}
entry.main(sys.argv[1:])
"""
"""`embers recheck` on one case of a closed issue, which occurs on all builds."""

KILLED = """
from torch_embers.cli import runs
from torch_embers.store.writer import Writer

left = int(os.environ["KILL_AT"])


def dying(function):
    def counted(*arguments, **named):
        global left
        left -= not str(arguments[0]).endswith(".parquet")
        if left < 0:
            os.kill(os.getpid(), 9)
        return function(*arguments, **named)

    return counted


for name in ("rename", "replace", "write_bytes"):
    setattr(Path, name, dying(getattr(Path, name)))
Writer._close = dying(Writer._close)
service.mark_told = dying(service.mark_told)
"""
"""Kills the process before the so-many-th file is written or renamed, or transaction is closed; the tables of a state are
one step with its manifest."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three builds, and a database in which all verdicts are known but nothing was announced."""
    folder = tmp_path_factory.mktemp("home")
    registered(folder, BAD, GOOD, NEW)
    store = Store(folder / "e.duckdb")
    put_item(store, 1, "closed")
    with store.writer("test") as writer, writer.transaction() as connection:
        bank.save(connection, [fixed_case((BAD, GOOD, NEW), known_bad=[BAD], relation="same")])
    assert recheck(folder, folder).returncode == 10
    execute(store.path, "DELETE FROM announcements", "DELETE FROM status_history")
    return folder


@pytest.fixture
def at(home: Path, tmp_path: Path) -> Path:
    """A folder with a copy of that database."""
    shutil.copy(home / "e.duckdb", tmp_path / "e.duckdb")
    return tmp_path


def started(home: Path, at: Path, *options: object, more: str = "", **environment: str) -> subprocess.Popen[str]:
    paths = [str(Path(__file__).parents[1]), str(Path(bank.__file__).parents[2])]
    words = ["recheck", "--database", at / "e.duckdb", "--json", *options]
    for version in (BAD, GOOD, NEW):
        words += ["--build", version]
    program = [sys.executable, "-c", DRIVER.format(paths=paths, more=more), *map(str, words)]
    surroundings = {**os.environ, "EMBERS_BUILDS_DIR": str(home / "registry"), "NO_COLOR": "1", **environment}
    return subprocess.Popen(
        program, env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def recheck(home: Path, at: Path, *options: object, more: str = "", **environment: str) -> Ended:
    """A re-check of the three builds."""
    with started(home, at, *options, more=more, **environment) as process:
        out, err = process.communicate()
    return Ended(process.returncode, out, err)


def told(*runs: Ended) -> list[tuple[int, str]]:
    """What was printed as news: item and kind."""
    changes = [change for run in runs if run.stdout for change in json.loads(run.stdout)["changes"]]
    return [(int(change["issue"].partition("#")[2]), change["kind"]) for change in changes if change["told"]]


ONCE = [(1, "closed_but_occurs")]
PAGE = 4096
"""What a file of a tmpfs takes at least."""


# ---- wrong clocks --------------------------------------------------------------------------------------------------


def test_a_clock_that_was_years_ahead_keeps_no_verdict_fresh_and_repeats_no_announcement(home: Path, at: Path) -> None:
    first = recheck(home, at)
    times = {
        "runs": "ran_at",
        "verdicts": "decided_at",
        "status_history": "decided_at",
        "announcements": "announced_at",
    }
    with Store(at / "e.duckdb").writer("test") as writer, writer.transaction() as connection:
        for table, column in times.items():
            connection.execute(f"UPDATE {table} SET {column} = {column} + INTERVAL 5 YEAR")
    second, third = recheck(home, at), recheck(home, at)
    assert [run.returncode for run in (first, second, third)] == [10, 0, 0], second.stderr
    found = [json.loads(run.stdout) for run in (second, third)]
    assert [one["verdicts_reached"] for one in found] == [1, 0]
    assert [one["dated_later_than_now"]["verdicts"] for one in found] == [3, 3]
    assert "dated later than now, up to 20" in second.stderr
    assert told(first, second, third) == ONCE
    newest = "SELECT count(*) FROM latest_verdicts WHERE build LIKE '2.2.2%' AND decided_at < now()::TIMESTAMP"
    assert rows(at / "e.duckdb", newest) == [(1,)], "the later verdict counts, though it has the earlier date"


# ---- two at once ---------------------------------------------------------------------------------------------------


def test_of_two_at_once_one_is_done_and_the_other_names_who_is_at_work(home: Path, at: Path) -> None:
    other = at / "other"
    other.mkdir()
    shutil.copy(at / "e.duckdb", other / "e.duckdb")
    waits = "import time\nservice.runnable_here = lambda cases, *_: (print('at work', file=sys.stderr, flush=True), sys.stdin.read(), cases)[2]"
    with started(home, at, "--state", at / "state", more=waits) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "at work\n"
        same_database, same_state = recheck(home, at), recheck(home, other, "--state", at / "state")
        out, _ = process.communicate("")
    assert_clean_error(same_database, 5, f"{at / 'e.duckdb'} is being written by `recheck`")
    assert_clean_error(same_state, 5, f"{at / 'state'} is being written by `recheck --state`")
    after = recheck(home, other, "--state", at / "state")
    assert told(Ended(process.returncode, out, ""), after) == ONCE


# ---- full disks ----------------------------------------------------------------------------------------------------


@pytest.fixture
def full_disk() -> Iterator[Path]:
    with small_disk("1m") as disk:
        yield disk


def fill(disk: Path) -> Path:
    """A file that takes all that is left."""
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(PAGE))
        except OSError:
            return disk / "filler"


@pytest.mark.parametrize(
    ("option", "left", "said"),
    [
        ("--state", 0, (5, "no room for {}.lock")),
        ("--state", 1, (3, "--state {} cannot be written")),
        ("--out", 0, (3, "{}/recheck.json cannot be written")),
    ],
    ids=["nothing", "no room for the state", "no room for the report"],
)
def test_a_change_that_a_full_disk_kept_from_being_told_is_told_by_the_next_run(
    home: Path, at: Path, full_disk: Path, option: str, left: int, said: tuple[int, str]
) -> None:
    filler = fill(full_disk)
    os.truncate(filler, filler.stat().st_size - left * PAGE)
    failed = recheck(home, at, option, full_disk / "x")
    code, words = said
    assert_clean_error(failed, code, words.format(full_disk / "x"), "No space left on device")
    filler.unlink()
    again, then = (recheck(home, at, option, full_disk / "x") for _ in range(2))
    assert [again.returncode, then.returncode] == [10, 0], again.stderr
    assert told(failed, again, then) == ONCE
    [change] = json.loads(again.stdout)["changes"]
    assert change["status"] == "closed_but_occurs"
    if code == 3:  # the first run had found it
        assert change["found_at"] < json.loads(again.stdout)["made_at"]
    assert list(full_disk.glob(".*.part")) == []


def test_a_database_that_may_not_grow_is_one_line_and_the_next_run_tells_all(home: Path, at: Path) -> None:
    limit = """
import resource
from torch_embers.recheck import recheck as rechecking

write = rechecking._write


def limited(*arguments):
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    write(*arguments)


rechecking._write = limited
"""
    failed = recheck(home, at, more=limit)
    assert_clean_error(failed, 5, "no room for", "run the same command again")
    assert told(recheck(home, at), recheck(home, at)) == ONCE


# ---- kills ---------------------------------------------------------------------------------------------------------


@pytest.mark.serial
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("bad", "kind"), [((BAD, GOOD, NEW), "closed_but_occurs"), ((BAD,), "fixed")])
def test_a_re_check_that_is_killed_at_any_step_loses_nothing_and_tells_nothing_twice(
    home: Path, at: Path, bad: tuple[str, ...], kind: str
) -> None:
    """Every step that writes. What is printed and then killed before it is noted is the one that is told again.

    All verdicts of the bug that is still there are known; those of the one that was fixed are reached by both batches.
    """
    once, twice, held = [(1, kind)], [], []
    with Store(at / "e.duckdb").writer("test") as writer, writer.transaction() as connection:
        bank.save(connection, [fixed_case(bad, known_bad=[BAD], relation="same")])
    case = f'service.bank.load = lambda *_: [fixed_case({bad!r}, known_bad=[BAD], relation="same")]\n'
    for step in range(100):
        place = at / str(step)
        place.mkdir()
        shutil.copy(at / "e.duckdb", place / "e.duckdb")
        options = ("--out", place / "out", "--state", place / "state")
        killed = recheck(home, place, *options, more=case + KILLED, KILL_AT=str(step))
        if killed.returncode != -signal.SIGKILL:
            break
        again = recheck(home, place, *options, more=case)
        assert again.returncode in (10, 0), (step, again.stderr)
        assert told(killed, again) in (once, once * 2), step
        if told(killed, again) == once * 2:
            twice.append(step)
        held.append([rows(place / "e.duckdb", query) for query in HELD])
        feed = ET.parse(place / "out" / "recheck.atom").getroot()
        assert len(feed.findall(f"{{{SPACE}}}entry")) == 1, step
        left = [path.name for folder in (place, place / "out") for path in folder.glob(".*")]
        assert left == [], step
        shutil.copy(at / "e.duckdb", place / "e.duckdb")
        other = recheck(home, place, "--state", place / "state", more=case)
        assert told(other) == [], (step, "another database, the same state")
        shutil.rmtree(place)
    assert killed.returncode == 10
    assert step > 10
    undisturbed = [rows(place / "e.duckdb", query) for query in HELD]
    assert [is_told for *_, is_told in undisturbed[-1]] == [True]
    assert [place for place, one in enumerate(held) if one != undisturbed] == []
    assert len(twice) <= 3, twice


# ---- builds that go ------------------------------------------------------------------------------------------------

BREAKS = """
import shutil
from torch_embers.sandbox.runner import Worker

torch = Path({torch!r})


def broken():
    if {how!r} == "gone":
        shutil.rmtree(torch.parents[4], ignore_errors=True)
    elif {how!r} == "another":
        torch.write_text(torch.read_text().replace({new!r}, "2.99.99"))
    else:
        torch.write_text("raise ImportError('libtorch.so: cannot open shared object file')")


if {when!r} == "before":
    broken()
else:
    close = Worker.close
    Worker.close = lambda self: (self.servers and broken(), close(self))[1]
"""
"""The newest build breaks before a re-check, or between two zygotes of one."""
REASONS = {
    "gone": "is no program",
    "cannot import": "torch cannot be imported: ImportError: libtorch.so",
    "another": "and is 2.99.99@",  # of another length: Python takes old bytecode for a file of one size and second
}


@pytest.mark.parametrize("how", ["gone", "cannot import", "another"])
@pytest.mark.parametrize("when", ["before", "while it runs"])
def test_a_build_that_goes_is_no_news_and_nothing_is_lost(home: Path, at: Path, how: str, when: str) -> None:
    registry = Registry(at / "registry")
    for version in (BAD, GOOD):
        registry.register(home / version / "bin" / "python")
    python = fake_python(at / "new", NEW)
    registry.register(python)
    [torch] = (at / "new" / "lib").glob("python*/site-packages/torch/__init__.py")
    right = torch.read_text()
    execute(
        at / "e.duckdb", "DELETE FROM verdicts WHERE build LIKE '2.2.2%'", "DELETE FROM runs WHERE build LIKE '2.2.2%'"
    )
    more = BREAKS.format(torch=str(torch), how=how, when=when, new=NEW)
    broken = recheck(at, at, "--state", at / "state", more=more)
    assert "Traceback" not in broken.stderr
    assert told(broken) == []
    assert broken.returncode == 12, broken.stderr
    found = json.loads(broken.stdout)
    [left_out] = found["left_out"]
    assert left_out["name"] == NEW
    assert how == "another" or str(python) in left_out["reason"]
    assert REASONS[how] in left_out["reason"]
    assert f"build {NEW} is left out" in broken.stderr
    assert found["counts"] == {}, "nothing is said of the newest build from what others show"
    assert rows(at / "e.duckdb", "SELECT count(*) FROM status_history WHERE provenance = 'own'") == [(0,)]
    if how == "gone":
        fake_python(at / "new", NEW)
    torch.write_text(right)
    assert told(recheck(at, at, "--state", at / "state", "--every", "0")) == ONCE


def test_an_older_build_that_cannot_be_used_keeps_its_verdicts_and_the_others_are_told(home: Path, at: Path) -> None:
    registry = Registry(at / "registry")
    for version in (BAD, NEW):
        registry.register(home / version / "bin" / "python")
    registry.register(fake_python(at / "old", GOOD))
    shutil.rmtree(at / "old")
    execute(
        at / "e.duckdb",
        "DELETE FROM verdicts WHERE build NOT LIKE '2.0.1%'",
        "DELETE FROM runs WHERE build NOT LIKE '2.0.1%'",
    )
    first = recheck(at, at, "--out", at / "out")
    assert (first.returncode, told(first)) == (10, ONCE), first.stderr
    assert [one["name"] for one in json.loads(first.stdout)["left_out"]] == [GOOD]
    assert f"build {GOOD} was left out" in (at / "out" / "recheck.md").read_text()
    second = recheck(at, at)
    assert (second.returncode, told(second)) == (12, []), second.stderr


def test_where_no_build_can_be_used_the_re_check_ends_with_the_reason(at: Path) -> None:
    registered(at, BAD, GOOD, NEW)
    for version in (BAD, GOOD, NEW):
        shutil.rmtree(at / version)
    execute(at / "e.duckdb", "DELETE FROM verdicts", "DELETE FROM runs")
    done = recheck(at, at)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "is no program" in done.stderr.splitlines()[-1]
