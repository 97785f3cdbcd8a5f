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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from support import example_count
from torch_embers.annotate import active, keyboard
from torch_embers.annotate import journal as journals
from torch_embers.annotate import session as sessions
from torch_embers.annotate.active import Candidate, SchemeEvidence
from torch_embers.annotate.command import Summary, label_session
from torch_embers.annotate.journal import Journal
from torch_embers.annotate.keyboard import split_keys
from torch_embers.annotate.session import Answer, Session
from torch_embers.annotate.table import restore
from torch_embers.classify.suspects import likely_errors
from torch_embers.errors import InputError, StoreFullError, StoreMissingError
from torch_embers.store import lock
from torch_embers.store.records import Batch, Comment, GoldLabel, Item
from torch_embers.store.store import Store
from torch_embers.taxonomy import Taxonomy, TaxonomyError

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"
TAXONOMY = Taxonomy.load()
ALL = sessions.asked(TAXONOMY)


def key_of(scheme: str, value: str, parent: str | None = None) -> str:
    """The key that a person presses for a class."""
    classes = TAXONOMY.scheme(scheme).under(parent)
    return next(key for key, entry in sessions.class_keys(classes).items() if entry.name == value)


MEMORY = key_of("bug_type", "memory")
LOGICAL = key_of("bug_type", "logical")
NON_CONTIGUOUS = key_of("memory_type", "non_contiguous")
CRASH = key_of("consequence", "crash")
CPU, CUDA = key_of("backend", "cpu"), key_of("backend", "cuda")

# ---- ranking -------------------------------------------------------------------------------------------------------


def one(number: int, *opinions: SchemeEvidence, group: str = "", changed: str = "") -> Candidate:
    return Candidate(REPO, number, opinions, group, changed)


def bug(model: dict[str, float] | None = None, votes: dict[str, float] | None = None) -> SchemeEvidence:
    return SchemeEvidence("bug_type", 13, model or {}, votes or {})


def numbers(candidates: Sequence[Candidate]) -> list[int]:
    return [candidate.number for candidate in candidates]


OPINIONS = st.builds(
    SchemeEvidence,
    scheme=st.sampled_from(["bug_type", "consequence"]),
    classes=st.integers(2, 13),
    model=st.dictionaries(st.sampled_from("abcd"), st.floats(allow_nan=True, allow_infinity=True), max_size=3),
    votes=st.dictionaries(st.sampled_from("abcd"), st.floats(-1, 5), max_size=3),
)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        repo=st.just(REPO),
        number=st.integers(1, 10_000),
        evidence=st.lists(OPINIONS, max_size=2).map(tuple),
        group=st.sampled_from(["", "", "x", "y", "z"]),
        changed_at=st.sampled_from(["", NOON, "2025-01-01T00:00:00Z"]),
    ),
    max_size=30,
    unique_by=lambda candidate: candidate.number,
)


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_the_order_holds_every_item_once_and_does_not_depend_on_the_input_order(
    candidates: list[Candidate], chance: random.Random
) -> None:
    ranked = active.rank(candidates)
    assert sorted(numbers(ranked)) == sorted(numbers(candidates))
    chance.shuffle(candidates)
    assert active.rank(candidates) == ranked


@given(OPINIONS)
def test_disagreement_and_uncertainty_are_shares(opinion: SchemeEvidence) -> None:
    assert -1e-9 <= active.disagreement(opinion) <= 1 + 1e-9
    assert -1e-9 <= active.uncertainty(opinion) <= 1 + 1e-9


@given(CANDIDATES)
def test_near_duplicates_are_kept_apart_as_long_as_there_is_anything_else(candidates: list[Candidate]) -> None:
    ranked = active.rank(candidates)
    for place, candidate in enumerate(ranked):
        window = [other.group for other in ranked[max(0, place - active.APART + 1) : place]]
        if candidate.group and candidate.group in window:
            rest = {other.group for other in ranked[place:]}
            assert "" not in rest
            assert rest <= set(window)


def test_five_near_duplicates_do_not_come_in_a_row() -> None:
    doubtful = [one(n, bug({"memory": 0.3}, {"logical": 1}), group="same") for n in range(1, 6)]
    others = [one(n, bug({"memory": 0.9 - n / 1000}, {"memory": 1})) for n in range(10, 40)]
    ranked = numbers(active.rank([*doubtful, *others]))
    places = [ranked.index(n) for n in range(1, 6)]
    assert places == [0, 5, 10, 15, 20]


def test_a_contradiction_comes_before_doubt_and_doubt_before_certainty() -> None:
    sure, doubtful = one(1, bug({"memory": 0.97}, {"memory": 1})), one(2, bug({"memory": 0.4}, {"memory": 1}))
    contradicted = one(3, bug({"memory": 0.97}, {"logical": 1}))
    frequent = [one(n, bug({"memory": 0.99}, {"memory": 1})) for n in range(10, 20)]
    frequent += [one(n, bug({"logical": 0.99}, {"logical": 1})) for n in range(20, 31)]
    assert numbers(active.rank([sure, *frequent, contradicted]))[0] == 3
    assert set(numbers(active.rank([sure, doubtful, *frequent, contradicted]))[:2]) == {2, 3}
    assert active.disagreement(contradicted.evidence[0]) > 0.9 > active.disagreement(doubtful.evidence[0])


def test_of_equally_doubtful_items_the_rarer_class_comes_first() -> None:
    common = [one(n, bug({"memory": 0.6})) for n in range(1, 9)]
    rare = one(50, bug({"onnx": 0.6}))
    assert numbers(active.rank([*common, rare]))[0] == 50
    assert numbers(active.rank([*common, rare], {("bug_type", "onnx"): 1000}))[-1] == 50


def test_without_a_model_contradicting_votes_come_first_and_without_votes_the_newest() -> None:
    split = one(1, bug(votes={"memory": 1, "logical": 1}), changed="2017-01-01T00:00:00Z")
    agreed = one(2, bug(votes={"memory": 3}), changed="2018-01-01T00:00:00Z")
    old, new = one(3, changed="2019-01-01T00:00:00Z"), one(4, changed="2026-01-01T00:00:00Z")
    assert numbers(active.rank([old, new, agreed, split])) == [1, 2, 4, 3]


# ---- likely errors -------------------------------------------------------------------------------------------------


def test_a_swapped_label_is_found_and_the_surest_comes_first() -> None:
    probabilities = [[0.9, 0.1], [0.8, 0.2], [0.02, 0.98], [0.1, 0.9], [0.2, 0.8], [0.85, 0.15]]
    found = likely_errors(probabilities, [0, 0, 0, 1, 1, 1])
    assert [(error.place, error.label, error.suggested) for error in found] == [(2, 0, 1), (5, 1, 0)]
    assert found[0].margin == pytest.approx(0.96)


def test_rows_without_numbers_and_classes_without_rows_are_passed_over() -> None:
    assert likely_errors([[np.nan, 0.5, 0.5], [0.2, 0.3, 0.5]], [0, 1]) == []
    assert likely_errors(np.zeros((0, 3)), []) == []
    assert likely_errors([[0.1, 0.9]], [0]) == []


@given(st.integers(2, 5), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_a_likely_error_always_lies_below_its_class_and_is_never_suggested_its_own_label(
    classes: int, rows: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    matrix, labels = chance.dirichlet(np.ones(classes), rows), chance.integers(0, classes, rows)
    found = likely_errors(matrix, labels.tolist())
    usual = {e.label: matrix[labels == e.label, e.label].mean() for e in found}
    assert all(matrix[e.place, e.label] < usual[e.label] and e.suggested != e.label and e.margin > 0 for e in found)
    assert [e.margin for e in found] == sorted((e.margin for e in found), reverse=True)


# ---- keys ----------------------------------------------------------------------------------------------------------


def test_every_question_has_a_key_of_its_own_for_each_class() -> None:
    for scheme in TAXONOMY.schemes.values():
        for parent in {entry.parent_class for entry in scheme.classes}:
            classes = scheme.under(parent)
            keys = sessions.class_keys(classes)
            assert list(keys.values()) == list(classes)
            assert not set(keys) & {*sessions.COMMANDS, *keyboard.ON, *keyboard.UP}


def test_more_classes_than_keys_are_refused() -> None:
    with pytest.raises(TaxonomyError, match="keys"):
        sessions.class_keys(TAXONOMY.scheme("bug_type").classes * 3)


def test_keys_are_split_with_escape_sequences_in_one_piece() -> None:
    assert split_keys("1\x1b[B\x1b\x1b[6~é\r\nx") == ["1", "\x1b[B", "\x1b", "\x1b[6~", "é", "\r\n", "x"]


@given(st.text())
def test_splitting_keys_loses_nothing(text: str) -> None:
    assert "".join(split_keys(text)) == text


# ---- the session ---------------------------------------------------------------------------------------------------


def begun(*items: int, schemes: Sequence[str] = ALL, answers: Any = None) -> Session:
    return sessions.begin(TAXONOMY, schemes, [(REPO, number) for number in items], answers)


def answered(session: Session, *values: str | tuple[str, ...]) -> Session:
    for value in values:
        session, _ = session.answer((value,) if isinstance(value, str) else value, NOON)
    return session


def now(session: Session) -> tuple[int, str] | None:
    return (session.items[session.now.place][1], session.now.scheme) if session.now else None


def test_memory_type_and_its_sub_type_are_asked_only_under_memory() -> None:
    session = begun(1, 2)
    asked = []
    for value in ("memory", "non_contiguous", "input_tensor_management", "crash", ("cpu", "cuda"), "logical"):
        asked.append(now(session))
        session = answered(session, value)
    schemes = ["bug_type", "memory_type", "memory_subtype", "consequence", "backend"]
    assert asked == [*((1, scheme) for scheme in schemes), (2, "bug_type")]
    assert now(session) == (2, "consequence")
    assert session.answers[(REPO, 1), "backend"].values == ("cpu", "cuda")


def test_a_sub_type_offers_the_classes_of_its_memory_type() -> None:
    session = answered(begun(1), "memory", "concurrency")
    assert [entry.name for entry in session.options()] == ["miss_lock"]
    with pytest.raises(TaxonomyError, match="no class"):
        session.answer(("channel_management",), NOON)
    with pytest.raises(TaxonomyError, match="one class"):
        begun(1).answer(("memory", "logical"), NOON)


def test_another_bug_type_withdraws_the_memory_answers_and_undo_brings_them_back() -> None:
    session = answered(begun(1), "memory", "non_contiguous", "information_loss")
    session = session.back().back().back()
    assert now(session) == (1, "bug_type")
    changed, changes = session.answer(("logical",), NOON)
    withdrawn = [change.scheme for change in changes if change.after is None]
    assert withdrawn == ["memory_type", "memory_subtype"]
    assert now(changed) == (1, "consequence")
    undone, back = changed.undo()
    assert undone.answers == session.answers
    assert {(change.scheme, change.after) for change in back} == {(change.scheme, change.before) for change in changes}


def test_back_keeps_the_answer_and_forward_leaves_it() -> None:
    session = answered(begun(1, schemes=("bug_type",)), "memory")
    assert session.now is None
    returned = session.back()
    assert now(returned) == (1, "bug_type")
    assert returned.standing() == Answer(("memory",), NOON)
    assert returned.forward().now is None
    same, changes = returned.answer(("memory",), "2025-01-01T00:00:00Z")
    assert changes == ()
    assert same.answers == session.answers


def test_a_skipped_item_is_left_open_and_back_returns_to_it() -> None:
    session = begun(1, 2, schemes=("bug_type",)).skip()
    assert now(session) == (2, "bug_type")
    assert session.skipped == {(REPO, 1)}
    assert now(session.back()) == (1, "bug_type")
    assert session.back().skipped == frozenset()
    assert answered(session, "memory").now is None


def test_what_is_answered_is_not_asked_again_and_what_is_begun_goes_on() -> None:
    answers = {((REPO, 1), "bug_type"): Answer(("memory",), NOON), ((REPO, 2), "bug_type"): Answer((), NOON)}
    session = begun(1, 2, 3, schemes=("bug_type", "memory_type"), answers=answers)
    assert now(session) == (1, "memory_type")
    assert now(answered(session, "checking")) == (3, "bug_type")


def test_asking_for_a_child_asks_for_its_parents() -> None:
    assert sessions.asked(TAXONOMY, ["memory_subtype"]) == ("bug_type", "memory_type", "memory_subtype")
    assert sessions.asked(TAXONOMY) == tuple(TAXONOMY.schemes)
    with pytest.raises(TaxonomyError):
        sessions.asked(TAXONOMY, ["colour"])


STEPS = st.lists(st.tuples(st.sampled_from("aaaaabsufx"), st.integers(0, 30)), max_size=40)


@settings(max_examples=example_count(150))
@given(STEPS)
def test_whatever_is_pressed_answers_stay_consistent_and_undo_leads_back_to_the_start(
    steps: list[tuple[str, int]],
) -> None:
    session, stored = begun(1, 2, 3), {}

    def keep(changes: Sequence[sessions.Change]) -> None:
        for change in changes:
            assert stored.get((change.item, change.scheme)) == change.before
            stored[change.item, change.scheme] = change.after

    for what, pick in steps:
        if what == "a" and session.now:
            offered = session.options()
            session, changes = session.answer((offered[pick % len(offered)].name,), NOON)
            keep(changes)
        elif what == "x" and session.now:
            session, changes = session.answer((), NOON)
            keep(changes)
        elif what == "u":
            session, changes = session.undo()
            keep(changes)
        else:
            session = {"b": session.back, "s": session.skip}.get(what, session.forward)()
        assert {key: answer for key, answer in stored.items() if answer} == session.answers
        for item in session.items:
            said = [(s, v) for (i, s), answer in session.answers.items() if i == item for v in answer.values]
            assert TAXONOMY.problems(said) == []
        assert session.now is None or session.options()
    while session.history:
        session, _ = session.undo()
    assert session.answers == {}


# ---- the journal ---------------------------------------------------------------------------------------------------

ENTRIES = st.builds(
    journals.Entry,
    action=st.just("label"),
    repo=st.just(REPO),
    number=st.integers(1, 2**31 - 1),
    annotator=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    labelled_at=st.just(NOON),
    scheme=st.just("bug_type"),
    values=st.lists(st.sampled_from(["memory", "logical"])).map(tuple),
)


@given(st.lists(ENTRIES))
def test_a_journal_reads_back_what_was_written(entries: list[journals.Entry]) -> None:
    data = b"".join(map(journals.entry_line, entries))
    assert journals.read_entries(io.BytesIO(data)) == (entries, 0)


@given(st.lists(st.one_of(st.binary(max_size=40), ENTRIES.map(journals.entry_line)), max_size=6))
def test_a_damaged_journal_gives_what_is_whole_and_counts_the_rest(lines: list[bytes]) -> None:
    entries, bad = journals.read_entries(lines)
    assert len(entries) + bad == sum(1 for line in lines if line.strip())


@pytest.mark.parametrize(
    "line",
    [
        '{"action": "label"}',
        "[]",
        "3",
        '{"a":' * 20_000,
        '{"action":"label","repo":"a/b","number":true,"annotator":"x"}',
    ]
    + [
        json.dumps(
            {
                "action": "label",
                "repo": "a/b",
                "number": n,
                "annotator": "x",
                "labelled_at": t,
                "scheme": "s",
                "values": v,
            }
        )
        for n, t, v in [(0, NOON, []), (2**40, NOON, []), (1, "yesterday", []), (1, NOON, [1]), (1, NOON, "memory")]
    ],
)
def test_lines_that_are_no_entry_are_counted(line: str) -> None:
    assert journals.read_entries([line.encode()]) == ([], 1)


def test_labels_of_unknown_classes_are_left_alone() -> None:
    entry = journals.Entry("label", REPO, 1, "ann", NOON, "bug_type", ("gremlins",))
    told = journals.fold([entry, replace(entry, scheme="colour")], TAXONOMY)
    assert (told.answers, told.unknown) == ({}, 2)


def test_a_line_torn_by_a_crash_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "gold.jsonl")
    entry = journals.Entry("label", REPO, 1, "ann", NOON, "bug_type", ("memory",))
    journal.append([entry])
    with journal.path.open("ab") as file:
        file.write(b'{"action": "lab')
    journal.append([replace(entry, number=2)])
    entries, torn = journal.read()
    assert ([e.number for e in entries], torn) == ([1, 2], 1)


def test_a_full_disk_keeps_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "gold.jsonl")
    entry = journals.Entry("label", REPO, 1, "ann", NOON, "bug_type", ("memory",))
    journal.append([entry])
    before = journal.path.read_bytes()
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 20:
            return write(descriptor, data[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreFullError, match="No space"):
        journal.append([replace(entry, number=2)] * 2)
    assert journal.path.read_bytes() == before


# ---- at the terminal -----------------------------------------------------------------------------------------------


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
    with store.read() as connection:
        return connection.execute(
            "SELECT number, scheme, value, annotator FROM gold_labels WHERE annotator_kind = 'human' ORDER BY ALL"
        ).fetchall()


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
    with store.read() as connection:
        [(kind, source, recent)] = connection.execute(
            "SELECT DISTINCT annotator_kind, source, labelled_at > now()::TIMESTAMP - INTERVAL 1 DAY FROM gold_labels"
        ).fetchall()
    assert (kind, source, recent) == ("human", "label", True)


def test_the_end_of_the_keys_quits_and_keeps_everything(store: Store) -> None:
    summary, _ = label(store, LOGICAL, "bug_type", "consequence")
    assert gold(store) == [(4, "bug_type", "logical", "ann")]
    assert (summary.answers, summary.finished) == (1, False)


@pytest.mark.slow
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


@pytest.mark.slow
def test_cannot_tell_is_not_asked_again_and_makes_no_gold(store: Store) -> None:
    label(store, "0" * 4, "bug_type")
    assert gold(store) == []
    assert label(store, "", "bug_type")[0].finished


@pytest.mark.slow
def test_another_annotator_is_asked_the_same_items(store: Store) -> None:
    label(store, MEMORY * 4, "bug_type")
    summary, _ = label(store, LOGICAL * 4, "bug_type", annotator="ben")
    assert summary.answers == 4
    assert len(gold(store)) == 8


@pytest.mark.slow
def test_undo_takes_the_label_out_of_the_table_and_asks_again(store: Store) -> None:
    _, shown = label(store, MEMORY + "u" + LOGICAL + "q", "bug_type")
    assert gold(store) == [(4, "bug_type", "logical", "ann")]
    assert "taken back: bug_type" in shown
    _, shown = label(store, "uq", "bug_type")
    assert "nothing of this session" in shown
    label(store, MEMORY + "uq", "bug_type")
    assert gold(store) == [(4, "bug_type", "logical", "ann")]


@pytest.mark.slow
def test_back_shows_the_answer_and_another_one_replaces_it(store: Store) -> None:
    _, shown = label(store, MEMORY + NON_CONTIGUOUS + "bb" + LOGICAL + "q", "memory_type")
    assert "your answer: memory" in shown
    assert gold(store) == [(4, "bug_type", "logical", "ann")]
    label(store, "b\nq", "bug_type")
    assert gold(store) == [(4, "bug_type", "logical", "ann")]


@pytest.mark.slow
def test_a_skipped_item_comes_again_in_the_next_session(store: Store) -> None:
    summary, _ = label(store, "s" + MEMORY * 3, "bug_type")
    assert (summary.skipped, summary.labelled, summary.left) == (1, 3, 1)
    label(store, MEMORY, "bug_type")
    assert {row[0] for row in gold(store)} == {1, 2, 3, 4}


def test_a_note_becomes_the_evidence_of_the_item(store: Store) -> None:
    label(store, MEMORY + "nsee the sxx\x7f\x7ftride\n" + NON_CONTIGUOUS + "q", "memory_type")
    with store.read() as connection:
        assert connection.execute("SELECT DISTINCT evidence FROM gold_labels").fetchall() == [("see the stride",)]
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


@pytest.mark.slow
def test_the_name_is_asked_once_and_refused_while_it_is_none(store: Store) -> None:
    summary, shown = label(store, "\n  Ann  Lee\n" + MEMORY + "q", "bug_type", annotator=None)
    assert summary.annotator == "Ann Lee"
    assert "1 to 60 printable" in shown
    assert gold(store)[0][3] == "Ann Lee"
    summary, _ = label(store, "An", "bug_type", annotator=None)
    assert summary.answers == 0
    assert label(store, "", annotator=None)[0].annotator == ""
    assert label(store, "\x1b", annotator=None)[0].annotator == ""


@pytest.mark.parametrize("name", ["", "  ", "a\x1b[31m", "x" * 61])
def test_impossible_names_are_refused(store: Store, name: str) -> None:
    with pytest.raises(InputError, match="printable"):
        label(store, MEMORY, annotator=name)


@pytest.mark.slow
def test_a_person_cannot_take_the_name_of_a_machine_nor_replace_its_labels(store: Store) -> None:
    robot = GoldLabel(REPO, 4, "bug_type", "memory", "automated", "guide-1", labelled_at=NOON, source="catalog")
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(gold_labels=[robot]))
    with pytest.raises(InputError, match="no person"):
        label(store, LOGICAL, annotator="guide-1")
    label(store, LOGICAL * 4, "bug_type")
    with store.read() as connection:
        found = connection.execute("SELECT value FROM gold_labels WHERE annotator = 'guide-1'").fetchall()
    assert found == [("memory",)]


@pytest.mark.slow
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


@pytest.mark.slow
def test_while_somebody_else_writes_answers_wait_in_the_journal(store: Store) -> None:
    with lock.writer_lock(store.path, "a mine"):
        summary, shown = label(store, MEMORY + LOGICAL + "q", "bug_type")
    assert summary.waiting == 2
    assert "busy" in shown
    assert gold(store) == []
    label(store, "q")
    assert [row[:3] for row in gold(store)] == [(3, "bug_type", "logical"), (4, "bug_type", "memory")]


def test_a_crash_in_the_middle_keeps_every_answer_given(store: Store) -> None:
    def keys() -> Iterator[str]:
        yield MEMORY
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        label_session(store, ["memory_type"], "ann", 5, keys(), Console(file=io.StringIO()))
    assert gold(store) == [(4, "bug_type", "memory", "ann")]


@pytest.mark.slow
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
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "[bold red]boo[/]" in shown
    assert ":bug:" in shown


@pytest.mark.slow
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


@pytest.mark.slow
def test_pull_requests_are_asked_about_only_where_they_are_labelled_already(store: Store) -> None:
    assert label(store, MEMORY * 9, "bug_type")[0].labelled == 4
    mark = GoldLabel(REPO, 5, "bug_type", "memory", "automated", "guide-1", labelled_at=NOON, source="catalog")
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(gold_labels=[mark]))
    assert label(store, MEMORY * 9, "bug_type")[0].labelled == 1


@pytest.mark.slow
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
    path = str(Path(__file__).resolve().parent.parent / "pipeline")
    environment = os.environ | {"PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "90", "LINES": "24"}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(store.path)], env=environment, **options)


@pytest.mark.slow
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
@pytest.mark.slow
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
