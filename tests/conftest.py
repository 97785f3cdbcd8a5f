"""Fixtures: scratch databases, templates of filled ones, the shared data, and a GitHub of this process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from servers.dataset import generated_dataset
from servers.github import GitHub
from support import made_once, run_embers
from torch_embers.store import writer as writing

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
ITEMS = 120
"""Of the generated tracker: one page of each kind of list is not enough for them, nor 100 numbers."""

# who is started in the background of a script inherits an ignored SIGINT, and so would the programs under test
signal.signal(signal.SIGINT, signal.default_int_handler)
for name in list(os.environ):  # nor the user's tokens and settings, fixtures of a session included
    if (name.startswith("EMBERS_") and name != "EMBERS_REQUIRE_SANDBOX") or name in ("GITHUB_TOKEN", "GH_TOKEN"):
        del os.environ[name]
# A busy machine is no defect: time is limited per test by pytest-timeout, not per example.
settings.register_profile("quick", deadline=None, max_examples=20)
settings.register_profile("full", deadline=None, max_examples=100)
settings.load_profile("quick")
"""``pytest --hypothesis-profile=full`` tries all examples, as .ci/run does; see ``support.example_count``."""


def pytest_configure() -> None:
    """Refuse a checkout that has `.venv` committed: to merge it deletes the virtual environment of whoever pulls."""
    listed = subprocess.run(["git", "ls-files", ".venv"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.stdout:
        raise pytest.UsageError(".venv is committed: git rm --cached .venv, and commit again")


@pytest.fixture(scope="session")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as the first writer makes it: all tables, no row. Read it or copy it."""
    path = tmp_path_factory.mktemp("new") / "new.duckdb"
    writing.create(path)
    return path


@pytest.fixture(autouse=True, scope="session")
def _new_databases_are_copies(new_database: Path) -> Iterator[None]:
    """A new database of this process is a copy: to make the tables takes 0.2 s, and hundreds of tests make a database.

    Commands that run as a process of their own make the tables.
    """
    make = writing.create

    def copy(path: Path) -> None:
        unfinished = path.with_name(f"{path.name}.new")
        try:
            shutil.copyfile(new_database, unfinished)
            unfinished.replace(path)
        except OSError:  # what the database says of such a place is tested
            make(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "create", copy)
        yield


@pytest.fixture(autouse=True)
def _no_outside_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the user's database."""
    monkeypatch.setenv("EMBERS_DATABASE", str(tmp_path / "default.duckdb"))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Path of a database that does not exist yet."""
    return tmp_path / "e.duckdb"


@pytest.fixture(scope="session")
def catalog_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the embedded catalog alone; read it or copy it, never write to it."""

    def make(path: Path) -> None:
        done = run_embers("mine", "--source", "catalog", "--database", path)
        assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "catalog.duckdb", make)


@pytest.fixture(scope="session")
def classified_template(tmp_path_factory: pytest.TempPathFactory, catalog_template: Path) -> Path:
    """The same, classified with the shipped classifier."""

    def make(path: Path) -> None:
        shutil.copy(catalog_template, path)
        done = run_embers("classify", "--database", path, HF_HUB_OFFLINE="1")
        assert done.returncode == 0, done.stdout + done.stderr

    return made_once(tmp_path_factory, "classified.duckdb", make)


@pytest.fixture
def catalog_database(catalog_template: Path, database: Path) -> Path:
    """A database of the embedded catalog, to be changed at will."""
    return shutil.copy(catalog_template, database)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real data, where it lies beside the checkout."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the shared data is not beside this checkout")
    return folder


@pytest.fixture
def tracker() -> Iterator[GitHub]:
    """GitHub's REST API without a repository; no request of a test may break its description."""
    with GitHub() as started:
        yield started
        assert started.refused == []


@pytest.fixture
def server() -> Iterator[GitHub]:
    """GitHub's GraphQL API over a generated tracker that has long lists of everything."""
    with GitHub(generated_dataset(ITEMS)) as started:
        yield started
        assert started.refused == []
