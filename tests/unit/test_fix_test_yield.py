"""The share of fixed bugs that are there on the newest release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_embers.fixtests import fix_test_yield
from torch_embers.fixtests.fix_test_yield import Alive, yield_of
from torch_embers.store import rows
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "a/b"
DECIDED = {"rules": "1", "decided_at": "2026-01-01", "provenance": "own"}


def alive(
    folder: Path, tests: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch, before: str = "", after: str = ""
) -> Alive:
    """The share of a database with these tests; ``before`` and ``after`` are answers, as ``fix1 right fix2 wrong``."""
    words = {"shows_bug": before.split(), "shows_bug_again": after.split()}
    read = {question: dict(zip(said[::2], said[1::2], strict=True)) for question, said in words.items()}
    monkeypatch.setattr(fix_test_yield, "fix_test_answers", lambda: read)
    store = Store(folder / "e.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        for table in ("fix_tests", "fix_test_classes"):
            connection.execute(f"DELETE FROM {table}")
        names = [f"fix{test['number']}" for test in tests]
        fixes = [
            {"repo": REPO, "commit_sha": name, "issues": [test["number"]], "same": [test["number"]]}
            | {"status": "script", "name": name, "test": "test_x", "first_release_by": "tag"}
            | DECIDED
            for name, test in zip(names, tests, strict=True)
        ]
        classes = [
            {"class": "validated", "reason": None, "failed": [], "passed": ["2.0.1", "2.1.2"], "unusable": []}
            | {"name": name, "validated_before": "1.13.1", "unusable_because": []}
            | {key: value for key, value in test.items() if key != "number"}
            | DECIDED
            for name, test in zip(names, tests, strict=True)
        ]
        rows.append(connection, "fix_tests", fixes)
        rows.append(connection, "fix_test_classes", classes)
    return yield_of(store, REPO).alive


def test_the_share_alive_counts_issues_and_takes_no_failure_for_the_bug_before_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = {"class": "fails_after", "failed": ["2.1.2"], "passed": ["2.0.1"]}
    tests: list[dict[str, object]] = [{"number": str(n)} for n in range(1, 19)]
    tests += [{"number": "40", "passed": ["2.0.1"]}, {"number": "19"} | fails, {"number": "20"} | fails]
    unread = alive(tmp_path, tests, monkeypatch, "fix1 right")
    assert unread == Alive("2.1.2", 20, 1, 2, 0, 0, 2)
    assert "at least 0 of 20 (0 %, 95 % interval 0 to 16 %) and at most 2 (10 %" in unread.sentence()
    read = alive(tmp_path, tests, monkeypatch, after="fix19 right fix20 wrong")
    assert (read.again, read.otherwise, read.open) == (1, 1, 0)
    assert read.sentence().endswith("So 1 of 20 (5 %, 95 % interval 1 to 24 %) are there again.")
    assert alive(tmp_path, tests, monkeypatch, after="fix19 unclear fix20 wrong").open == 1


def test_few_issues_are_no_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no share can be given" in alive(tmp_path, [], monkeypatch).sentence()
    assert "%" not in alive(tmp_path, [{"number": "1", "failed": ["2.1.2"]}], monkeypatch).sentence()


@pytest.mark.parametrize(
    ("kind", "reason", "answer", "counts"),
    [
        ("validated", None, "", True),
        ("validated", None, "fix1 right", True),
        ("validated", None, "fix1 unclear", False),
        ("doubtful", "feature", "", False),
        ("doubtful", "feature", "fix1 right", True),
        ("fails_after", None, "", True),
        ("fails_after", None, "fix1 wrong", False),
        ("fails_after", "feature", "", False),
    ],
)
def test_readers_decide_which_failures_before_a_fix_are_its_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, reason: str | None, answer: str, counts: bool
) -> None:
    found = alive(tmp_path, [{"number": "1", "class": kind, "reason": reason}], monkeypatch, answer)
    assert found.issues == int(counts)
