"""The second process that finds links: equal tables whatever happens to it, and nothing of it is left behind."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers.link import helper, stage
from torch_embers.link.stage import link_changed
from torch_embers.store import rows as table_rows
from torch_embers.store.records import Batch, Comment, Commit, Item
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from concurrent.futures import Future

    from torch_embers.link.texts import Rows, Texts

REPO = "o/r"
COUNT = 120
SERVE = "import sys; sys.path[:] = sys.argv[1:]; from torch_embers.link import helper; "
WARNING = "the second process that finds links was lost"


def made(path: Path) -> Store:
    """A database with texts of all three origins, not linked yet."""
    store = Store(path)
    items = [
        Item(REPO, n, "issue" if n % 2 else "pull", f"Crash of torch.sparse {n}", f"Fixes #{n + 1}\nsee o/other#{n}")
        for n in range(1, COUNT)
    ]
    comments = [Comment(REPO, n, f"c{n}", body=f"duplicate of #{n + 2}") for n in range(1, COUNT)]
    commits = [
        Commit(REPO, f"{n:040x}", subject=f"Mend it (#{n})", message=f"Mend it (#{n})\n\nReverts #{n + 3}")
        for n in range(1, COUNT)
    ]
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(items=items, comments=comments, commits=commits))
    return store


def tables(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """What the stage writes, in the order of writing."""
    with store.read() as connection:
        names = ("links", "components", "rejects", "link_scans")
        return {name: connection.execute(f"FROM {name}").fetchall() for name in names}


@pytest.fixture
def alone(tmp_path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The tables that one process makes."""
    store = made(tmp_path / "alone.duckdb")
    counts = link_changed(store)
    assert (counts.items, counts.comments, counts.commits) == (COUNT - 1, COUNT - 1, COUNT - 1)
    found = tables(store)
    assert found["links"]
    assert found["components"]
    return found


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> list[helper.Helper]:
    """Every link stage has a helper, which is ready before it is first asked; all that were started."""
    started: list[helper.Helper] = []
    start = helper.Helper.__init__

    def ready(self: helper.Helper) -> None:
        start(self)
        started.append(self)
        self._ready.exception(60)

    monkeypatch.setattr(helper.Helper, "__init__", ready)
    monkeypatch.setattr(helper, "cores", lambda: 2)
    monkeypatch.setattr(helper, "LEAST", 1)
    monkeypatch.setattr(stage, "BATCH", 50)
    monkeypatch.setattr(stage, "TEXTS_AT_ONCE", 3)
    return started


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Origins of the portions that a helper was asked to parse."""
    origins: list[str] = []
    ask = helper.Helper.ask

    def noted(self: helper.Helper, origin: str, texts: Texts) -> Future[Rows]:
        origins.append(origin)
        return ask(self, origin, texts)

    monkeypatch.setattr(helper.Helper, "ask", noted)
    return origins


def ended(started: list[helper.Helper]) -> bool:
    """Whether one helper was started, and its process is gone."""
    return [one._process.poll() is not None for one in started] == [True]


def test_two_processes_make_the_tables_of_one(
    tmp_path: Path,
    alone: dict[str, Any],
    helpers: list[helper.Helper],
    asked: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = made(tmp_path / "e.duckdb")
    progress: list[tuple[int, int]] = []
    link_changed(store, progress=lambda done, count: progress.append((done, count)))
    assert tables(store) == alone
    assert set(asked) == {"item", "comment", "commit"}
    assert ended(helpers)
    assert caplog.records == []
    whole = 3 * (COUNT - 1)
    assert progress == [(min(done, whole), whole) for done in range(50, whole + 50, 50)]


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_a_helper_that_dies_or_stands_still_costs_no_row_and_is_told(
    tmp_path: Path,
    alone: dict[str, Any],
    helpers: list[helper.Helper],
    sign: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(helper, "PATIENCE", 0.5)
    ask = helper.Helper.ask
    counted: list[int] = []

    def struck(self: helper.Helper, origin: str, texts: Texts) -> Future[Rows]:
        counted.append(1)
        if len(counted) == 3:
            os.kill(self._process.pid, sign)
        return ask(self, origin, texts)

    monkeypatch.setattr(helper.Helper, "ask", struck)
    store = made(tmp_path / "e.duckdb")
    link_changed(store)
    assert len(counted) >= 3
    assert tables(store) == alone
    assert ended(helpers)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert WARNING in caplog.text


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("helper.rows_of = lambda *_: 1 / 0; helper.serve()", "RuntimeError: ZeroDivisionError: division by zero"),
        ("helper.relations.load = lambda: 1 / 0; helper.serve()", "RuntimeError: ZeroDivisionError: division by zero"),
        ("print('no answer')", "UnpicklingError"),
        ("sys.exit(3)", "EOFError"),
    ],
)
def test_an_exception_in_the_helper_costs_no_row_and_is_told(
    tmp_path: Path,
    alone: dict[str, Any],
    helpers: list[helper.Helper],
    code: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(helper, "_START", SERVE + code)
    store = made(tmp_path / "e.duckdb")
    link_changed(store)
    assert tables(store) == alone
    assert ended(helpers)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert WARNING in caplog.text
    assert reason in caplog.text


def test_what_a_helper_prints_comes_not_between_its_answers(
    tmp_path: Path,
    alone: dict[str, Any],
    helpers: list[helper.Helper],
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    talks = "parse = helper.rows_of; helper.rows_of = lambda *a: (print('noise', flush=True), parse(*a))[1]; "
    monkeypatch.setattr(helper, "_START", SERVE + talks + "helper.serve()")
    store = made(tmp_path / "e.duckdb")
    link_changed(store)
    assert tables(store) == alone
    assert asked
    assert caplog.records == []
    assert ended(helpers)


def test_an_error_of_the_texts_themselves_comes_out(
    tmp_path: Path, helpers: list[helper.Helper], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> Rows:
        raise ValueError("no such text")

    monkeypatch.setattr(helper, "rows_of", wrong)
    with pytest.raises(ValueError, match="no such text"):
        link_changed(made(tmp_path / "e.duckdb"))
    assert ended(helpers)


def test_ctrl_c_ends_the_helper_and_the_next_run_goes_on(
    tmp_path: Path, alone: dict[str, Any], helpers: list[helper.Helper], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = made(tmp_path / "e.duckdb")
    append = table_rows.append
    written: list[str] = []

    def struck(connection: Any, table: str, rows: Any) -> None:
        written.append(table)
        if written.count("links") == 3:
            raise KeyboardInterrupt
        append(connection, table, rows)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(table_rows, "append", struck)
        link_changed(store)
    assert os.getsid(0) != helpers[0]._process.pid
    assert ended(helpers)
    counts = link_changed(store)
    assert counts.items + counts.comments + counts.commits == 3 * (COUNT - 1) - 2 * 50
    assert tables(store) == alone


@pytest.mark.timeout(120)
def test_a_helper_ends_when_its_process_is_killed() -> None:
    code = "from torch_embers.link.helper import Helper; h = Helper(); print(h._process.pid, flush=True); h._talk.shutdown(); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        child = int(killed.stdout.readline())
        assert os.getsid(child) == child  # Ctrl-C at the terminal is not for it
        killed.kill()
    while _runs(child):
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_no_process_is_started_for_few_texts_on_one_core_or_without_an_interpreter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("too many processes")

    monkeypatch.setattr(subprocess, "Popen", refused)
    monkeypatch.setattr(helper, "cores", lambda: 2)
    with helper.helper_for(helper.LEAST) as none:
        assert none is None
    assert "too many processes" in caplog.text
    caplog.clear()
    with helper.helper_for(helper.LEAST - 1) as none:
        assert none is None
    with monkeypatch.context() as patch, helper.helper_for(0):
        patch.setattr(sys, "executable", "")
        with helper.helper_for(helper.LEAST) as none:
            assert none is None
    monkeypatch.setattr(helper, "cores", lambda: 1)
    with helper.helper_for(helper.LEAST) as none:
        assert none is None
    assert caplog.records == []


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs processor affinity")
def test_the_cores_counted_are_those_that_this_process_may_use() -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); from torch_embers.link import helper; print(helper.cores())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
