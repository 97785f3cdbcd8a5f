"""The draw of validated fix tests for an independent reader, and its answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from torch_embers.repro.fix_tests import reviews

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import fix_tests_confirmed  # noqa: E402
import fix_tests_drawn  # noqa: E402

DRAWS: list[dict[str, Any]] = [
    json.loads((ROOT / "bench" / name).read_text(encoding="utf-8"))
    for name in ("fix_tests_drawn.json", "fix_tests_unread.json")
]


def answers(draw: dict[str, Any]) -> dict[str, str]:
    """What the reader of a draw says, by case."""
    mine = (review for review in reviews.load() if review.annotator == draw["annotator"])
    return {review.case: review.verdict for review in mine if review.failure == "before"}


FACTS = DRAWS[0]
ANSWERS = answers(FACTS)


@pytest.mark.parametrize("draw", DRAWS, ids=["all", "unread"])
def test_the_draw_is_the_head_of_the_population_in_the_order_of_the_seed(draw: dict[str, Any]) -> None:
    names = [name for part in draw["population"].values() for name in part]
    assert len(set(names)) == len(names)
    assert fix_tests_drawn.order(names, draw["seed"])[: len(draw["drawn"])] == draw["drawn"]


def test_another_seed_draws_other_tests() -> None:
    names = [str(number) for number in range(200)]
    assert fix_tests_drawn.order(names, 1)[:40] != fix_tests_drawn.order(names, 2)[:40]
    assert fix_tests_drawn.order(reversed(names), 1) == fix_tests_drawn.order(names, 1)


@pytest.mark.parametrize("draw", DRAWS, ids=["all", "unread"])
def test_every_drawn_test_has_one_answer_and_every_wrong_one_a_cause(draw: dict[str, Any]) -> None:
    said = answers(draw)
    assert set(said) == set(draw["drawn"])
    assert {case for case, verdict in said.items() if verdict == "wrong"} == set(draw["causes"])


def test_a_draw_from_tests_that_nobody_read_has_none_of_another_reader() -> None:
    unread = DRAWS[1]
    others = (review for review in reviews.load() if review.annotator != unread["annotator"])
    assert not {review.case for review in others if review.failure == "before"} & set(unread["drawn"])


def test_every_disagreement_was_looked_at_once_more() -> None:
    differ = {
        review.case
        for review in reviews.load()
        if review.case in ANSWERS and review.failure == "before" and review.verdict != ANSWERS[review.case]
    }
    assert differ == {entry["case"] for entry in FACTS["again"]}


def test_a_draw_that_has_answers_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fix_tests_drawn.py", "--seed", "1", "--annotator", "nobody"])
    with pytest.raises(FileExistsError):
        fix_tests_drawn.main()


def test_a_test_is_confirmed_by_its_verdicts_on_both_sides_of_the_fix() -> None:
    facts = json.loads((ROOT / "bench" / "fix_tests_verdicts.json").read_text(encoding="utf-8"))
    both = [(test["before"].get("verdict"), test["after"].get("verdict")) for test in facts["tests"]]
    assert both.count(("occurs", "absent")) == facts["confirmed"]
    assert all(test[place].get("control") != "none" for test in facts["tests"] for place in ("before", "after"))


# ---- the draw from tests that readers had judged -------------------------------------------------------------------

CONFIRMED = json.loads((ROOT / "bench" / "fix_tests_confirmed.json").read_text(encoding="utf-8"))


def test_the_second_draw_follows_from_its_seed() -> None:
    sizes = len(CONFIRMED["drawn_right"]), len(CONFIRMED["drawn_wrong"])
    found = fix_tests_confirmed.drawn(CONFIRMED["right"], CONFIRMED["wrong"], CONFIRMED["seed"], *sizes)
    assert found == (CONFIRMED["drawn_right"], CONFIRMED["drawn_wrong"])
    assert sizes == (40, 12)


def test_the_second_draw_is_from_tests_on_which_all_readers_before_had_one_answer() -> None:
    said: dict[str, set[str]] = {}
    for review in reviews.load():
        if review.failure == "before" and review.annotator != CONFIRMED["annotator"]:
            said.setdefault(review.case, set()).add(review.verdict)
    for verdict in ("right", "wrong"):
        assert all(said[case] == {verdict} for case in CONFIRMED[verdict])


def test_every_test_of_the_second_draw_has_one_answer() -> None:
    told = [review.case for review in reviews.load() if review.annotator == CONFIRMED["annotator"]]
    assert sorted(told) == sorted(CONFIRMED["drawn_right"] + CONFIRMED["drawn_wrong"])


def test_a_second_draw_that_has_answers_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fix_tests_confirmed.py", "--seed", "1"])
    with pytest.raises(FileExistsError):
        fix_tests_confirmed.main()
