"""Learners on the same held-out texts: of the catalog, of CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("sklearn")


from labelled import embed, examples
from torch_embers.classify.labels.gold import GoldItem
from torch_embers.classify.learning.features import table
from torch_embers.classify.questions import Question
from torch_embers.errors import InputError
from torch_embers.evaluate.compare import compare, held_out
from torch_embers.evaluate.csv_evaluation import Table, evaluate_tables, read_table
from torch_embers.evaluate.csv_evaluation import groups_of as csv_groups
from torch_embers.evaluate.gold_evaluation import Item, groups_of, usable
from torch_embers.evaluate.learners import Majority
from torch_embers.statistics.agreement import between
from torch_embers.statistics.splits import Split


def test_a_learner_sees_no_text_of_the_test_half() -> None:
    seen: list[set[str]] = []

    class Spy(Majority):
        def answer(self, train, labels, groups, test):
            seen.append(set(train["text"]) & set(test["text"]))
            assert len(labels) == len(groups) == len(train)
            return super().answer(train, labels, groups, test)

    texts, labels = examples(10)
    compare("t", table(texts), labels, range(30), (Spy(),))
    assert seen == [set()] * 5


def test_overlapping_test_halves_are_refused() -> None:
    texts, labels = examples(5)
    split = Split(np.arange(5), np.arange(5, 10))
    with pytest.raises(InputError, match="two test halves"):
        held_out(Majority(), table(texts), labels, range(15), [split, split])


@pytest.mark.parametrize(
    ("content", "columns", "said"),
    [
        (None, ["text"], "cannot read"),
        (b"", ["text"], "cannot read"),
        (b"text,label\n", ["text"], "no rows"),
        (b"text,label\na,\n", ["text"], "row 2 has no label"),
        (b"text,label\na,b\n", ["body"], "no column body"),
        (b'text,label\n"a,b\n', ["text"], "cannot read"),
        (b"text,label\n\xff\xfe,b\n", ["text"], "cannot read"),
    ],
)
def test_an_unusable_csv_file_is_refused(tmp_path: Path, content: bytes | None, columns: list[str], said: str) -> None:
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_table(path, columns, "label")


def item(number: int, label: str = "", text: str = "text") -> Item:
    labels = {"s": label} if label else {}
    return Item(text, GoldItem("o/r", number, labels, {"s": "human:x"}, None))


def test_a_question_with_too_little_gold_is_left_out_with_the_reason() -> None:
    question = Question("s", classes=("a", "b", "rare"))
    few = [item(number, "ab"[number % 2]) for number in range(12)]
    assert "too few gold labels: 12 items in 2 classes" in usable(few, question)[1]
    assert usable(few, Question("other", classes=("a",)))[1] == "no gold labels"
    many = [item(number, "abbb"[number % 4]) for number in range(40)]
    chosen, reason = usable([*many, item(99, "rare")], question)
    assert (len(chosen), reason) == (40, "")


def test_two_reports_with_one_fix_stay_together() -> None:
    found = [item(number, text=text) for number, text in enumerate(("alpha", "beta", "gamma", "delta"))]
    related = {("o/r", 0): [("o/r", 77)], ("o/r", 2): [("o/r", 77)], ("o/r", 3): [("o/r", 1)]}
    assert groups_of(found, related).tolist() == [0, 1, 0, 1]


def test_a_file_of_one_class_says_what_is_wrong_and_forms_are_no_duplicates() -> None:
    one = Table(("a b", "c d"), ("x", "x"), (None, None))
    with pytest.raises(InputError, match=r"one class alone \(x\)"):
        evaluate_tables(one, None, embed, range(2))
    form = (
        "## Environment\nPyTorch version: 2.0.1\nOS: Ubuntu 22.04\nPython version: 3.10\nCUDA runtime version: 11.7\n"
    )
    filled = Table((f"conv2d is wrong\n{form}", f"the loader hangs\n{form}"), ("x", "y"), (None, None))
    assert len(set(csv_groups(filled).tolist())) == 2


def test_agreement_is_said_of_annotators_who_share_enough_items() -> None:
    said = [("s", who, item, "a" if item % 2 else "b") for who in ("x", "y") for item in range(12)]
    [one] = between([*said, ("s", "z", 1, "a"), ("t", "y", 1, "a")])
    assert (one.scheme, one.one, one.other, one.items, one.kappa.value) == ("s", "x", "y", 12, 1.0)
