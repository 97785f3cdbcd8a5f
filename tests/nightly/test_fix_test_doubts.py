"""Whether what a fix test fails at before the fix is what the fix is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.fix_tests import ADDED, REPO, clone, fixing, linked, stored_run  # noqa: F401 - fixtures
from support import rows
from torch_embers.repro import bank
from torch_embers.run.fix_tests.trial import class_tests
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from helpers.gitlog import Repository


def frame(line: int) -> str:
    return f'Traceback (most recent call last):\n  File "/x/case.py", line {line}, in test_new\n    x\nE: y\n'


def test_a_changed_test_that_fails_in_front_of_the_change_decides_no_status(clone: Repository, tmp_path: Path) -> None:
    clone.commit("Add", test__test_x_py=ADDED)
    changed = ADDED.replace("self.assertEqual(1, 1)", "self.assertEqual(1, 1)\n        self.assertEqual(2, 2)")
    fixing(clone, test__test_x_py=changed)
    store = Store(tmp_path / "e.duckdb")
    linked(clone, store)
    [(name, code)] = rows(store.path, "SELECT name, code FROM cases")
    line = next(n for n, text in enumerate(code.split("\n"), 1) if "assertEqual(1, 1)" in text)
    frame = f'Traceback (most recent call last):\n  File "/x/{name}.py", line {line}, in test_more\nAssertionError: 3\n'
    stored_run(store, "1.13.1", 1, "AssertionError: 3")
    stored_run(store, "2.0.1", 0)
    with store.writer("test") as writer:
        with writer.transaction() as connection:
            connection.execute("UPDATE runs SET stderr = $e WHERE exit_code = 1", {"e": frame})
        class_tests(store, writer, REPO)
    [found] = rows(store.path, "SELECT class, reason, detail, validated_before FROM fix_test_classes")
    assert found == ("doubtful", "other_line", "other_line: self.assertEqual(1, 1)", "1.13.1")
    assert [case for case in bank.load(store) if case.origin == "fix_test"] == []
    assert rows(store.path, "SELECT subject FROM fix_tests") == [("Mend it (#200)",)]
