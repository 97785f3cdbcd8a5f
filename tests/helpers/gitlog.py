"""Clones made by git itself, and what a mine of a clone or of a file of records gives."""

from __future__ import annotations

import os
import subprocess
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers.mine import files
from torch_embers.mine.git import gitlog, gitsizes
from torch_embers.store.store import Store

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


class Mined:
    """What a clone gave: rows of each table in their order, as objects."""

    def __init__(self, path: Path, read: Any) -> None:
        self.path, self.read = path, read

    def __getattr__(self, table: str) -> list[SimpleNamespace]:
        with Store(self.path).read() as connection:
            found = connection.execute(f"FROM {table} ORDER BY rowid").to_arrow_table()
        return [SimpleNamespace(**row) for row in found.to_pylist()]


def mine(path: Path, database: Path | None = None, repo: str = REPO) -> Mined:
    """Mine a clone, into a database beside it where none is named."""
    database = database or path.parent / "of_clone.duckdb"
    with Store(database).writer("test", create=True) as writer:
        return Mined(database, gitlog.read(writer, repo, path))


def mine_lines(folder: Path, *lines: bytes) -> Mined:
    """Mine a file of these records, into a database in its folder."""
    file, database = folder / "records.jsonl", folder / "e.duckdb"
    file.write_bytes(b"".join(lines))
    with (
        Store(database).writer("test", create=True) as writer,
        files.records(REPO, file) as reading,
        writer.transaction() as connection,
    ):
        return Mined(database, reading.store(connection))


def remove_blob(repository: Repository, name: str) -> None:
    sha = repository("rev-parse", f"HEAD:{name}")
    (repository.path / ".git/objects" / sha[:2] / sha[2:]).unlink()
