"""Every candidate has exactly one row: a case by hand, an extracted script, or the reason why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support import case_text, rows
from torch_embers.progress import Silent
from torch_embers.repro import bank, link
from torch_embers.repro.case import parse
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

CRASH = """### Describe the bug
`torch.flip` dies.

```python
import torch
x = torch.zeros(2, 3)
torch.flip(x, (7,))
```

```
Traceback (most recent call last):
  File "a.py", line 3, in <module>
IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 7)
```
"""
ITEMS = (
    (1, "flip segfaults on a strided tensor", CRASH),
    (2, "Wrong result of non-contiguous add", "It is wrong, believe me."),
    (3, "Silent wrong gradient of a non-contiguous tensor", None),
    (4, "Feature request: nicer docs", CRASH),
    (5, 'Segfault """ with \\ quotes \x1b[31m in channels_last', CRASH),
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "e.duckdb")
    with made.writer("test", create=True) as writer, writer.transaction() as connection:
        for number, title, body in ITEMS:
            labels = ["feature"] if number == 4 else ["module: crash", "module: correctness (silent)"]
            connection.execute(
                "INSERT INTO items (repo, number, kind, title, body, state, labels, content_hash) "
                "VALUES ('pytorch/pytorch', $n, 'issue', $t, $b, 'open', $l, md5(concat($t, $b)))",
                {"n": number, "t": title, "b": body, "l": labels},
            )
            connection.execute(
                "INSERT INTO components (repo, number, component, subcomponent, strict, evidence, detail) "
                "VALUES ('pytorch/pytorch', ?, 'data_path', 'aten', false, 'text', 'strided')",
                [number],
            )
    return made


@pytest.fixture(autouse=True)
def _no_shipped_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bank, "shipped", list)


def found(store: Store) -> dict[int, tuple[str, str | None, str | None]]:
    return {
        n: (s, name, r) for n, s, name, r in rows(store.path, "SELECT number, status, name, reason FROM extractions")
    }


def assert_one_row_each(store: Store) -> None:
    same = rows(
        store.path,
        "SELECT (SELECT count(*) FROM extractions), (SELECT count(*) FROM candidates), "
        "(SELECT count(*) FROM extractions SEMI JOIN candidates USING (repo, number)), "
        "(SELECT count(DISTINCT (repo, number)) FROM extractions)",
    )[0]
    assert len(set(same)) == 1, same


def test_every_candidate_has_one_row_and_nothing_else_has_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "uncovered", lambda: {("pytorch/pytorch", 3): "needs a printer"})
    done = link.link_repros(store, None, Silent())
    assert_one_row_each(store)
    told = found(store)
    assert told[1] == ("extracted", "x1", None)
    assert told[2] == ("not_possible", None, "prose_only")
    assert told[3] == ("not_possible", None, "stated")
    assert rows(store.path, "SELECT detail FROM extractions WHERE number = 3") == [("needs a printer",)]
    assert told[5][0] == "extracted"
    assert 4 not in told
    assert (done.candidates, done.statuses) == (4, {"extracted": 2, "not_possible": 2})


def test_verbatim_and_runnable_text_are_kept_with_the_edits_between_them(store: Store) -> None:
    link.link_repros(store, None, Silent())
    kinds = rows(store.path, "SELECT kind FROM artifacts WHERE name = 'x1' ORDER BY kind")
    assert kinds == [("runnable",), ("verbatim",)]
    case = bank.load(store, ["x1"])[0]
    assert [str(one).partition(":")[0] for one in case.signature] == ["IndexError"]
    assert (case.origin, case.oracle) == ("extracted", "exception")


def test_asking_again_reads_nothing_and_a_new_text_is_read(store: Store) -> None:
    link.link_repros(store, None, Silent())
    before = found(store)
    assert link.link_repros(store, None, Silent()).read == 0
    assert found(store) == before
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        connection.execute("UPDATE items SET body = ?, content_hash = 'new' WHERE number = 2", [CRASH])
        connection.execute(
            "INSERT INTO comments (repo, number, comment_id, body) VALUES ('pytorch/pytorch', 3, 'c', 'x')"
        )
    assert link.link_repros(store, None, Silent()).read == 2
    assert found(store)[2] == ("extracted", "x2", "needs_review"), "its title complains of a value"
    assert_one_row_each(store)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute("DELETE FROM components WHERE number = 2")
    link.link_repros(store, None, Silent())
    assert 2 not in found(store), "what is no candidate any more loses its row"
    assert_one_row_each(store)


def test_a_script_whose_failure_the_report_does_not_tell_waits_for_a_person(store: Store) -> None:
    done = link.link_repros(store, None, Silent())
    assert done.needs_review == 0
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        connection.execute(
            "UPDATE items SET title = 'flip does not validate its axes', content_hash = 'n' WHERE number = 1"
        )
    assert link.link_repros(store, None, Silent()).needs_review == 1
    assert found(store)[1] == ("extracted", "x1", "needs_review")
    [detail] = rows(store.path, "SELECT detail FROM extractions WHERE number = 1")
    assert detail == ("from body; the title asks for an error: the one that is shown may be right",)
    assert bank.load(store, ["x1"])[0].review == "the title asks for an error: the one that is shown may be right"


def test_a_case_by_hand_takes_the_place_of_an_extracted_one_and_gives_it_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    link.link_repros(store, None, Silent())
    own = parse(case_text(issues=["pytorch/pytorch#1"]), "pt1_own")
    monkeypatch.setattr(bank, "shipped", lambda: [own])
    link.link_repros(store, None, Silent())
    assert found(store)[1] == ("curated", "pt1_own", None)
    assert [case.name for case in bank.load(store)] == ["pt1_own", "x5"]
    monkeypatch.setattr(bank, "shipped", list)
    link.link_repros(store, None, Silent())
    assert found(store)[1] == ("extracted", "x1", None)
    assert [case.name for case in bank.load(store)] == ["x1", "x5"]
    assert_one_row_each(store)
