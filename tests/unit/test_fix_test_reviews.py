"""Second readers of fix tests: what their answers say."""

from __future__ import annotations

import json
import re

import pytest

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.repro.fix_tests import reviews
from torch_embers.run.fix_tests.alive import ShownIssue, alive


def line(**entries: str) -> str:
    return json.dumps(
        {"case": "fix1", "failure": "before", "annotator": "a-1", "verdict": "right", "why": "It shows it."} | entries
    )


def test_the_last_line_of_an_annotator_counts_and_annotators_that_differ_are_unclear() -> None:
    read = reviews.parse("\n".join([line(verdict="wrong"), line(), line(annotator="a-2"), "", line(case="fix2")]))
    assert reviews.answers(read, "before") == {"fix1": "right", "fix2": "right"}
    assert reviews.agreement(read, "before") == (1, 1)
    read = reviews.parse("\n".join([line(), line(annotator="a-2", verdict="wrong")]))
    assert reviews.answers(read, "before") == {"fix1": "unclear"}
    assert reviews.answers(read, "after") == {}
    assert reviews.agreement(read, "before") == (0, 1)
    read = (*read, *reviews.parse(line(annotator="a-3", verdict="wrong", by_run="the call of the issue on 2.15.0")))
    assert reviews.answers(read, "before") == {"fix1": "wrong"}
    assert reviews.agreement(read, "before") == (0, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (line(verdict="yes"), "line 2: verdict"),
        (line(why=""), "line 2: why"),
        ("{", "line 2: "),
        (line(other="x"), "line 2: other"),
    ],
)
def test_a_wrong_line_is_named(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        reviews.parse(f"{line()}\n{text}")


def test_every_shipped_answer_is_about_a_case_of_a_fix_and_none_stands_twice() -> None:
    lines = resources.data_file(reviews.FILE).read_text(encoding="utf-8").splitlines()
    assert len(reviews.load()) == len(lines)  # of two lines of one annotator about one failure the later one counts
    assert all(re.fullmatch(r"fix\d+_[0-9a-f]{8}_[0-9a-f]{4}_.+", review.case) for review in reviews.load())


def shown(number: int, failed: str = "", passed: str = "2.0.1 2.1.2") -> ShownIssue:
    return ShownIssue(number, f"fix{number}", failed.split(), passed.split())


def test_the_share_alive_counts_issues_and_takes_no_failure_for_the_bug_before_it_was_read() -> None:
    tests = [shown(n) for n in range(1, 19)] + [shown(40, passed="2.0.1"), shown(19, "2.1.2"), shown(20, "2.1.2")]
    unread = alive(tests, "2.1.2", {"fix1": "right"}, {})
    assert (unread.issues, unread.read, unread.fails, unread.again, unread.open) == (20, 1, 2, 0, 2)
    assert "at least 0 of 20 (0 %, 95 % interval 0 to 16 %) and at most 2 (10 %" in unread.sentence()
    read = alive(tests, "2.1.2", {}, {"fix19": "right", "fix20": "wrong"})
    assert (read.again, read.otherwise, read.open) == (1, 1, 0)
    assert read.sentence().endswith("So 1 of 20 (5 %, 95 % interval 1 to 24 %) are there again.")
    assert alive(tests, "2.1.2", {}, {"fix19": "unclear", "fix20": "wrong"}).open == 1


def test_few_issues_are_no_share() -> None:
    assert "no share can be given" in alive([], "", {}, {}).sentence()
    assert "%" not in alive([shown(1, "2.1.2")], "2.1.2", {}, {}).sentence()
