"""A clone whose commits mend a test file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.gitlog import Repository

if TYPE_CHECKING:
    from pathlib import Path


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


ADDED = FILE.replace(
    "    def test_old", "    def test_more(self):\n        self.assertEqual(1, 1)\n\n    def test_old"
).replace("test_new", "test_before")
