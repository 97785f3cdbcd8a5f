"""Chromium of the system, driven by Playwright; where one of them is missing a test is skipped, in CI it fails."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync")


def missing(what: str) -> None:
    """Skip, or fail in CI."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    if not CHROMIUM:
        missing("no Chromium: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("no Playwright: pip install playwright")
    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", *QUIET])
        yield running
        running.close()
