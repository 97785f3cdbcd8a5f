"""The share of fixed bugs that are there on the newest release."""

from __future__ import annotations

from torch_embers.fixtests.alive import ShownIssue, alive


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
