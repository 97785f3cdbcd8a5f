"""Second readers of fix tests: what they are given, and what their answers say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import support
from helpers.fix_tests import ADDED, REPO, fixing, linked, stored_run
from torch_embers.run.fix_tests.trial import class_tests
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from helpers.gitlog import Repository
TOOL: Any = support.tool("fix_test_material")


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
