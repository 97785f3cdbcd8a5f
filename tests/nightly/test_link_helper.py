"""The second process that finds links: equal tables whatever happens to it, and nothing of it is left behind."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support import eventually
from torch_embers.link import helper, stage
from torch_embers.link.stage import link_changed
from torch_embers.store import rows as table_rows
from torch_embers.store.records import Batch, Comment, Commit, Item
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from concurrent.futures import Future

    from torch_embers.link.texts import Rows, Texts

Tables = dict[str, list[tuple[Any, ...]]]
REPO = "o/r"
COUNT = 120
SERVE = "import sys; sys.path[:] = sys.argv[1:]; from torch_embers.link import helper; "
WARNING = "the second process that finds links was lost"


def unlinked(path: Path) -> Store:
    """A database with texts of all three origins, not linked yet."""
    store = Store(path)
    batch = Batch()
    for n in range(1, COUNT):
        kind, body = "issue" if n % 2 else "pull", f"Fixes #{n + 1}\nsee o/other#{n}"
        batch.items.append(Item(REPO, n, kind, f"Crash of torch.sparse {n}", body))
        batch.comments.append(Comment(REPO, n, f"c{n}", body=f"duplicate of #{n + 2}"))
        subject = f"Mend it (#{n})"
        batch.commits.append(Commit(REPO, f"{n:040x}", subject=subject, message=f"{subject}\n\nReverts #{n + 3}"))
    with store.writer("test", create=True) as writer:
        writer.commit(batch)
    return store


def tables(store: Store) -> Tables:
    """What the stage writes, in the order of writing."""
    with store.read() as connection:
        names = ("links", "components", "rejects", "link_scans")
        return {name: connection.execute(f"FROM {name}").fetchall() for name in names}


@pytest.fixture
def made(tmp_path: Path) -> Store:
    """Such a database."""
    return unlinked(tmp_path / "e.duckdb")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The tables that one process makes."""
    store = unlinked(tmp_path_factory.mktemp("alone") / "alone.duckdb")
    counts = link_changed(store)
    assert (counts.items, counts.comments, counts.commits) == (COUNT - 1, COUNT - 1, COUNT - 1)
    found = tables(store)
    assert found["links"]
    assert found["components"]
    return found


class Helpers:
    """All helpers that were started, the origins of texts that they were asked to parse, and what strikes at the third."""

    def __init__(self) -> None:
        self.started: list[helper.Helper] = []
        self.asked: list[str] = []
        self.struck_with: signal.Signals | None = None

    def ended(self) -> bool:
        """Whether one helper was started, and its process is gone."""
        return [one._process.poll() is not None for one in self.started] == [True]


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> Helpers:
    """Every link stage has a helper, which is ready before it is first asked."""
    made, start, ask = Helpers(), helper.Helper.__init__, helper.Helper.ask

    def ready(self: helper.Helper) -> None:
        start(self)
        made.started.append(self)
        self._ready.exception(60)

    def noted(self: helper.Helper, origin: str, texts: Texts) -> Future[Rows]:
        made.asked.append(origin)
        if made.struck_with and len(made.asked) == 3:
            os.kill(self._process.pid, made.struck_with)
        return ask(self, origin, texts)

    monkeypatch.setattr(helper.Helper, "__init__", ready)
    monkeypatch.setattr(helper.Helper, "ask", noted)
    for place, name, value in ((helper, "cores", lambda: 2), (helper, "LEAST", 1), (stage, "BATCH", 50)):
        monkeypatch.setattr(place, name, value)
    monkeypatch.setattr(stage, "TEXTS_AT_ONCE", 3)
    return made


NOISE = "parse = helper.rows_of; helper.rows_of = lambda *a: (print('noise', flush=True), parse(*a))[1]; helper.serve()"


@pytest.mark.parametrize("code", ["helper.serve()", NOISE], ids=["quiet", "it prints"])
def test_two_processes_make_the_tables_of_one(
    made: Store, alone: Tables, helpers: Helpers, code: str, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(helper, "_START", SERVE + code)
    progress: list[tuple[int, int]] = []
    link_changed(made, progress=lambda done, count: progress.append((done, count)))
    assert tables(made) == alone
    assert set(helpers.asked) == {"item", "comment", "commit"}
    assert helpers.ended()
    assert caplog.records == []
    whole = 3 * (COUNT - 1)
    assert progress == [(min(done, whole), whole) for done in range(50, whole + 50, 50)]


@pytest.mark.parametrize(
    ("code", "sign", "reason"),
    [
        ("helper.serve()", signal.SIGKILL, ""),
        ("helper.serve()", signal.SIGSTOP, ""),
        ("helper.rows_of = lambda *_: 1 / 0; helper.serve()", None, "ZeroDivisionError: division by zero"),
        ("helper.relations.load = lambda: 1 / 0; helper.serve()", None, "ZeroDivisionError: division by zero"),
        ("print('no answer')", None, "UnpicklingError"),
        ("sys.exit(3)", None, "EOFError"),
    ],
)
def test_a_helper_that_dies_stands_still_or_fails_costs_no_row_and_is_told(
    made: Store, alone: Tables, helpers: Helpers, monkeypatch: Any, caplog: Any, code: str, sign: Any, reason: str
) -> None:
    monkeypatch.setattr(helper, "_START", SERVE + code)
    if sign:
        helpers.struck_with = sign
        monkeypatch.setattr(helper, "PATIENCE", 0.5)
    link_changed(made)
    assert not sign or len(helpers.asked) >= 3
    assert tables(made) == alone
    assert helpers.ended()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert WARNING in caplog.text
    assert reason in caplog.text


def test_an_error_of_the_texts_is_told(made: Store, helpers: Helpers, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> Rows:
        raise ValueError("no such text")

    monkeypatch.setattr(helper, "rows_of", wrong)
    with pytest.raises(ValueError, match="no such text"):
        link_changed(made)
    assert helpers.ended()


def test_ctrl_c_ends_the_helper_and_the_next_run_goes_on(
    made: Store, alone: Tables, helpers: Helpers, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = table_rows.append
    written: list[str] = []

    def struck(connection: Any, table: str, rows: Any) -> None:
        written.append(table)
        if written.count("links") == 3:
            raise KeyboardInterrupt
        append(connection, table, rows)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(table_rows, "append", struck)
        link_changed(made)
    assert os.getsid(0) != helpers.started[0]._process.pid
    assert helpers.ended()
    counts = link_changed(made)
    assert counts.items + counts.comments + counts.commits == 3 * (COUNT - 1) - 2 * 50
    assert tables(made) == alone


def test_a_helper_ends_when_its_process_is_killed() -> None:
    code = "from torch_embers.link.helper import Helper; h = Helper(); print(h._process.pid, flush=True); h._talk.shutdown(); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        child = int(killed.stdout.readline())
        assert os.getsid(child) == child  # Ctrl-C at the terminal is not for it
        killed.kill()
    eventually(lambda: not _runs(child))


def _runs(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
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
    for texts, place, name, value in (
        (helper.LEAST - 1, helper, "cores", lambda: 2),
        (helper.LEAST, sys, "executable", ""),
        (helper.LEAST, helper, "cores", lambda: 1),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, value)
            with helper.helper_for(texts) as none:
                assert none is None
    assert caplog.records == []
