"""What the tests in test_gitlog.py share."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from torch_embers.store.records import Batch

from torch_embers.mine import readers
from torch_embers.mine.git import gitsizes
from torch_embers.mine.git.gitlog import GitSource

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"


class Repository:
    """A small repository made by git itself, with a clock that only moves forward."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = 1_470_000_000  # August 2016: small numbers are pytorch's own
        path.mkdir(parents=True, exist_ok=True)
        self("init", "-q", "-b", "main")

    def __call__(self, *arguments: str | bytes, stdin: bytes | None = None) -> str:
        stamp = f"{self.clock} +0200"
        environment = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "Ann",
            "GIT_AUTHOR_EMAIL": "ann@example.org",
            "GIT_COMMITTER_NAME": "Bob",
            "GIT_COMMITTER_EMAIL": "bob@example.org",
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp,
        }
        done = subprocess.run(
            ["git", "-C", self.path, *arguments], input=stdin, capture_output=True, check=True, env=environment
        )
        return done.stdout.decode("utf-8", "replace").strip()

    def commit(self, message: str | bytes, **files: str | bytes) -> str:
        """Write files (``__`` in a name is a slash, ``_py`` its suffix) and commit everything."""
        for name, content in files.items():
            target = self.path / name.replace("__", "/").replace("_py", ".py")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        self.clock += 60
        self("add", "-A")
        text = message.encode() if isinstance(message, str) else message
        self("commit", "-q", "--allow-empty", "-F", "-", stdin=text)
        return self("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "clone")


@pytest.fixture(autouse=True)
def plain_components(monkeypatch: pytest.MonkeyPatch) -> None:
    """Components that the test can see through: the first folder, strict below c10."""

    def component_of(path: str) -> tuple[str, str, bool]:
        folder = path.split("/")[0]
        return ("data_path", folder, folder == "c10") if folder in ("c10", "aten") else ("other", "", False)

    monkeypatch.setattr(gitsizes, "component_of", component_of)


def mine(path: Path, state: dict[str, str] | None = None, **options: Any) -> tuple[Batch, dict[str, str]]:
    """Everything of one run, and the cursors after it; each page must read back to the same records."""
    total, cursors = Batch(), dict(state or {})
    for batch in GitSource(REPO, path, **options).batches(cursors):
        replayed = Batch()
        for page in batch.pages:
            replayed.extend(readers.read(page))
        assert (replayed.commits, replayed.commit_files) == (batch.commits, batch.commit_files)
        assert (replayed.items, replayed.pull_files) == (batch.items, batch.pull_files)
        assert (replayed.code_sizes, replayed.rejects) == (batch.code_sizes, batch.rejects)
        cursors.update({cursor.stream: cursor.cursor for cursor in batch.cursors})
        total.extend(batch)
    return total, cursors


def remove_blob(repository: Repository, name: str) -> None:
    sha = repository("rev-parse", f"HEAD:{name}")
    (repository.path / ".git/objects" / sha[:2] / sha[2:]).unlink()
