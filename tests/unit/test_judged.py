"""The judged samples of extraction: complete, each item once, answers from the closed lists."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torch_embers import resources
from torch_embers.repro.rules_version import RULES_VERSION


@pytest.fixture
def sample() -> list[dict[str, Any]]:
    return lines_of("extraction_reviews.jsonl")


def test_each_draw_has_sixty_scripts_and_no_item_twice(sample: list[dict[str, Any]]) -> None:
    assert [sum(row["draw"] == draw for row in sample) for draw in (1, 2, 3)] == [60, 60, 60]
    assert len({(row["repo"], row["number"]) for row in sample}) == 180


def test_every_script_has_an_answer_with_a_reason(sample: list[dict[str, Any]]) -> None:
    for row in sample:
        assert row["expectation"] in {"yes", "no", "unclear", "abstained"}
        assert (row["expectation"] == "abstained") is bool(row["review"])
        assert row["reason"]
        assert row["annotator_kind"] == "automated"


def test_what_some_rules_called_reproduced_was_looked_at(sample: list[dict[str, Any]]) -> None:
    for row in sample:
        called = row["reproduced_before"] or row.get("reproduced_first") or row["reproduced"]
        assert isinstance(row["shown"], bool) is bool(called), row["number"]
        assert not (row["reproduced"] and row["review"]), "a script that needs review is evidence for nothing"


def test_reduced_scripts_are_smaller_and_judged() -> None:
    for row in lines_of("reduction_reviews.jsonl"):
        assert 0 < row["after"] < row["before"], row["number"]
        assert row["tests"] > 0
        assert isinstance(row["same"], bool)
        assert row["reason"]


@pytest.mark.parametrize(
    "name",
    ["extraction_reviews.jsonl", "extraction_blind.jsonl", "extraction_rest.jsonl", "reduction_reviews.jsonl"],
)
def test_every_reading_says_of_which_rules_it_is(name: str) -> None:
    read = {row["rules"] for row in lines_of(name)}
    assert all(isinstance(version, int) and 0 < version <= RULES_VERSION for version in read)


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in resources.data_file(name).read_text(encoding="utf-8").splitlines()]


def test_every_claim_and_every_reproduction_of_the_first_draws_has_a_second_reader(
    sample: list[dict[str, Any]],
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
