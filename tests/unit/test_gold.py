"""Gold: what several annotators said, brought to one answer by one rule; and the questions that it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from helpers.search import REPO, store_of
from torch_embers.classify.labels import gold
from torch_embers.classify.labels.gold import GoldItem
from torch_embers.classify.questions import NOT, questions
from torch_embers.store.records import CatalogEntry, GoldLabel
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
