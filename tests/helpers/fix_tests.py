"""What the tests in test_fix_tests.py share."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from helpers.gitlog import Repository
from torch_embers.progress import Silent
from torch_embers.repro.fix_tests import rules as fix_test_rules
from torch_embers.repro.fix_tests.cases import FileOfTests, case_of, scripts_of_commit
from torch_embers.repro.fix_tests.cases import TestFound as FoundTest
from torch_embers.repro.fix_tests.changed import changed_tests
from torch_embers.repro.fix_tests.outline import read
from torch_embers.repro.fix_tests.script import TestScript as ScriptOfTest
from torch_embers.repro.fix_tests.script import make_script
from torch_embers.run.fix_tests.link import link_fix_tests
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.repro.case import Case
    from torch_embers.run.fix_tests.link import LinkedTests

REPO = "pytorch/pytorch"
FILE = """
import os
import torch
import unittest
from unittest import TestCase

SIZE = 3
UNUSED = 4


def helper(x):
    return x + SIZE


def unused():
    return UNUSED


class Base(TestCase):
    def setUp(self):
        self.one = 1

    def _compare(self, a, b):
        self.assertEqual(a, b)

    def test_of_the_base(self):
        pass


class TestThing(Base):
    exact = True

    def _own(self):
        return helper(0)

    def test_old(self):
        pass

    def test_new(self):
        self._compare(self._own(), 3)


if __name__ == "__main__":
    unittest.main()
"""


def script(text: str, owner: str = "TestThing", test: str = "test_new") -> str:
    return make_script(read(textwrap.dedent(text)), owner, test, fix_test_rules.load()).code


def runs(code: str, folder: Path | None = None) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode, done.stdout, done.stderr


# ---- which tests ---------------------------------------------------------------------------------------------------


def changed(before: str | None, after: str) -> list[tuple[str, str, str]]:
    return [tuple(found) for found in changed_tests(read(before) if before is not None else None, read(after))]


@pytest.fixture
def torch(tmp_path: Path) -> Path:
    """A folder with a package torch that has one submodule, which it does not load itself."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "_deep.py").write_text("zero = 0")
    return tmp_path


# ---- files and clones ----------------------------------------------------------------------------------------------


def only(after: bytes | None, before: bytes | None = None) -> tuple[str | None, str]:
    [found] = scripts_of_commit([FileOfTests("test/test_x.py", after, before)], fix_test_rules.load())
    return found.reason, found.detail


def case(verbatim: str, issues: list[int], test: str = "test_new", owner: str = "TestThing") -> Case:
    made = ScriptOfTest("print()", verbatim, ())
    return case_of(FoundTest("test/test_x.py", owner, test, "added", made), REPO, issues, "0" * 40, 60)


def begin(folder: Path) -> Repository:
    made = Repository(folder)
    before = FILE.replace("test_new", "test_before")
    made.commit("Begin", **{"test__test_x_py": before, "version.txt": "2.0.0a0\n"})
    return made


@pytest.fixture
def clone(tmp_path: Path) -> Repository:
    return begin(tmp_path / "clone")


def fixing(clone: Repository, number: str = "Fixes #123", **files: str) -> str:
    return clone.commit(
        f"Mend it (#200)\n\n{number}\n\nPull Request resolved: https://github.com/{REPO}/pull/200", **files
    )


def linked(clone: Repository, store: Store, **more: str) -> LinkedTests:
    with store.writer("test", create=True) as writer, writer.transaction():
        pass
    return link_fix_tests(store, REPO, clone.path, Silent(), jobs=1, **more)


ADDED = FILE.replace(
    "    def test_old", "    def test_more(self):\n        self.assertEqual(1, 1)\n\n    def test_old"
).replace("test_new", "test_before")


# ---- runs in the database ------------------------------------------------------------------------------------------

TRACE = 'Traceback (most recent call last):\n  File "fix.py", line 3, in test_more\n{}\n'


def stored_run(store: Store, version: str, exit_code: int, failure: str = "", frame: str = "") -> None:
    """A trial run as the ledger keeps it."""
    stderr = TRACE.format(f'  File "common_utils.py", line 5, in {frame}\n{failure}' if frame else failure)
    with store.writer("test") as writer, writer.transaction() as connection:
        connection.execute(
            "INSERT INTO builds (build, name, version, channel, platform, python, seen_at) "
            "VALUES ($v, $v, $v || '+cpu', 'release', 'linux', '3.11', now())",
            {"v": version},
        )
        connection.execute(
            "INSERT INTO runs BY NAME SELECT case_hash, $v AS build, 'e' AS environment, 'hostile' AS profile, 0 AS batch, "
            "0 AS attempt, false AS planted, 'cannot_run' AS outcome, 'x' AS detail, '1 of 1 variants ran, 1 pass' AS stdout, "
            "$e AS stderr, $c AS exit_code, 'exited' AS ended, 0.1 AS duration, 0.1 AS cpu, 1 AS peak_memory, "
            "'z' AS zygote, 0 AS seed, [] AS guarantees, now() AS ran_at FROM fix_tests WHERE status = 'script'",
            {"v": version, "e": stderr if failure else "", "c": exit_code},
        )


@pytest.fixture(scope="module")
def one_test_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one fix test, first released in 2.0.0; to be copied."""
    folder = tmp_path_factory.mktemp("one")
    begun = begin(folder / "clone")
    fixing(begun, test__test_x_py=ADDED)
    store = Store(folder / "e.duckdb")
    linked(begun, store)
    return store.path


@pytest.fixture
def one_test(one_test_database: Path, tmp_path: Path) -> Store:
    """A copy of that database."""
    return Store(shutil.copy(one_test_database, tmp_path / "e.duckdb"))
