"""Second readers of fix tests: what they are given, and what their answers say."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import support
from test_fix_tests import ADDED, REPO, clone, fixing, linked, stored_run
from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.repro.fix_tests import reviews
from torch_embers.run.fix_tests.alive import ShownIssue, alive
from torch_embers.run.fix_tests.trial import class_tests
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from test_gitlog import Repository

__all__ = ["clone"]
TOOL: Any = support.tool("fix_test_material")


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


@pytest.mark.slow
def test_readers_get_issue_commit_test_failures_and_later_commits(clone: Repository, tmp_path: Path) -> None:
    sha = fixing(clone, test__test_x_py=ADDED)
    changed = clone.commit("Widen", test__test_x_py=ADDED.replace("(1, 1)", "(2, 2)"))
    clone.commit("Elsewhere", test__test_x_py=ADDED.replace("(1, 1)", "(2, 2)") + "\nx = 1\n")
    gone = clone.commit("Remove", test__test_x_py="x = 1\n")
    store = Store(tmp_path / "e.duckdb")
    linked(clone, store)
    stored_run(store, "1.13.1", 1, "AssertionError: 3 != 4")
    stored_run(store, "2.0.1", 0)
    with store.writer("test") as writer:
        class_tests(store, writer, REPO)
        with writer.transaction() as connection:
            connection.execute("INSERT INTO items (repo, number, title) VALUES (?, 123, 'It breaks')", [REPO])
    given = [str(clone.path), str(tmp_path / "out"), "--database", str(store.path), "--seed", "1"]
    TOOL.main([*given, "--unread", "--package", "5"])
    page = (tmp_path / "out" / "package_1.md").read_text()
    assert "It breaks" in page
    assert "AssertionError: 3 != 4" in page
    assert "self.assertEqual(1, 1)" in page
    [text] = (tmp_path / "out" / "tests.jsonl").read_text().splitlines()
    row = json.loads(text)
    assert (row["class"], row["test"], row["commit"]) == ("validated", "TestThing.test_more", sha)
    assert row["issues"] == [{"number": 123, "relation": "same", "title": "It breaks", "summary": None, "body": None}]
    assert row["message"].startswith("Mend it (#200)\n\nFixes #123")
    assert row["text_before"] is None
    assert "self.assertEqual(1, 1)" in row["text"]
    assert row["failures"]["1.13.1"].endswith("AssertionError: 3 != 4\n")
    assert [(found["commit"], found["change"]) for found in row["later"]] == [(changed, "changed"), (gone, "gone")]
    assert "_embers_run('test_more'" in (tmp_path / "out" / row["script"]).read_text()
