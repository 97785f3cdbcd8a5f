"""The documentation opened from a disk: its search finds pages, and nothing is asked of the network. Needs Chromium."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.browser import browser  # noqa: F401 - a fixture

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make site` makes it."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    return folder


@pytest.mark.parametrize(("start", "width", "height"), [("index.html", 1280, 900), ("commands/study.html", 390, 844)])
def test_a_search_from_a_disk_finds_a_page(browser: Any, site: Path, start: str, width: int, height: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(site.as_uri()) else None)
    page.goto(f"{site.as_uri()}/{start}")
    if width < 1000:
        page.click("label.md-header__button[for=__search]")
    page.locator(".md-search__input").press_sequentially("sandbox", delay=20)
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    assert "sandbox" in page.locator(".md-search-result__list").inner_text().lower()
    first.click()
    page.wait_for_url(lambda url: not url.split("?")[0].split("#")[0].endswith(f"/{start}"))
    assert "sandbox" in page.locator("article").inner_text().lower()
    assert wrong == []
    context.close()
