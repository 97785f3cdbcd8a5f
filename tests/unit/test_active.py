"""Active labelling: what is asked first, which labels look wrong, and a session that loses nothing."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import example_count
from torch_embers.annotate import active, keyboard
from torch_embers.annotate import journal as journals
from torch_embers.annotate import session as sessions
from torch_embers.annotate.active import Candidate, SchemeEvidence
from torch_embers.annotate.journal import Journal
from torch_embers.annotate.keyboard import split_keys
from torch_embers.annotate.session import Answer, Session
from torch_embers.classify.suspects import likely_errors
from torch_embers.errors import StoreFullError
from torch_embers.taxonomy import Taxonomy, TaxonomyError

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path


REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"
TAXONOMY = Taxonomy.load()

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


def begun(*items: int, schemes: Sequence[str] = tuple(TAXONOMY.schemes), answers: Any = None) -> Session:
    return sessions.begin(TAXONOMY, schemes, [(REPO, number) for number in items], answers)


def now(session: Session) -> tuple[int, str] | None:
    return (session.items[session.now.place][1], session.now.scheme) if session.now else None


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


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_the_order_holds_every_item_once_whatever_the_input_order(
    candidates: list[Candidate], chance: random.Random
) -> None:
    ranked = active.rank(candidates)
    assert sorted(numbers(ranked)) == sorted(numbers(candidates))
    chance.shuffle(candidates)
    assert active.rank(candidates) == ranked


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
def test_a_likely_error_lies_below_its_class_and_is_suggested_another_label(classes: int, rows: int, seed: int) -> None:
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


def answered(session: Session, *values: str | tuple[str, ...]) -> Session:
    for value in values:
        session, _ = session.answer((value,) if isinstance(value, str) else value, NOON)
    return session


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
def test_whatever_is_pressed_answers_stay_consistent_and_undo_leads_back(steps: list[tuple[str, int]]) -> None:
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

ENTRY = journals.Entry("label", REPO, 1, "ann", NOON, "bug_type", ("memory",))
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


LABEL = {
    "action": "label",
    "repo": "a/b",
    "number": 1,
    "annotator": "x",
    "labelled_at": NOON,
    "scheme": "s",
    "values": [],
}
WRONG = (
    {"number": 0},
    {"number": 2**40},
    {"number": True},
    {"labelled_at": "yesterday"},
    {"values": [1]},
    {"values": "memory"},
)


@pytest.mark.parametrize(
    "line", ['{"action": "label"}', "[]", "3", '{"a":' * 20_000, *(json.dumps(LABEL | change) for change in WRONG)]
)
def test_lines_that_are_no_entry_are_counted(line: str) -> None:
    assert journals.read_entries([line.encode()]) == ([], 1)


def test_labels_of_unknown_classes_are_left_alone() -> None:
    told = journals.fold([replace(ENTRY, values=("gremlins",)), replace(ENTRY, scheme="colour")], TAXONOMY)
    assert (told.answers, told.unknown) == ({}, 2)


def test_a_line_torn_by_a_crash_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "gold.jsonl")
    journal.append([ENTRY])
    with journal.path.open("ab") as file:
        file.write(b'{"action": "lab')
    journal.append([replace(ENTRY, number=2)])
    entries, torn = journal.read()
    assert ([e.number for e in entries], torn) == ([1, 2], 1)


def test_a_full_disk_keeps_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "gold.jsonl")
    journal.append([ENTRY])
    before = journal.path.read_bytes()
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 20:
            return write(descriptor, data[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreFullError, match="No space"):
        journal.append([replace(ENTRY, number=2)] * 2)
    assert journal.path.read_bytes() == before
