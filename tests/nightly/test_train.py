"""Training on gold and votes, and what decides a label: text, votes, runs."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from torch_embers.classify.bundle import Bundle, HeldOut
from torch_embers.classify.learning.features import table
from torch_embers.classify.learning.kept import ModelError
from torch_embers.classify.learning.model import Classifier
from torch_embers.classify.suspects import suspects

from helpers.search import NOON, REPO, Words, store_of
from support import rows
from torch_embers.classify import aggregation, stage, train
from torch_embers.classify.aggregation import Aggregator
from torch_embers.classify.card import training_card
from torch_embers.classify.explain import explain
from torch_embers.classify.labels import weak_table, wild
from torch_embers.classify.labels.labelling_file import Use
from torch_embers.classify.labels.weak import Labeller, WeakLabel
from torch_embers.errors import InputError
from torch_embers.progress import Silent
from torch_embers.store.records import GoldLabel, Item, Repository
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.classify.labels.wild import WildItem
    from torch_embers.classify.text import Variant

VARIANT: Variant = "title"
WORDS = {"crash": "segfault", "silent_correctness": "wrong numbers", "hang": "deadlock"}


def words() -> Words:
    """An embedder that is quick and always the same."""
    return Words(384, "words@0/test")


def told(number: int, value: str) -> Item:
    """An item that says what happens, in words that are otherwise its own: no near-duplicate of others."""
    own = " ".join(hashlib.md5(f"{number} {place}".encode()).hexdigest()[:9] for place in range(4))
    return Item(REPO, number, title=f"{WORDS[value]} {own}", updated_at=NOON)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Eight labelled items of each of three consequences, four unlabelled ones of each; weak labels and vectors."""
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


@pytest.fixture(scope="module")
def made(filled: Store) -> Bundle:
    """What is learned from it."""
    return learned(filled).bundle


def using(monkeypatch: pytest.MonkeyPatch, *, combined: bool, trained: bool) -> None:
    labeller = Labeller.load()
    how = {"combined": combined, "trained": trained, "weight": 0.25, "per_class": 2, "drawn_weight": 3.0}
    monkeypatch.setattr(labeller, "uses", {"consequence": Use(scheme="consequence", reason="tested", **how)})


def learned(store: Store, drawn: Sequence[WildItem] = (), variant: Variant = VARIANT) -> train.Trained:
    with store.writer("test", create=True) as writer:
        weak_table.label_items(store, writer)
        return train.train(store, writer, words(), variant, "made", lambda _: None, drawn)


def labelled(store: Store, bundle: Bundle) -> stage.Labelled:
    with store.writer("test", create=True) as writer:
        weak_table.label_items(store, writer)
        return stage.classify(store, writer, bundle, words(), Silent())


def by_run(store: Store, number: int, value: str) -> None:
    insert = "INSERT INTO weak_labels VALUES (?, ?, 'consequence', ?, 'run-signal', 'execution', 'case a', now())"
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        connection.execute(insert, [REPO, number, value])


def prediction(store: Store, number: int) -> tuple[Any, ...]:
    [row] = rows(
        store.path,
        "SELECT value, likeliest, abstained, provenance, round(probability, 3) FROM predictions "
        f"WHERE number = {number} AND scheme = 'consequence'",
    )
    return row


# ---- training ------------------------------------------------------------------------------------------------------


def test_questions_and_classes_that_gold_is_too_thin_for_are_left_out_and_named(store: Store) -> None:
    few = [GoldLabel(REPO, number, "consequence", "other", "human", "h") for number in (90, 91)]
    store_of(store.path, gold_labels=few)
    trained = learned(store)
    assert {name: len(rows) for name, rows in trained.bundle.rows.items()} == {"consequence": 24}
    assert trained.rare == {"consequence": {"other": 2}}
    assert trained.left_out["bug_type"] == "no class has 3 or more labelled items"
    assert "memory_subtype.concurrency" not in trained.left_out, "nothing to learn where there is one class"
    [classifier] = trained.bundle.classifiers.values()
    assert set(classifier.vote_weights()) == set(classifier.votes)
    assert set(classifier.votes.values()) <= set(classifier.classes) == {*WORDS}


def test_too_little_gold_says_what_to_do(database: Path) -> None:
    one = GoldLabel(REPO, 1, "consequence", "crash", "human", "h")
    with pytest.raises(InputError, match="embers data label"):
        learned(store_of(database, [told(1, "crash")], gold_labels=[one]))


@pytest.fixture
def by_maintainers(store: Store) -> Store:
    """The same, where maintainers labelled the items without gold."""
    labels = ("module: crash", "module: correctness (silent)", "module: deadlock")
    items = [
        replace(told(10 * place + kind, value), labels=(labels[kind],))
        for kind, value in enumerate(WORDS)
        for place in range(9, 13)
    ]
    return store_of(store.path, items)


def test_rows_keep_their_source_and_weak_ones_calibrate_nothing(
    by_maintainers: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    using(monkeypatch, combined=True, trained=True)
    bundle = learned(by_maintainers).bundle
    own = bundle.rows["consequence"]
    sources = Counter(row.source.partition(":")[0] for row in own)
    assert sources == {"gold": 24, "weak": 6}, "two of each class"
    assert {row.source for row in own if row.weight == 1} == {"gold:human:h"}
    weak = [row for row in own if row.source.startswith("weak:")]
    assert {row.weight for row in weak} == {0.25}
    assert {row.source for row in weak if row.label == "crash"} == {"weak:label-crash"}
    held_out = {(one.repo, one.number) for one in bundle.held_out["consequence"]}
    assert held_out == {(row.repo, row.number) for row in own if row.weight == 1}
    assert bundle.classifiers["consequence"].trained_on == dict.fromkeys(WORDS, 8)
    assert "| consequence | votes, without gold | 6 |" in training_card(bundle)


def drawn(place: int, value: str, part: str = "development", title: str = "") -> WildItem:
    """An item that was drawn at random; every second one has a number."""
    item = next(item for item in wild.load() if item.kind == "issue")
    pairs = (("bug_type", "logical"), ("consequence", value))
    changed = {"key": str(10**9 + place), "number": None if place % 2 else 10**6 + place, "part": part, "labels": pairs}
    return item.model_copy(update=changed | {"title": title or told(10**6 + place, value).title})


def test_drawn_items_for_development_are_learned_from_and_judge(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    using(monkeypatch, combined=True, trained=False)
    items = [drawn(place, value) for place, value in enumerate([*WORDS] * 5)]
    # hashes are cleaned to one word, so that these would be the titles of all labelled items about a deadlock
    items += [drawn(50, "hang", "test", "deadlock at exit"), drawn(51, "hang", "recent", "deadlock at start")]
    bundle = learned(store, items).bundle
    own = {(row.repo, row.number): row for row in bundle.rows["consequence"]}
    assert Counter(row.source for row in own.values()) == {"gold:human:h": 24, train.DRAWN: 15}
    assert {row.weight for row in own.values() if row.source == train.DRAWN} == {3.0}
    assert ("pytorch/pytorch", 10**6) in own
    assert (items[1].sample, 10**9 + 1) in own
    assert {(one.repo, one.number) for one in bundle.held_out["consequence"]} == set(own)


VARIANTS: tuple[Variant, ...] = ("title", "title_body")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("places", "labels"),
    [((9, 10, 11, 12), ("module: crash",)), ((1, 2), ())],
    ids=["labelled by maintainers", "gold of the user"],
)
def test_an_item_of_the_test_half_teaches_nothing_also_where_it_has_a_body(
    by_maintainers: Store,
    monkeypatch: pytest.MonkeyPatch,
    variant: Variant,
    places: tuple[int, ...],
    labels: tuple[str, ...],
) -> None:
    using(monkeypatch, combined=True, trained=True)
    body = "The kernel writes behind the end of its output."
    own = [replace(told(10 * place, "crash"), labels=labels, body=f"{body} {place}") for place in places]
    store_of(by_maintainers.path, own)

    def known(names: list[WildItem]) -> set[int]:
        found = learned(by_maintainers, names, variant).bundle.rows["consequence"]
        return {row.number for row in found} & {item.number for item in own}

    assert len(known([])) == 2, "the most of a class"
    # without a number, so that the title alone tells which item it is
    for part in ("test", "recent"):
        assert known([drawn(2 * item.number + 1, "crash", part, str(item.title)) for item in own]) == set()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("present", [wild.REPO, "new/home"])
def test_an_item_of_the_test_half_is_known_by_its_number_whatever_title_or_repository_it_has_now(
    by_maintainers: Store, monkeypatch: pytest.MonkeyPatch, variant: Variant, present: str
) -> None:
    using(monkeypatch, combined=True, trained=True)
    numbers = [10**6 + place for place in (0, 2)]
    gold, weak = (replace(told(number, "crash"), repo=wild.REPO) for number in numbers)
    by_person = GoldLabel(wild.REPO, gold.number, "consequence", "crash", "human", "h")
    store_of(by_maintainers.path, [gold, replace(weak, labels=("module: crash",))], gold_labels=[by_person])
    store_of(by_maintainers.path, repositories=[Repository(1, wild.REPO, fetched_at=NOON)])
    if present != wild.REPO:
        moved = Repository(1, present, wild.REPO, fetched_at="2024-02-01T00:00:00Z")
        store_of(by_maintainers.path, repositories=[moved])

    def known(part: str) -> set[tuple[str, int]]:
        names = [drawn(place, "crash", part, f"renamed since {place}") for place in (0, 2)]
        rows = learned(by_maintainers, names, variant).bundle.rows["consequence"]
        return {(row.repo, row.number) for row in rows if row.number in numbers}

    assert known("development") == {(present, number) for number in numbers}
    assert known("test") == set()


# ---- labelling -----------------------------------------------------------------------------------------------------


def test_votes_count_where_they_are_used_and_provenance_says_so(store: Store, made: Bundle) -> None:
    done = labelled(store, made)
    assert done.items == 36
    assert prediction(store, 10)[3] == "out_of_fold+votes"
    assert prediction(store, 120)[1] == "crash"
    assert prediction(store, 120)[3] == "model+votes"


def test_without_use_the_text_alone_decides(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    using(monkeypatch, combined=False, trained=False)
    bundle = learned(store).bundle
    assert bundle.classifiers["consequence"].vote_weights() == {}
    labelled(store, bundle)
    found = rows(store.path, "SELECT DISTINCT provenance FROM predictions ORDER BY ALL")
    assert found == [("model",), ("out_of_fold",)]


def test_a_run_outranks_text_votes_and_gold(store: Store, made: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    labelled(store, made)
    monkeypatch.setattr(weak_table, "_label_runs", lambda *_: None)
    for number in (10, 120):
        by_run(store, number, "hang")
    done = labelled(store, made)
    assert (done.items, done.executed) == (2, 2), "only what changed is labelled again"
    for number in (10, 120):
        assert prediction(store, number) == ("hang", "hang", False, "execution", 0.999)
    by_run(store, 120, "crash")
    labelled(store, made)
    assert prediction(store, 120)[0] == "crash", "the worst that was shown"


def test_when_the_run_is_withdrawn_the_text_decides_again(store: Store, made: Bundle) -> None:
    by_run(store, 120, "hang")
    with store.writer("test", create=True) as writer:
        stage.classify(store, writer, made, words(), Silent())
    assert prediction(store, 120)[3] == "execution"
    assert labelled(store, made).items == 1
    assert prediction(store, 120)[1] == "crash"
    assert prediction(store, 120)[3].startswith("model")


def test_changed_labels_or_rules_label_again(store: Store, made: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    labelled(store, made)
    assert labelled(store, made).items == 0
    store_of(store.path, [replace(told(120, "crash"), labels=("module: deadlock",), updated_at="2024-02-01T00:00:00Z")])
    assert labelled(store, made).items == 1
    monkeypatch.setattr(Labeller.load(), "digest", "other rules")
    assert labelled(store, made).items == 36


# ---- aggregation ---------------------------------------------------------------------------------------------------


def bundle_of(threshold: float = 0.6, **classes: Sequence[str]) -> Bundle:
    """Classifiers that were learned from next to nothing: what they say is given to the aggregator."""
    classifiers = {}
    for name, values in classes.items():
        texts = [f"{value} {n}" for n in range(6) for value in values]
        made = Classifier(name).fit(table(texts, words().encode(texts)), list(values) * 6)
        classifiers[name] = replace(made, threshold=threshold)
    return Bundle("made", VARIANT, "words@0", "", classifiers)


def aggregated(
    bundle: Bundle, *votes: Sequence[WeakLabel], readable: bool = True, **said: list[list[float]]
) -> list[aggregation.Label]:
    """The labels of items 1, 2, ... of which the classifiers say this, with the votes on each."""
    keys = [(REPO, number) for number, _ in enumerate(next(iter(said.values())), start=1)]
    answers = {name: np.array(rows) for name, rows in said.items()}
    return Aggregator(bundle).labels(keys, answers, np.full(len(keys), readable), dict(zip(keys, votes, strict=False)))


@pytest.mark.parametrize("title", ["!!", "訓練中の conv2d でメモリが漏れる"])
def test_an_item_without_words_has_no_label_and_explaining_it_says_so(store: Store, made: Bundle, title: str) -> None:
    store_of(store.path, [Item(REPO, 501, title=title, updated_at=NOON)])
    labelled(store, made)
    with pytest.raises(InputError, match="#501 has no labels: its title holds no words"):
        explain(store, made, REPO, 501)


def test_children_follow_the_likeliest_class_of_their_parent() -> None:
    labels = aggregated(
        bundle_of(bug_type=("logical", "memory"), memory_type=("concurrency", "segment_fault")),
        bug_type=[[0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.45, 0.55]],
        memory_type=[[0.9, 0.1], [0.9, 0.1], [0.55, 0.45], [0.95, 0.05]],
    )
    found = {(one.place, one.scheme, one.likeliest, one.given) for one in labels}
    assert (0, "memory_subtype", "miss_lock", True) in found
    assert (2, "memory_type", "concurrency", False) in found
    assert (2, "memory_subtype", "miss_lock", False) in found, "as sure as its parent"
    assert (3, "memory_type", "concurrency", False) in found, "its parent is not given either"
    assert not {scheme for place, scheme, *_ in found if place == 1} & {"memory_type", "memory_subtype"}


@pytest.mark.parametrize(("question", "classes"), [("consequence", ("crash", "gone")), ("mood", ("good", "bad"))])
def test_a_classifier_of_another_taxonomy_is_refused(question: str, classes: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match=f"answers {question} with '(gone|bad)', which the taxonomy has not"):
        Aggregator(bundle_of(**{question: classes}))


def test_backends_are_what_a_label_or_the_title_names_and_the_model_only_suggests_one() -> None:
    votes = Labeller.load().votes
    by_title, by_label = votes("[ROCm] test_cuda fails", None, None), votes("wrong result", None, ["module: xpu"])
    bundle = bundle_of(**{"backend.cpu": ("-", "cpu")})
    labels = aggregated(bundle, by_title, by_label, **{"backend.cpu": [[0.01, 0.99]] * 3})
    found = {(one.place, one.likeliest, one.given, one.provenance) for one in labels if one.scheme == "backend"}
    assert found == {(0, "rocm", True, "votes"), (1, "xpu", True, "votes"), (2, "cpu", False, "model")}


@pytest.mark.parametrize(
    ("labels", "crash", "wish", "given"),
    [
        (["module: crash"], 0.95, 0.1, True),
        ([], 0.95, 0.1, False),
        (["module: crash"], 0.9, 0.1, False),
        (["module: deadlock"], 0.95, 0.1, False),
        (["module: crash", "module: deadlock"], 0.95, 0.1, False),
        (["module: crash"], 0.95, 0.9, False),
    ],
    ids=["confirmed", "no label", "hardly likely", "another class", "two classes", "no bug"],
)
def test_a_likely_consequence_is_given_where_maintainers_labels_of_a_bug_name_it_alone(
    labels: list[str], crash: float, wish: float, *, given: bool
) -> None:
    bundle = bundle_of(np.inf, bug_type=("logical", "not_a_bug"), consequence=("crash", "hang"))
    votes = Labeller.load().votes("sort", None, labels)
    made = aggregated(bundle, votes, bug_type=[[1 - wish, wish]], consequence=[[crash, 1 - crash]])
    assert {one.scheme: one.given for one in made}["consequence"] is given


@pytest.mark.parametrize(
    ("wish", "given"),
    [(0.4, {"mps": True, "xpu": True}), (0.55, {"mps": False, "xpu": True}), (0.9, {"xpu": True})],
    ids=["a bug", "perhaps no bug", "no bug"],
)
def test_words_name_no_backend_of_what_is_no_bug_and_maintainers_labels_do(wish: float, given: dict[str, bool]) -> None:
    votes = Labeller.load().votes("Support sort on MPS", None, ["module: xpu"])
    labels = aggregated(bundle_of(bug_type=("logical", "not_a_bug")), votes, bug_type=[[1 - wish, wish]])
    assert {one.likeliest: one.given for one in labels if one.scheme == "backend"} == given


def test_of_an_unreadable_item_a_run_alone_can_speak() -> None:
    run = WeakLabel("consequence", "hang", "run-hang", "execution", "case a")
    bundle = bundle_of(consequence=("crash", "hang"))
    labels = aggregated(bundle, [], [run], readable=False, consequence=[[0.5, 0.5]] * 2)
    assert [(one.place, one.likeliest, one.provenance) for one in labels] == [(1, "hang", "execution")]


def test_held_out_answers_stand_for_items_that_were_learned_from() -> None:
    held_out = {"consequence": (HeldOut(REPO, 1, (0.2, 0.8)),)}
    bundle = replace(bundle_of(consequence=("crash", "hang")), held_out=held_out)
    [one] = aggregated(bundle, consequence=[[0.99, 0.01]])
    assert (one.likeliest, one.provenance, one.probability) == ("hang", aggregation.OUT_OF_FOLD, 0.8)


def test_the_kept_explanation_names_terms_and_the_nearest_other_item(store: Store, made: Bundle) -> None:
    labelled(store, made)
    said = dict(rows(store.path, "SELECT number, explanation FROM predictions WHERE scheme = 'consequence'"))
    assert set(said) == {10 * place + kind for place in range(1, 13) for kind in range(3)}
    term, weight = json.loads(said[120])["terms"][0]
    assert term == "segfault"
    assert weight > 0
    near, similarity = json.loads(said[10])["near"]
    assert near.startswith(f"{REPO}#")
    assert near != f"{REPO}#10"
    assert 0 < similarity <= 1


def test_suspects_are_labels_that_the_held_out_answers_speak_against(store: Store) -> None:
    """Crash and hang are mixed up once each way; all else is as gold has it."""
    said = {("crash", 10): (0.1, 0.9), ("hang", 12): (0.8, 0.2)}
    held_out = tuple(
        HeldOut(REPO, number, said.get((value, number), (0.7, 0.3) if value == "crash" else (0.3, 0.7)))
        for kind, value in ((0, "crash"), (2, "hang"))
        for number in range(10 + kind, 90, 10)
    )
    bundle = replace(bundle_of(consequence=("crash", "hang")), held_out={"consequence": held_out})
    found = suspects(store, bundle, ["consequence"])
    assert [(one.number, one.given, one.suggested, one.by) for one in found] == [
        (10, "crash", "hang", "human:h"),
        (12, "hang", "crash", "human:h"),
    ]
    assert [round(one.margin, 2) for one in found] == [0.8, 0.6]
    assert suspects(store, bundle, ["bug_type"]) == []


def test_a_label_that_the_title_or_maintainers_confirm_is_no_suspect(store: Store) -> None:
    """The model denies the first three labels; nothing else speaks for the third."""
    titles = {601: "SparseMPS has no kernel", 602: "no kernel", 603: "no kernel", 604: "on MPS", 605: "no kernel"}
    items = [replace(told(number, "crash"), title=title, labels=()) for number, title in titles.items()]
    items[1] = replace(items[1], labels=("module: mps",))
    gold = [GoldLabel(REPO, number, "backend", "mps", "human", "h") for number in range(601, 605)]
    store_of(store.path, items, gold_labels=[*gold, GoldLabel(REPO, 605, "backend", "cpu", "human", "h")])
    said = {601: 0.1, 602: 0.1, 603: 0.1, 604: 0.9, 605: 0.1}
    held_out = {"backend.mps": tuple(HeldOut(REPO, number, (1 - yes, yes)) for number, yes in said.items())}
    bundle = replace(bundle_of(**{"backend.mps": ("-", "mps")}), held_out=held_out)
    assert [one.number for one in suspects(store, bundle, ["backend"])] == [603]


def test_words_alone_make_no_training_row(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    using(monkeypatch, combined=True, trained=True)
    assert {row.source for row in learned(store).bundle.rows["consequence"]} == {"gold:human:h"}
