"""What people said: several annotators brought to one answer, the questions it answers, and items drawn at random."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.rows import CatalogEntry, GoldLabel, store_of
from helpers.search import REPO
from torch_embers import judgements, resources
from torch_embers.classify.labels import bodies, gold, wild
from torch_embers.classify.labels.gold import GoldItem
from torch_embers.classify.questions import NOT, questions
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    import random
    from pathlib import Path

VOTES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["human", "paper", "automated"]), st.sampled_from("xyz")),
    min_size=1,
)


def decided(*votes: tuple[str, str, str]) -> tuple[set[str], str]:
    answer = gold.decide(votes)
    return set(answer.values), answer.by


# ---- one rule ------------------------------------------------------------------------------------------------------


def test_a_person_outranks_the_paper_and_the_paper_outranks_automated_annotators() -> None:
    votes = [("a", "automated", "x"), ("a", "automated", "y"), ("b", "paper", "p"), ("c", "human", "h")]
    assert decided(*votes) == ({"c"}, "human:h")
    assert decided(*votes[:3]) == ({"b"}, "paper:p")
    assert decided(*votes[:2]) == ({"a"}, "automated:x")


def test_the_majority_of_a_kind_decides_and_a_draw_goes_to_the_first_name() -> None:
    assert decided(("a", "automated", "x"), ("b", "automated", "y"), ("b", "automated", "z"))[0] == {"b"}
    assert decided(("a", "automated", "y"), ("b", "automated", "x")) == ({"b"}, "automated:x")


def test_all_classes_that_one_annotator_names_are_one_answer() -> None:
    both = [("cpu", "automated", "x"), ("mps", "automated", "x")]
    assert decided(*both) == ({"cpu", "mps"}, "automated:x")
    assert decided(*both, ("mps", "human", "h")) == ({"mps"}, "human:h")


@given(VOTES, st.randoms(use_true_random=False))
def test_the_order_of_votes_makes_no_difference(votes: list[tuple[str, str, str]], chance: random.Random) -> None:
    shuffled = list(votes)
    chance.shuffle(shuffled)
    assert gold.decide(votes) == gold.decide(shuffled)
    assert gold.decide(votes).values <= {value for value, _, _ in votes}


# ---- questions -----------------------------------------------------------------------------------------------------

TAXONOMY = Taxonomy.load()
ALL = {question.name: question for question in questions(TAXONOMY)}


def item(**labels: str) -> GoldItem:
    return GoldItem(REPO, 1, labels, {}, None, {scheme: frozenset({value}) for scheme, value in labels.items()})


def test_every_class_of_the_taxonomy_can_be_an_answer_and_parents_come_first() -> None:
    asked: dict[str, set[str]] = {}
    for question in ALL.values():
        assert not question.parent or question.parent in asked
        asked.setdefault(question.scheme, set()).update(question.values())
    assert asked == {scheme: set(entry.names()) for scheme, entry in TAXONOMY.schemes.items()}
    assert NOT not in {name for entry in TAXONOMY.schemes.values() for name in entry.names()}


def test_a_sub_type_is_asked_under_its_memory_type_alone() -> None:
    question = ALL["memory_subtype.segment_fault"]
    assert question.truth(item(memory_type="segment_fault", memory_subtype="programming")) == "programming"
    assert question.truth(item(memory_type="pin_memory", memory_subtype="programming")) is None
    assert question.truth(item(memory_type="segment_fault", memory_subtype="miss_lock")) is None
    assert ALL["memory_subtype.concurrency"].only == "miss_lock"
    assert question.only is None


def test_where_any_number_of_classes_holds_each_is_a_question_of_yes_and_no() -> None:
    both = GoldItem(REPO, 1, {}, {}, None, {"backend": frozenset({"cpu", "mps"})})
    answers = {question.member: question.truth(both) for question in ALL.values() if question.scheme == "backend"}
    assert answers["cpu"] == "cpu"
    assert answers["cuda"] == NOT
    assert ALL["backend.cpu"].truth(item(bug_type="memory")) is None


def test_gold_is_read_with_the_backends_of_the_catalog_unless_a_person_says_better(database: Path) -> None:
    labels = [
        GoldLabel(REPO, 1, "bug_type", "memory", "automated", "a"),
        GoldLabel(REPO, 2, "backend", "cuda", "human", "h"),
    ]
    entries = [CatalogEntry(REPO, number, "What happened.", backends=("cpu", "mps")) for number in (1, 2)]
    one, two = gold.load(store_of(database, gold_labels=labels, catalog=entries))
    assert one.labels == {"bug_type": "memory"}
    assert one.answers == {"bug_type": {"memory"}, "backend": {"cpu", "mps"}}
    assert one.annotators == {"bug_type": "automated:a", "backend": "automated:catalog"}
    assert two.answers == {"backend": {"cuda"}}


# ---- items that nobody chose ---------------------------------------------------------------------------------------


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in resources.data_file(wild.FILE).read_text(encoding="utf-8").splitlines()]


def test_at_least_three_hundred_issues_were_drawn_and_halved_and_a_hundred_recent_ones_stand_apart() -> None:
    parts = Counter(item.part for item in wild.load() if item.two_read and item.kind == "issue")
    assert parts["development"] + parts["test"] >= 300
    assert abs(parts["development"] - parts["test"]) < 60
    assert parts["recent"] >= 95


def test_no_drawn_item_is_one_that_the_catalog_holds() -> None:
    catalog = [json.loads(line) for line in resources.data_file("catalog.jsonl").read_text("utf-8").splitlines()]
    numbers, titles = {row["number"] for row in catalog}, {row["title"].lower() for row in catalog}
    assert [i.key for i in wild.load() if i.number in numbers or i.title.lower() in titles] == []


def test_where_the_two_annotators_differ_a_third_decided() -> None:
    for item in wild.load():
        if item.second is None:
            assert item.sample == wild.TARGETED
            continue
        same = sorted(item.first.labels) == sorted(item.second.labels) and item.first.kind == item.second.kind
        assert same or item.adjudicated, item.key
        if not item.adjudicated:
            assert sorted(item.labels) == sorted(item.first.labels), item.key


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"labels": [["bug_type", "gremlins"]]}, "line 2: .*gremlins"),
    ({"labels": [["bug_type", "logical"], ["memory_type", "indexing"]]}, "line 2: .*memory_type"),
    ({"part": "train"}, "line 2: part"),
    ({"kind": None}, "line 2: kind"),
    ({"surprise": 1}, "line 2: surprise"),
    ({"key": "abc", "number": None}, "line 2: key"),
    ({"number": -5}, "line 2: number"),
]


def test_a_line_that_is_no_item_or_stands_twice_is_named(tmp_path: Path) -> None:
    first, second, *_ = lines()
    path = tmp_path / "wild.jsonl"
    for change, said in WRONG:
        path.write_text(f"{json.dumps(first)}\n{json.dumps(second | change)}\n", encoding="utf-8")
        with pytest.raises(InputError, match=said):
            wild.load(path)
    for sample in (first["sample"], "another sample"):
        path.write_text(f"{json.dumps(first)}\n{json.dumps(first | {'sample': sample})}\n", encoding="utf-8")
        with pytest.raises(InputError, match=f"line 2: {sample} {first['key']} stands twice"):
            wild.load(path)


def test_a_title_may_hold_any_separator_but_a_line_feed(tmp_path: Path) -> None:
    first = lines()[0] | {"title": "a\u2028b\x85c"}
    path = tmp_path / "wild.jsonl"
    path.write_text(json.dumps(first, ensure_ascii=False), encoding="utf-8")
    assert [item.title for item in wild.load(path)] == [first["title"]]


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe", b"[]", b"null\n"])
def test_a_file_of_something_else_is_one_clean_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "wild.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"wild labels|wild\.jsonl holds no item"):
        wild.load(path)


# ---- read by title and body ----------------------------------------------------------------------------------------


def test_the_test_issues_are_200_and_hold_every_drawn_issue_that_was_kept_apart() -> None:
    answers = bodies.load()
    test = {answer.number for answer in answers if answer.part == "test"}
    apart = {item.number for item in wild.load() if item.part != "development" and item.number}
    assert (len(answers), len(test)) == (1_050, 200)
    assert apart & {answer.number for answer in answers} <= test


def test_two_readers_labelled_each_issue_and_a_third_where_they_differ() -> None:
    [row] = judgements.ask("""
        SELECT min(readers) AS least, max(readers) AS most FROM (
            SELECT count(DISTINCT reader) AS readers FROM label_readings WHERE question = 'label:bug_type' GROUP BY item)""")
    assert row == {"least": 2, "most": 3}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,recent,test,22,issue,logical,,,crash,,1", "needs one decided answer"),
        ("1,recent,test,22+decided,issue,logical,non_contiguous,,crash,,1", "line 2: memory_type 'non_contiguous'"),
        ("1,elsewhere,test,22+decided,issue,logical,,,crash,,1", "line 2: source"),
    ],
)
def test_a_row_that_is_no_answer_is_named(row: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(f"{resources.data_file(bodies.FILE).read_text().partition(chr(10))[0]}\n{row}\n")
    with pytest.raises(InputError, match=message):
        bodies.load(file)
