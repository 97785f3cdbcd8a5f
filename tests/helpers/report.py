"""What the tests in test_report.py share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from report_data import Page, hostile
from support import run_embers

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def hostile_database(tmp_path_factory: pytest.TempPathFactory, catalog_template: Path) -> Path:
    """A small database with hostile texts."""
    return hostile(catalog_template, tmp_path_factory.mktemp("hostile") / "e.duckdb")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, hostile_database: Path) -> Path:
    """A report of it."""
    out = tmp_path_factory.mktemp("report") / "site"
    done = run_embers("report", "--database", hostile_database, "--out", out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    """All pages, parsed."""
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}
