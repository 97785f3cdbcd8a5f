"""The judged samples of extraction: complete, each item once, answers from the closed lists."""

from __future__ import annotations

import json

import pytest

from torch_embers import resources


@pytest.fixture
def sample() -> list[dict[str, object]]:
    text = resources.data_file("extraction_reviews.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_each_draw_has_sixty_scripts_and_no_item_twice(sample: list[dict[str, object]]) -> None:
    assert [sum(row["draw"] == draw for row in sample) for draw in (1, 2, 3)] == [60, 60, 60]
    assert len({(row["repo"], row["number"]) for row in sample}) == 180


def test_every_script_has_an_answer_with_a_reason(sample: list[dict[str, object]]) -> None:
    for row in sample:
        assert row["expectation"] in {"yes", "no", "unclear", "abstained"}
        assert (row["expectation"] == "abstained") is bool(row["review"])
        assert row["reason"]
        assert row["annotator_kind"] == "automated"


def test_what_some_rules_called_reproduced_was_looked_at(sample: list[dict[str, object]]) -> None:
    for row in sample:
        called = row["reproduced_before"] or row.get("reproduced_first") or row["reproduced"]
        assert (row["shown"] in (True, False)) is bool(called)
        assert not (row["reproduced"] and row["review"]), "a script that needs review is evidence for nothing"


def test_reduced_scripts_are_smaller_and_judged() -> None:
    text = resources.data_file("reduction_reviews.jsonl").read_text(encoding="utf-8")
    for row in map(json.loads, text.splitlines()):
        assert row["after"] <= row["before"]
        assert row["same"] in (True, False)
        assert row["reason"]


def test_every_claim_and_every_reproduction_of_the_first_draws_has_a_second_reader(
    sample: list[dict[str, object]],
) -> None:
    for row in sample:
        if row["draw"] == 3:
            continue  # one reader alone, as the page says
        second = row.get("second")
        assert isinstance(second, dict) is (row["expectation"] != "abstained" or row["shown"] is not None), row[
            "number"
        ]
        if isinstance(second, dict):
            assert second["annotator"] != row["annotator"]
            assert second["expectation"] in {"yes", "no", "unclear"}
            assert (second["shown"] is None) is (row["shown"] is None)
