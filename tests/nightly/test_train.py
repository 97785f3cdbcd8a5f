"""Training on labelled items, and the labels that come of it in a database."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from helpers.rows import GoldLabel, Item, Repository, Row, store_of
from helpers.search import NOON, REPO, Words
from support import rows
from torch_embers.classify import label_items, train
from torch_embers.classify.examples import BODIES, CHOSEN, TITLES, examples
from torch_embers.classify.explain import explain
from torch_embers.classify.labels import bodies, weak_table, wild
from torch_embers.classify.labels.weak import Labeller
from torch_embers.errors import InputError
from torch_embers.progress import Silent
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch_embers.classify.labels.bodies import BodyAnswer
    from torch_embers.classify.labels.wild import WildItem
    from torch_embers.classify.model import Classifier

WORDS = {"crash": "segfault", "silent_correctness": "wrong numbers", "hang": "deadlock"}


def words() -> Words:
    """An embedder that is quick and always the same."""
    return Words(384, "words@0/test")


def told(number: int, value: str, repo: str = REPO) -> Row:
    """An item that says what happens, in words that are otherwise its own: no near-duplicate of others."""
    letters = str.maketrans("0123456789", "ghijklmnop")  # with digits they would be read as one word for a hash
    own = " ".join(hashlib.md5(f"{number} {place}".encode()).hexdigest()[:9].translate(letters) for place in range(4))
    return Item(repo, number, title=f"{WORDS[value]} {own}", updated_at=NOON)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Eight labelled items of each of three consequences, four unlabelled ones of each."""
    items = [told(10 * place + kind, value) for kind, value in enumerate(WORDS) for place in range(1, 13)]
    labels = [
        GoldLabel(REPO, 10 * place + kind, "consequence", value, "human", "h")
        for kind, value in enumerate(WORDS)
        for place in range(1, 9)
    ]
    return store_of(tmp_path_factory.mktemp("train") / "e.duckdb", items, gold_labels=labels)


@pytest.fixture
def store(filled: Store, database: Path) -> Store:
    """A copy of it."""
    shutil.copy(filled.path, database)
    return Store(database)


@pytest.fixture(scope="module", autouse=True)
def _alone() -> Iterator[None]:
    """Nothing is learned from the shipped labels, which take a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wild, "load", list)
        patch.setattr(bodies, "load", list)
        yield


@pytest.fixture(scope="module")
def made(filled: Store, _alone: None) -> Classifier:
    """What is learned from it."""
    return learned(filled)


def learned(store: Store) -> Classifier:
    return train.train(store, words(), "made", lambda _: None)


def labelled(store: Store, classifier: Classifier) -> label_items.Labelled:
    with store.writer("test", create=True) as writer:
        weak_table.label_items(store, writer)
        return label_items.classify(store, writer, classifier, words(), Silent())


def by_run(store: Store, number: int, value: str) -> None:
    insert = "INSERT INTO weak_labels VALUES (?, ?, 'consequence', ?, 'run-signal', 'execution', 'case a', now())"
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        connection.execute(insert, [REPO, number, value])


def prediction(store: Store, number: int) -> tuple[Any, ...]:
    [row] = rows(
        store.path,
        "SELECT value, confidence, provenance, round(probability, 3) FROM predictions "
        f"WHERE number = {number} AND scheme = 'consequence'",
    )
    return row


# ---- training ------------------------------------------------------------------------------------------------------


def test_classes_with_fewer_than_three_items_are_not_learned(store: Store) -> None:
    few = [GoldLabel(REPO, number, "consequence", "other", "human", "h") for number in (90, 91)]
    store_of(store.path, gold_labels=few)
    asked = learned(store).about.questions
    assert asked["consequence"].trained_on == dict.fromkeys(sorted(WORDS), 8)
    assert asked["consequence"].sources == {"human:h": 24}
    assert "bug_type" not in asked


def test_a_subtype_that_nothing_was_learned_of_has_its_first_class_as_answer(made: Classifier) -> None:
    question = made.about.questions["memory_subtype.segment_fault"]
    assert question.trained_on == {}
    assert len(question.classes) > 1


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> tuple[list[WildItem], list[BodyAnswer]]:
    """Labels that come with embers: those of this test."""
    drawn: list[WildItem] = []
    read: list[BodyAnswer] = []
    monkeypatch.setattr(wild, "load", lambda: drawn)
    monkeypatch.setattr(bodies, "load", lambda: read)
    return drawn, read


def drawn(number: int | None, value: str, part: str = "development", title: str = "") -> WildItem:
    """An item that was drawn at random."""
    with_labels = (("bug_type", "logical"), ("consequence", value))
    return wild.WildItem.model_validate(
        {
            "sample": "open_2022",
            "key": str(10**9 + (number or 1)),
            "number": number,
            "created_at": "2022-01-01",
            "title": title or told(number or 1, value).title,
            "part": part,
            "kind": "issue",
            "seen": "title",
            "sure": True,
            "labels": with_labels,
            "first": {"kind": "issue", "labels": with_labels},
            "second": None,
            "adjudicated": False,
        }
    )


def answer(number: int, part: str) -> BodyAnswer:
    """What was decided of an issue that was read with its body."""
    said = {"bug_type": "logical", "memory_type": "", "memory_subtype": "", "consequence": "hang", "backends": ""}
    where = {"number": number, "source": "recent", "part": part, "readers": "22+decided", "kind": "issue", "sure": True}
    return bodies.BodyAnswer.model_validate(where | said)


def test_drawn_titles_and_read_bodies_are_learned_from_by_their_samples(
    store: Store, shipped: tuple[list[WildItem], list[BodyAnswer]]
) -> None:
    shipped[0].extend([drawn(901, "crash"), drawn(None, "hang")])
    shipped[1].extend([answer(902, "development"), answer(903, "test")])
    store_of(store.path, [told(n, "hang", wild.REPO) | {"body": "It never returns."} for n in (902, 903)])
    found, _ = examples(store)
    assert Counter(one.sample for one in found) == {CHOSEN: 24, TITLES: 2, BODIES: 1}
    [read] = [one for one in found if one.sample == BODIES]
    assert (read.key, read.item.text.body) == ((wild.REPO, 902), "It never returns.")


@pytest.mark.parametrize("present", [wild.REPO, "new/home"])
@pytest.mark.parametrize("part", ["test", "recent"])
def test_nothing_is_learned_of_an_item_that_is_kept_apart_whoever_labelled_it_and_wherever_it_is_now(
    store: Store, shipped: tuple[list[WildItem], list[BodyAnswer]], part: str, present: str
) -> None:
    title = told(77, "crash").title or ""
    by_person = [GoldLabel(wild.REPO, n, "consequence", "crash", "human", "h") for n in (905, 906, 907)]
    items = [told(905, "crash", wild.REPO), told(906, "crash", wild.REPO), Item(wild.REPO, 907, title=title)]
    store_of(store.path, items, gold_labels=by_person)
    store_of(store.path, repositories=[Repository(1, wild.REPO, fetched_at=NOON)])
    if present != wild.REPO:
        store_of(store.path, repositories=[Repository(1, present, wild.REPO, fetched_at="2024-02-01T00:00:00Z")])

    def known() -> set[int]:
        return {one.key[1] for one in examples(store)[0]} & {905, 906, 907}

    assert known() == {905, 906, 907}
    shipped[0].extend([drawn(905, "crash", part, "renamed since"), drawn(None, "crash", part, title)])
    shipped[1].append(answer(906, "test"))
    assert known() == set(), "by number, by what was read with its body, and by title"


# ---- labelling -----------------------------------------------------------------------------------------------------


def test_every_item_is_labelled_and_counted(store: Store, made: Classifier) -> None:
    done = labelled(store, made)
    assert (done.items, done.embedded) == (36, 36)
    assert {(scheme, value, count) for scheme, value, _, count in done.counts} == {
        ("consequence", value, 12) for value in WORDS
    }
    assert len(done.examples) == 3
    assert prediction(store, 10)[:3] == ("crash", "low", "out_of_fold")
    assert prediction(store, 120)[:3] == ("crash", "low", "model")
    assert labelled(store, made).items == 0


def test_a_run_outranks_text_and_gold_until_it_is_withdrawn(
    store: Store, made: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled(store, made)
    own = weak_table._label_runs
    monkeypatch.setattr(weak_table, "_label_runs", lambda *_: None)
    for number in (10, 120):
        by_run(store, number, "hang")
    assert labelled(store, made).items == 2, "only what changed is labelled again"
    for number in (10, 120):
        assert prediction(store, number) == ("hang", "high", "execution", 0.999)
    monkeypatch.setattr(weak_table, "_label_runs", own)
    assert labelled(store, made).items == 2
    assert prediction(store, 120)[::2] == ("crash", "model")


def test_changed_labels_texts_or_rules_label_again(
    store: Store, made: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled(store, made)
    changed = told(120, "crash") | {"labels": ["module: deadlock"], "updated_at": "2024-02-01T00:00:00Z"}
    store_of(store.path, [changed])
    assert labelled(store, made).items == 1
    store_of(store.path, [changed | {"body": "import torch", "updated_at": "2024-03-01T00:00:00Z"}])
    assert labelled(store, made).items == 1
    monkeypatch.setattr(Labeller.load(), "digest", "other rules")
    assert labelled(store, made).items == 36


@pytest.mark.parametrize("title", ["!!", "訓練中の conv2d でメモリが漏れる"])
def test_an_item_without_words_has_no_label_and_explaining_it_says_so(
    store: Store, made: Classifier, title: str
) -> None:
    store_of(store.path, [Item(REPO, 501, title=title, updated_at=NOON)])
    labelled(store, made)
    with pytest.raises(InputError, match="#501 has no labels: its text holds no words"):
        explain(store, made, REPO, 501)


def test_the_kept_reason_names_the_words_that_spoke_most(store: Store, made: Classifier) -> None:
    labelled(store, made)
    said = dict(rows(store.path, "SELECT number, explanation FROM predictions WHERE scheme = 'consequence'"))
    term, weight = json.loads(said[120])["terms"][0]
    assert (term, weight > 0) == ("segfault", True)
