"""Active labelling: what is asked first, which labels look wrong, and a session that loses nothing."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from support import example_count, rows
from torch_embers.annotate import journal as journals
from torch_embers.annotate import session as sessions
from torch_embers.annotate.command import Summary, label_session
from torch_embers.annotate.journal import Journal
from torch_embers.annotate.keyboard import split_keys
from torch_embers.annotate.table import restore
from torch_embers.errors import InputError, StoreMissingError
from torch_embers.store import lock
from torch_embers.store.records import Batch, Comment, GoldLabel, Item
from torch_embers.store.store import Store
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"
TAXONOMY = Taxonomy.load()


def key_of(scheme: str, value: str, parent: str | None = None) -> str:
    """The key that a person presses for a class."""
    classes = TAXONOMY.scheme(scheme).under(parent)
    return next(key for key, entry in sessions.class_keys(classes).items() if entry.name == value)


MEMORY = key_of("bug_type", "memory")
LOGICAL = key_of("bug_type", "logical")
NON_CONTIGUOUS = key_of("memory_type", "non_contiguous")
CRASH = key_of("consequence", "crash")
CPU, CUDA = key_of("backend", "cpu"), key_of("backend", "cuda")


@pytest.fixture(scope="session")
def filled_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four issues and a pull request, to be copied."""
    path = tmp_path_factory.mktemp("label") / "filled.duckdb"
    items = [
        Item(REPO, n, "issue", f"title {n} {'abcdef'[n] * 12}", f"body of {n}", state="open", updated_at=f"2024-01-0{n}T00:00:00Z",
             labels=("module: crash",), created_at=NOON, source="jsonl")
        for n in (1, 2, 3, 4)
    ]  # fmt: skip
    items.append(Item(REPO, 5, "pull", "a pull request", "", updated_at=NOON, source="jsonl"))
    with Store(path).writer("test", create=True) as writer:
        writer.commit(Batch(items=items, comments=[Comment(REPO, 4, "c1", "bob", body="it is the stride")]))
    return path


@pytest.fixture
def store(filled_database: Path, tmp_path: Path) -> Store:
    path = tmp_path / "e.duckdb"
    shutil.copy(filled_database, path)
    return Store(path)


def label(
    store: Store, keys: str, *schemes: str, annotator: str | None = "ann", limit: int = 10, **options: Any
) -> tuple[Summary, str]:
    out = Console(file=io.StringIO(), width=100, force_terminal=False)
    summary = label_session(store, schemes, annotator, limit, iter(split_keys(keys)), out, **options)
    return summary, out.file.getvalue()


def gold(store: Store) -> list[tuple[Any, ...]]:
    return rows(
        store.path,
        "SELECT number, scheme, value, annotator FROM gold_labels WHERE annotator_kind = 'human' ORDER BY ALL",
    )


def execute(store: Store, statement: str, parameters: Sequence[object] = ()) -> None:
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        connection.execute(statement, parameters)


def test_labels_go_to_the_table_and_to_the_journal_with_annotator_and_time(store: Store) -> None:
    summary, shown = label(store, MEMORY + NON_CONTIGUOUS + "0" + CRASH + CPU + CUDA + "\n" + "q")
    assert gold(store) == [
        (4, "backend", "cpu", "ann"),
        (4, "backend", "cuda", "ann"),
        (4, "bug_type", "memory", "ann"),
        (4, "consequence", "crash", "ann"),
        (4, "memory_type", "non_contiguous", "ann"),
    ]
    lines = [json.loads(line) for line in summary.journal.read_text(encoding="utf-8").splitlines()]
    assert summary.journal == store.path.with_name("gold.jsonl")
    assert [(line["scheme"], line["values"]) for line in lines] == [
        ("bug_type", ["memory"]),
        ("memory_type", ["non_contiguous"]),
        ("memory_subtype", []),
        ("consequence", ["crash"]),
        ("backend", ["cpu", "cuda"]),
    ]
    assert {(line["annotator"], line["annotator_kind"]) for line in lines} == {("ann", "human")}
    assert all(line["labelled_at"].endswith("Z") for line in lines)
    assert (summary.labelled, summary.answers, summary.left, summary.waiting, summary.finished) == (1, 5, 3, 0, False)
    for said in ("title 4", "open", "module: crash", "body of 4", "it is the stride", "bob", f"{MEMORY} memory "):
        assert said in shown
    asked = "annotator_kind, source, labelled_at > now()::TIMESTAMP - INTERVAL 1 DAY"
    assert rows(store.path, f"SELECT DISTINCT {asked} FROM gold_labels") == [("human", "label", True)]


def test_a_session_goes_on_where_the_last_one_stopped(store: Store) -> None:
    label(store, MEMORY + LOGICAL, "bug_type")
    label(store, LOGICAL, "bug_type", "consequence")
    assert {row[0] for row in gold(store)} == {3, 4}, "what was begun comes first: its consequence before a new item"
    summary, _ = label(store, MEMORY + LOGICAL, "bug_type")
    assert {row[0] for row in gold(store)} == {1, 2, 3, 4}
    assert summary.finished
    again, shown = label(store, MEMORY, "bug_type")
    assert again.answers == 0
    assert again.finished
    assert "Nothing is left to ask" in shown


def test_another_annotator_is_asked_the_same_items(store: Store) -> None:
    label(store, MEMORY * 4, "bug_type")
    summary, _ = label(store, LOGICAL * 4, "bug_type", annotator="ben")
    assert summary.answers == 4
    assert len(gold(store)) == 8


def test_undo_takes_the_label_out_of_the_table_and_asks_again(store: Store) -> None:
    _, shown = label(store, MEMORY + "u" + LOGICAL + "q", "bug_type")
    assert gold(store) == [(4, "bug_type", "logical", "ann")]
    assert "taken back: bug_type" in shown
    _, shown = label(store, "uq", "bug_type")
    assert "nothing of this session" in shown
    label(store, MEMORY + "uq", "bug_type")
    assert gold(store) == [(4, "bug_type", "logical", "ann")]


def test_back_shows_the_answer_and_another_one_replaces_it(store: Store) -> None:
    _, shown = label(store, MEMORY + NON_CONTIGUOUS + "bb" + LOGICAL + "q", "memory_type")
    assert "your answer: memory" in shown
    assert gold(store) == [(4, "bug_type", "logical", "ann")]
    label(store, "b\nq", "bug_type")
    assert gold(store) == [(4, "bug_type", "logical", "ann")]


def test_a_skipped_item_comes_again_in_the_next_session(store: Store) -> None:
    summary, _ = label(store, "s" + MEMORY * 3, "bug_type")
    assert (summary.skipped, summary.labelled, summary.left) == (1, 3, 1)
    label(store, MEMORY, "bug_type")
    assert {row[0] for row in gold(store)} == {1, 2, 3, 4}


def test_a_note_becomes_the_evidence_of_the_item(store: Store) -> None:
    label(store, MEMORY + "nsee the sxx\x7f\x7ftride\n" + NON_CONTIGUOUS + "q", "memory_type")
    assert rows(store.path, "SELECT DISTINCT evidence FROM gold_labels") == [("see the stride",)]
    _, shown = label(store, "nnever mind\x1bq", "consequence")
    assert "note kept" not in shown
    assert "note: see the stride" in shown


def test_an_end_inside_a_note_keeps_what_was_typed(store: Store) -> None:
    label(store, "nhalf a th", "bug_type")
    assert [entry.note for entry in Journal.of(store).read()[0]] == ["half a th"]


def test_several_classes_are_toggled_and_ended_by_enter(store: Store) -> None:
    label(store, LOGICAL + CRASH + CPU + CUDA + CPU + "\nq")
    assert ("cuda",) in {row[2:3] for row in gold(store) if row[1] == "backend"}
    assert ("cpu",) not in {row[2:3] for row in gold(store) if row[1] == "backend"}


def test_unknown_keys_change_nothing(store: Store) -> None:
    summary, shown = label(store, "\n\x1b[99~%" + "ü" + "Q", "bug_type")
    assert summary.answers == 0
    assert "no class and no command" in shown
    assert gold(store) == []


def test_the_name_is_asked_once_and_refused_while_it_is_none(store: Store) -> None:
    summary, shown = label(store, "\n  Ann  Lee\n" + MEMORY + "q", "bug_type", annotator=None)
    assert summary.annotator == "Ann Lee"
    assert "1 to 60 printable" in shown
    assert gold(store)[0][3] == "Ann Lee"
    summary, _ = label(store, "An", "bug_type", annotator=None)
    assert summary.answers == 0
    for keys in ("", "\x1b"):
        assert label(store, keys, annotator=None)[0].annotator == ""
    for name in ("", "  ", "a\x1b[31m", "x" * 61):
        with pytest.raises(InputError, match="printable"):
            label(store, MEMORY, annotator=name)


def label_by_machine(store: Store, number: int) -> None:
    said = GoldLabel(REPO, number, "bug_type", "memory", "automated", "guide-1", labelled_at=NOON, source="catalog")
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(gold_labels=[said]))


def test_a_person_cannot_take_the_name_of_a_machine_nor_replace_its_labels(store: Store) -> None:
    label_by_machine(store, 4)
    with pytest.raises(InputError, match="no person"):
        label(store, LOGICAL, annotator="guide-1")
    label(store, LOGICAL * 4, "bug_type")
    assert rows(store.path, "SELECT value FROM gold_labels WHERE annotator = 'guide-1'") == [("memory",)]


def test_a_lost_database_loses_no_label(store: Store, filled_database: Path) -> None:
    label(store, MEMORY + "nwhy\n" + NON_CONTIGUOUS + "0" + CRASH + CPU + "\n" + LOGICAL)
    before = gold(store)
    store.path.unlink()
    shutil.copy(filled_database, store.path)
    assert gold(store) == []
    assert restore(store) == 5, "an answer without a value has no row to bring back"
    assert gold(store) == before
    assert restore(store) == 0
    execute(store, "DELETE FROM gold_labels")
    summary, _ = label(store, "q")
    assert gold(store) == before
    assert summary.left == 3


def test_while_somebody_else_writes_answers_wait_in_the_journal(store: Store) -> None:
    with lock.writer_lock(store.path, "a mine"):
        summary, shown = label(store, MEMORY + LOGICAL + "q", "bug_type")
    assert summary.waiting == 2
    assert "busy" in shown
    assert gold(store) == []
    label(store, "q")
    assert [row[:3] for row in gold(store)] == [(3, "bug_type", "logical"), (4, "bug_type", "memory")]


def test_the_model_decides_what_is_asked_first_and_its_guess_is_shown_unless_blind(store: Store) -> None:
    for number, value, sure in [(1, "memory", 0.99), (2, "memory", 0.41), (3, "memory", 0.98), (4, "memory", 0.97)]:
        execute(
            store,
            "INSERT INTO predictions VALUES (?, ?, 'bug_type', ?, 'memory', ?, ?, 'model', 'm', 'title', 'h', '', NULL, ?)",
            [REPO, number, None if sure < 0.5 else value, sure, sure < 0.5, NOON],
        )
    execute(
        store,
        "INSERT INTO weak_labels VALUES (?, 3, 'bug_type', 'logical', 'label-formula', 'label', 'x', ?)",
        [REPO, NOON],
    )
    _, shown = label(store, LOGICAL * 2 + "q", "bug_type")
    assert {row[0] for row in gold(store)} == {2, 3}, "the contradicted and the doubtful one"
    assert "model: memory 98%" in shown
    assert "model: no answer (suggestion: memory) 41%" in shown
    _, blind = label(store, "q", "bug_type", annotator="ben", blind=True)
    assert "model:" not in blind


def test_a_database_of_an_earlier_release_can_be_labelled(store: Store) -> None:
    execute(store, "DROP TABLE predictions; DROP TABLE weak_labels")
    label(store, MEMORY, "bug_type")
    assert gold(store) == [(4, "bug_type", "memory", "ann")]


def test_foreign_text_cannot_steer_the_terminal(store: Store) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J[bold red]boo[/] [link=x]y :bug: a\u202eb"
    execute(store, "UPDATE items SET title = ?, body = ?, labels = [?] WHERE number = 4", [evil, evil, evil])
    _, shown = label(store, "r?rq", "bug_type")
    assert not {"\x1b", "\x07", "\u202e"} & {*shown}
    assert "[bold red]boo[/]" in shown
    assert ":bug:" in shown


def test_a_huge_text_scrolls_and_is_bounded(store: Store) -> None:
    body = "\n".join(f"line {n} of a story with words that go on" for n in range(20_000))
    execute(store, "UPDATE items SET body = ? WHERE number = 4", [body])
    _, shown = label(store, "r" + " " * 3 + "-" + "q", "bug_type")
    assert "raw text, lines 30-59" in shown
    assert len(shown) < 200_000


def test_rules_are_a_key_away(store: Store) -> None:
    _, shown = label(store, "? q", "bug_type")
    flat = " ".join(shown.split())
    for entry in TAXONOMY.scheme("bug_type").classes[:5]:
        assert " ".join(entry.definition.split()) in flat


def test_without_items_or_database_it_says_so(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreMissingError):
        label(Store(tmp_path / "none.duckdb"), MEMORY)
    assert not (tmp_path / "none.duckdb").exists()
    with pytest.raises(InputError, match="limit"):
        label(store, MEMORY, limit=0)
    execute(store, "DELETE FROM items")
    assert "Nothing is left" in label(store, MEMORY)[1]


def test_pull_requests_are_asked_about_only_where_they_are_labelled_already(store: Store) -> None:
    assert label(store, MEMORY * 9, "bug_type")[0].labelled == 4
    label_by_machine(store, 5)
    assert label(store, MEMORY * 9, "bug_type")[0].labelled == 1


@settings(max_examples=example_count(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="123459agbsnu?r0 -\n\x1b\x7f%", max_size=30))
def test_whatever_is_typed_table_and_journal_agree(filled_database: Path, tmp_path: Path, keys: str) -> None:
    folder = tmp_path / os.urandom(4).hex()
    folder.mkdir()
    shutil.copy(filled_database, folder / "e.duckdb")
    store = Store(folder / "e.duckdb")
    summary, shown = label(store, keys)
    assert "\x1b" not in shown
    told = journals.fold(Journal.of(store).read()[0], TAXONOMY)
    wanted = sorted(
        (item[1], scheme, value, who)
        for (who, item, scheme), answer in told.answers.items()
        for value in (answer.values if answer else ())
    )
    assert gold(store) == wanted
    assert summary.torn == 0
    assert restore(store) == 0


SCRIPT = """
import sys
from pathlib import Path
from rich.console import Console
from torch_embers.annotate.keyboard import read_keys
from torch_embers.annotate.command import label_session
from torch_embers.store.store import Store
summary = label_session(Store(Path(sys.argv[1])), ["bug_type"], None, 10, read_keys(sys.stdin), Console())
print("labelled", summary.labelled, "by", summary.annotator)
"""


def start(store: Store, **options: Any) -> subprocess.Popen[bytes]:
    path = str(Path(__file__).resolve().parents[2] / "pipeline")
    environment = os.environ | {"PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "90", "LINES": "24"}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(store.path)], env=environment, **options)


def test_keys_may_come_from_a_pipe(store: Store) -> None:
    process = start(store, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    shown, _ = process.communicate(f"Zoë\n{MEMORY}\n{LOGICAL}".encode(), timeout=120)
    assert process.returncode == 0
    assert "labelled 2 by Zoë" in shown.decode()
    assert [row[2] for row in gold(store)] == ["logical", "memory"]


def read_until(descriptor: int, mark: bytes, seconds: float = 120) -> bytes:
    """What a terminal shows until a mark (or the end) comes."""
    shown, deadline = b"", time.monotonic() + seconds
    while mark not in shown and time.monotonic() < deadline:
        if select.select([descriptor], [], [], 0.2)[0]:
            try:
                chunk = os.read(descriptor, 65536)
            except OSError:
                break
            shown += chunk
    assert mark in shown, shown[-2000:].decode("utf-8", "replace")
    return shown


@pytest.mark.parametrize("end", ["q", "\x04", "\x03"])
def test_at_a_terminal_keys_act_at_once_and_the_terminal_is_put_back(store: Store, end: str) -> None:
    master, slave = pty.openpty()
    try:
        before = termios.tcgetattr(slave)
        process = start(store, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        read_until(master, b"your name")
        os.write(master, b"ann\r")
        read_until(master, b"1 of 4")
        os.write(master, MEMORY.encode())
        side_by_side = f"{LOGICAL}\xa0logical".encode()  # the window is low
        if side_by_side not in read_until(master, b"2 of 4").partition(b"2 of 4")[2]:
            read_until(master, side_by_side)
        if end == "\x03":
            process.send_signal(signal.SIGINT)
            read_until(master, b"KeyboardInterrupt")
        else:
            os.write(master, end.encode())
            read_until(master, b"labelled 1 by ann")
        process.wait(timeout=120)
        assert termios.tcgetattr(slave) == before
        assert gold(store) == [(4, "bug_type", "memory", "ann")]
    finally:
        os.close(master)
        os.close(slave)
