"""Weak labels: what functions say, how far gold lets them be believed, how votes add up, and what the table keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from helpers.rows import Item, Row, store_of
from helpers.search import NOON, REPO
from support import execute, rows
from torch_embers import resources
from torch_embers.classify.labels import weak, weak_table
from torch_embers.classify.labels.labelling_file import KeywordFunction
from torch_embers.classify.labels.weak import Labeller, WeakLabel
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.store.store import Store

LATER = "2024-01-02T12:00:00Z"


def test_every_pattern_means_the_same_to_re2() -> None:
    lines = resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines()
    titles = [json.loads(line)["title"].lower() for line in lines]
    functions = [function for function in Labeller.load().functions if isinstance(function, KeywordFunction)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE texts AS SELECT unnest($titles) AS said", {"titles": titles})
        for function in functions:
            query = "SELECT said FROM texts WHERE regexp_matches(said, $pattern)"
            found = connection.execute(query, {"pattern": function.pattern.pattern}).fetchall()
            mine = [title for title in titles if function.pattern.search(title)]
            assert sorted(said for (said,) in found) == sorted(mine), function.id


def item(number: int, title: str | None, *labels: str, body: str | None = None, updated: str = NOON) -> Row:
    return Item(REPO, number, title=title, body=body, labels=tuple(labels), updated_at=updated)


def label(store: Store) -> int:
    with store.writer("test", create=True) as writer:
        return weak_table.label_items(store, writer)


def table(database: Path) -> list[tuple[Any, ...]]:
    return rows(database, "SELECT number, scheme, value, function, kind, evidence FROM weak_labels ORDER BY ALL")


def test_only_items_whose_content_or_labels_changed_are_labelled_again(database: Path) -> None:
    store = store_of(database, [item(1, "Segfault in sort"), item(2, "Calm"), item(3, "sum hangs", "module: deadlock")])
    assert label(store) == 3
    assert label(store) == 0

    store_of(database, [item(2, "Calm", "module: onnx", updated=LATER), item(3, "sum is slow", updated=LATER)])
    assert label(store) == 2
    found = {(number, value) for number, _, value, *_ in table(database)}
    assert {(1, "crash"), (2, "onnx"), (3, "performance")} <= found
    assert (3, "hang") not in found


def test_the_table_holds_exactly_the_votes_and_never_touches_gold(database: Path) -> None:
    items = [item(n, f"nan and segfault {n}", "module: half", body="Segmentation fault") for n in (1, 2)]
    store = store_of(database, items)
    label(store)
    wanted = sorted(
        (one.number, v.scheme, v.value, v.function, v.kind, v.evidence)
        for one in items
        for v in Labeller.load().votes(one.title, one.body, one.labels)
    )
    assert sorted(table(database)) == wanted
    assert rows(database, "FROM gold_labels") == []


def test_a_change_of_the_rules_labels_everything_again(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(database, [item(1, "Segfault in sort"), item(2, "Calm")])
    label(store)
    data = resources.load_toml(weak.FILE)
    data["function"] = [entry for entry in data["function"] if entry["scheme"] == "consequence"]
    monkeypatch.setattr(Labeller, "load", lambda: Labeller(data, Taxonomy.load(), "other rules"))
    assert label(store) == 2
    assert {scheme for _, scheme, *_ in table(database)} == {"consequence"}


def test_a_kill_between_batches_loses_one_batch(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weak_table, "BATCH", 3)
    store = store_of(database, (item(n, "Segfault") for n in range(1, 11)))

    done = []

    def votes(self: Labeller, *item: Any) -> list[WeakLabel]:
        done.append(item)
        if len(done) == 7:
            raise KeyboardInterrupt
        return own_votes(self, *item)

    own_votes = Labeller.votes
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Labeller, "votes", votes)
        label(store)
    assert label(store) == 4
    assert len({number for number, *_ in table(database)}) == 10
    assert len(table(database)) == len(set(table(database)))


def test_what_belongs_to_no_item_goes(database: Path) -> None:
    store = store_of(database, [item(1, "Segfault"), item(2, "Segfault")])
    label(store)
    execute(store.path, "DELETE FROM items WHERE number = 2")
    label(store)
    assert {number for number, *_ in table(database)} == {1}


CASE = (
    "INSERT INTO cases (case_hash, name, origin, current, code, summary, consequence, requires, known_bad, signature, "
    "oracle, timeout, saved_at) VALUES (?, ?, 'curated', ?, '', '', ?, [], [], ?, 'self', 60, now())"
)
VERDICT = (
    "INSERT INTO verdicts (case_hash, build, environment, profile, batch, verdict, flaky, k, n, control, control_k, "
    "control_n, detail, signature, decided_at) VALUES (?, '2.1.2', 'e', 'reviewed', ?, ?, false, 1, 1, 'build', 1, 1, '', "
    "?, ?::TIMESTAMP)"
)


def ran(
    store: Store,
    case: str,
    seen: str | None,
    *numbers: int,
    verdict: str = "occurs",
    declared: Sequence[str] = ("mismatch",),
    consequence: str | None = None,
    current: bool = True,
    batch: int = 0,
) -> None:
    """A case of some items, and what came of running it."""
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        if batch == 0:
            connection.execute(CASE, [case, case, current, consequence, list(declared)])
            for number in numbers:
                connection.execute("INSERT INTO case_items VALUES (?, ?, ?, NULL)", [case, REPO, number])
        connection.execute(VERDICT, [case, batch, verdict, seen, f"2024-01-0{batch + 1}"])


def runs(store: Store) -> list[tuple[int, str, str]]:
    """What runs say once all is labelled: item, function and value."""
    label(store)
    return [
        (number, function, value) for number, _, value, function, kind, _ in table(store.path) if kind == "execution"
    ]


def test_a_case_that_occurs_votes_on_each_of_its_items(database: Path) -> None:
    store = store_of(database, [item(1, "Wrong sum"), item(2, "Wrong sum again")])
    ran(store, "a", "SIGSEGV", 1, 2)
    assert runs(store) == [(1, "run-signal", "crash"), (2, "run-signal", "crash")]
    assert rows(database, "SELECT DISTINCT evidence FROM weak_labels WHERE kind = 'execution'") == [("a on 2.1.2",)]


def test_no_other_verdict_votes(database: Path) -> None:
    store = store_of(database, [item(1, "Wrong sum")])
    for verdict in ("absent", "not_seen", "changed", "control_failed", "untestable", "inconclusive"):
        ran(store, verdict, "SIGSEGV", 1, verdict=verdict)
    assert runs(store) == []


def test_the_newest_verdict_counts_and_the_text_of_the_case_that_stands_now(database: Path) -> None:
    store = store_of(database, [item(1, "Wrong sum")])
    ran(store, "old", "SIGSEGV", 1, current=False)
    ran(store, "a", "mismatch", 1)
    assert runs(store) == [(1, "run-mismatch", "silent_correctness")]
    ran(store, "a", None, 1, verdict="control_failed", batch=1)
    assert runs(store) == []


def test_where_a_verdict_does_not_tell_what_was_seen_a_single_declaration_does(database: Path) -> None:
    store = store_of(database, [item(1, "NaN"), item(2, "either"), item(3, "odd")])
    ran(store, "a", None, 1, consequence="nan_inf")
    ran(store, "b", None, 2, declared=("mismatch", "SIGSEGV"))
    ran(store, "c", "no signature at all", 3)
    assert runs(store) == [(1, "run-nan", "nan_inf")]


def test_votes_of_runs_do_not_come_twice_and_survive_a_change_of_the_item(database: Path) -> None:
    store = store_of(database, [item(1, "Segfault")])
    ran(store, "a", "SIGSEGV", 1)
    label(store)
    first = table(database)
    label(store)
    assert table(database) == first
    store_of(database, [item(1, "Calm now", updated=LATER)])
    label(store)
    assert table(database) == [(1, "consequence", "crash", "run-signal", "execution", "a on 2.1.2")]
