"""The report in a real browser: filter, sort, addresses, keys, hostile titles, accessibility. Skipped where Chromium is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from helpers.browser import browser, missing  # noqa: F401 - a fixture
from report_data import CLASSIFIED, HOSTILE, NUMBER, WORKED, filled, hostile_database  # noqa: F401 - a fixture
from support import run_embers
from torch_embers.report import report_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.filterwarnings("ignore::ResourceWarning")]
AXE = "axe-core@4.14.1"
MAIN = ("index.html", "items.html", f"items/pytorch--pytorch-{NUMBER}.html", "releases.html", "releases/2.15.0.html")
GROUPS = ("classes/*.html", "operators/*.html", "components/*.html")
"""One page of each: the first by name."""
NAMES = ("classes", "operators", "components", "provenance", "hunt", "hunt_map", "study")
LISTS = tuple(f"{name}.html" for name in NAMES)
PAGES = (*MAIN, *LISTS, *GROUPS)
SIZES = {"desktop": (1280, 900), "phone": (390, 844), "narrow phone": (360, 780)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, hostile_database: Path) -> Path:
    """A report of a small database with hostile texts, that was classified, and whose cases were run and bisected."""
    folder = tmp_path_factory.mktemp("browser")
    database = filled(shutil.copy(hostile_database, folder / "e.duckdb"), f"{WORKED};{CLASSIFIED}")
    return reported(database, folder / "site")


def reported(database: Path, out: Path) -> Path:
    """A report of a database."""
    done = run_embers("report", "--database", database, "--out", out)
    assert done.returncode == 0, done.stderr
    return out


class Watched:
    """A page of the report, with what it asked for and what went wrong."""

    def __init__(self, context: Any, site: Path) -> None:
        self.page = context.new_page()
        self.site = site
        self.wrong: list[str] = []
        self.page.on("console", lambda m: self.wrong.append(f"console {m.type}: {m.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(self.site.as_uri()):
            self.wrong.append(f"request: {request.url}")

    def open(self, name: str) -> Any:
        """Go to a page of the site, or the first of a pattern, and wait for the table where there is one."""
        if "*" in name:
            name = min(path.relative_to(self.site).as_posix() for path in self.site.glob(name))
        self.page.goto(f"{self.site.as_uri()}/{name}")
        if name.startswith("items.html"):
            self.page.wait_for_selector("html[data-loaded=whole]")
        return self.page


@contextmanager
def watching(browser: Any, site: Path, **options: Any) -> Iterator[Watched]:
    """A page in a context of its own: no error, no request for anything outside the site, nothing of an issue run."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
    try:
        made = Watched(context, site)
        yield made
        assert made.wrong == []
        assert made.page.evaluate("globalThis.hit") is None
    finally:
        context.close()


@pytest.fixture
def watched(browser: Any, site: Path) -> Iterator[Watched]:
    """A page of the site in a window of a desktop."""
    with watching(browser, site) as made:
        yield made


def numbers(page: Any) -> list[int]:
    """Numbers of the rows in the document."""
    return [int(text.removeprefix("#")) for text in page.locator("#rows a").all_inner_texts()]


def settled(page: Any) -> None:
    """Wait for the next drawing."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_search_narrows_the_rows_at_once_and_keeps_the_address(watched: Watched) -> None:
    page = watched.open("items.html")
    before = page.locator("#summary").inner_text()
    page.fill("#q", "avg_pool3d")
    settled(page)
    assert numbers(page) == [NUMBER]
    assert page.locator("#summary").inner_text() != before
    assert page.url.endswith("#q=avg_pool3d")


def test_an_address_with_filters_shows_the_same_rows(watched: Watched) -> None:
    page = watched.open("items.html#verdict=occurs&sort=number&dir=asc")
    shown = numbers(page)
    assert shown == sorted(shown)
    assert shown
    assert page.locator("select[name=verdict]").input_value() == "occurs"
    assert set(page.locator("#rows .verdict").all_inner_texts()) == {"occurs"}


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_the_order(watched: Watched) -> None:
    page = watched.open("items.html")
    heading = page.locator("th[data-sort=number]")
    for order, reverse in (("descending", True), ("ascending", False)):
        heading.locator("button").click()
        settled(page)
        assert heading.get_attribute("aria-sort") == order
        assert numbers(page) == sorted(numbers(page), reverse=reverse)


@pytest.mark.parametrize("down", [False, True])
def test_titles_sort_without_regard_to_case_and_classes_with_the_empty_ones_last(watched: Watched, down: bool) -> None:
    page = watched.open(f"items.html#sort=title{'' if down else '&dir=asc'}")
    titles = [text.lower() for text in page.locator("#rows bdi").all_text_contents()]
    assert len(titles) > 20
    assert titles == sorted(titles, reverse=down)
    page = watched.open(f"items.html#sort=class{'' if down else '&dir=asc'}")
    empty = [not text for text in page.locator("#rows td:nth-child(6)").all_text_contents()]
    assert empty == sorted(empty)


def test_clear_takes_all_filters_away(watched: Watched) -> None:
    page = watched.open("items.html#q=nothing-has-this&verdict=occurs")
    assert numbers(page) == []
    page.click("button[type=reset]")
    page.locator("#rows a").first.wait_for()
    assert "#" not in page.url.removesuffix("#")


def test_the_table_can_be_used_by_keys_alone(watched: Watched) -> None:
    page = watched.open("items.html#sort=number")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.place") == "1"
    page.keyboard.press("Enter")
    page.wait_for_url("**/items/*.html")


def test_labels_runs_and_bisections_are_there_to_be_looked_at(watched: Watched) -> None:
    page = watched.open(f"items/pytorch--pytorch-{NUMBER}.html")
    for heading in ("Labels of the classifier", "Output on", "answer 2", "cosine"):
        assert page.get_by_text(heading).count() > 0, heading


def test_hostile_titles_are_text(watched: Watched) -> None:
    page = watched.open("items.html")
    for text in HOSTILE[:3]:
        page.fill("#q", text)
        settled(page)
        titles = page.locator("#rows bdi").all_inner_texts()
        assert any(text in title for title in titles), text
    for name in MAIN:
        watched.open(name)
    assert page.locator("#rows script, #rows img, main script, main style").count() == 0


@pytest.mark.parametrize("size", SIZES)
def test_every_kind_of_page_has_its_style_and_fits_the_window(browser: Any, site: Path, size: str) -> None:
    width, height = SIZES[size]
    with watching(browser, site, viewport={"width": width, "height": height}, has_touch=size != "desktop") as watched:
        for name in PAGES:
            page = watched.open(name)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            brand = page.evaluate("getComputedStyle(document.querySelector('.brand')).textDecorationLine")
            assert brand == "none", f"{name}: the style sheet was not allowed"


HEIGHTS = """[...document.querySelectorAll('#rows tr:not(.spacer)')].map((row) => ({
    computed: parseFloat(row.style.height), real: row.getBoundingClientRect().height,
    cut: [...row.children].filter((cell) => cell.offsetWidth && cell.scrollWidth > cell.clientWidth + 1).length }))"""
"""Of each row in the document its height and how many of its cells are cut."""


@pytest.mark.parametrize("width", [360, 768, 1100, 1440])
def test_titles_wrap_whole_in_rows_as_high_as_was_computed(browser: Any, site: Path, width: int) -> None:
    with watching(browser, site, viewport={"width": width, "height": 800}) as watched:
        page = watched.open("items.html")
        for part in (0, 0.5, 1):
            page.evaluate(f"viewport.scrollTop = {part} * viewport.scrollHeight")
            settled(page)
            rows = page.evaluate(HEIGHTS)
            assert len(rows) > 5
            assert [row for row in rows if row["cut"]] == []
            # A row of an unusual script may take a line more; the others must not, or scrolling jumps.
            assert sum(row["real"] > row["computed"] + 1 for row in rows) <= len(rows) // 10
        assert len({row["computed"] for row in rows}) > 1


@pytest.fixture(scope="module")
def odd_site(tmp_path_factory: pytest.TempPathFactory, hostile_database: Path) -> Path:
    """A report with a title that no tracker takes, and an item of another repository with the same number."""
    folder = tmp_path_factory.mktemp("odd")
    database = shutil.copy(hostile_database, folder / "e.duckdb")
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE items SET title = repeat('A', 60000) WHERE number = ?", [NUMBER])
        connection.execute(
            "INSERT INTO items BY NAME SELECT * REPLACE ('other/a-repository-of-this-length' AS repo, 'elsewhere' AS title) "
            "FROM items WHERE number = ?",
            [NUMBER],
        )
    return reported(database, folder / "site")


@pytest.mark.parametrize("width", [360, 1280])
def test_a_title_of_60_kilobytes_and_a_second_repository_are_shown(browser: Any, odd_site: Path, width: int) -> None:
    with watching(browser, odd_site, viewport={"width": width, "height": 800}) as watched:
        page = watched.open(f"items.html#q={NUMBER}")
        named = page.locator("#rows a")
        assert sorted(named.all_inner_texts()) == [f"#{NUMBER}", f"other/a-repository-of-this-length#{NUMBER}"]
        assert [row for row in page.evaluate(HEIGHTS) if row["cut"]] == []
        assert (
            max(len(text) for text in page.locator("#rows bdi").all_inner_texts()) == report_rules.load().limits.title
        )
        assert watched.open("pages.html").evaluate("document.documentElement.scrollWidth") <= width


def test_a_resized_window_keeps_the_first_row_and_the_focus(browser: Any, site: Path) -> None:
    with watching(browser, site, viewport={"width": 1280, "height": 500}) as watched:
        page = watched.open("items.html#sort=number")
        page.evaluate("viewport.scrollTop = viewport.scrollHeight / 2")
        settled(page)
        place = page.evaluate("placeAt(viewport.scrollTop)")
        page.evaluate(f"linkAt({place}).focus({{ preventScroll: true }})")
        page.set_viewport_size({"width": 400, "height": 700})
        page.locator("th[data-sort=state]").wait_for(state="hidden")
        settled(page)  # the page hears of its new width before it draws again
        assert page.evaluate("placeAt(viewport.scrollTop)") == place
        assert page.evaluate("document.activeElement.dataset.place") == str(place)


def test_without_javascript_everything_but_the_table_can_be_read(browser: Any, site: Path) -> None:
    with watching(browser, site, java_script_enabled=False) as watched:
        page = watched.page
        page.goto(f"{site.as_uri()}/items.html")
        assert "needs JavaScript" in page.locator("noscript").inner_text()
        watched.open(f"items/pytorch--pytorch-{NUMBER}.html")
        assert "avg_pool3d" in page.locator("main").inner_text()


def test_the_copy_button_copies_the_command(browser: Any, site: Path) -> None:
    with watching(browser, site, permissions=["clipboard-read", "clipboard-write"]) as watched:
        page = watched.open(f"items/pytorch--pytorch-{NUMBER}.html")
        page.locator("button.copy").first.click()
        page.locator("button.copy", has_text="Copied").first.wait_for()


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("avg_pool3d out", "q=avg_pool3d+out"),
        (f"https://github.com/pytorch/pytorch/issues/{NUMBER}#issue-1", f"q=%23{NUMBER}"),
        (f"{NUMBER}", f"q=%23{NUMBER}"),
    ],
)
def test_the_search_of_the_start_page_leads_to_the_table(watched: Watched, typed: str, kept: str) -> None:
    page = watched.open("index.html")
    page.fill("#q", typed)
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-loaded=whole]")
    assert page.url.endswith(f"items.html#{kept}")
    assert numbers(page) == [NUMBER]


def test_every_page_is_reached_without_javascript(browser: Any, site: Path) -> None:
    with watching(browser, site, java_script_enabled=False) as watched:
        page = watched.open("index.html")
        assert not page.locator("nav a", has_text="Hunt map").is_visible()
        page.locator("nav summary").click()
        page.locator("nav a", has_text="Hunt map").click()
        assert page.url.endswith("hunt_map.html")


def test_the_text_to_paste_is_copied_whole(browser: Any, site: Path) -> None:
    with watching(browser, site, permissions=["clipboard-read", "clipboard-write"]) as watched:
        page = watched.open(f"items/pytorch--pytorch-{NUMBER}.html")
        page.locator("button", has_text="Copy the text to paste").click()
        page.locator("button", has_text="Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == page.locator("pre[data-copy]").first.text_content()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, from the npm registry."""
    folder = Path(os.environ.get("EMBERS_AXE") or tmp_path_factory.mktemp("axe"))
    path = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not path.is_file():
        if not shutil.which("npm"):
            missing("no npm to install axe-core with")
        command = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", folder, AXE]
        if subprocess.run(command, check=False, capture_output=True, timeout=240).returncode:
            missing("npm cannot install axe-core")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("scheme", "size", "names", "rules"),
    [
        ("light", "desktop", PAGES, {}),
        ("dark", "desktop", PAGES, {"runOnly": ["color-contrast"]}),  # the scheme changes colours alone
        ("light", "phone", (*MAIN, *GROUPS), {}),
    ],
)
def test_axe_finds_nothing(
    browser: Any, site: Path, axe: str, scheme: str, size: str, names: tuple[str, ...], rules: dict[str, Any]
) -> None:
    width, height = SIZES[size]
    found = {}
    with watching(browser, site, color_scheme=scheme, viewport={"width": width, "height": height}) as watched:
        for name in names:
            page = watched.open(name)
            page.evaluate("document.querySelectorAll('details').forEach((place) => { place.open = true; })")
            page.evaluate(axe)
            # preloading would ask for the style sheets once more, which the page's policy forbids to scripts
            result = page.evaluate("(rules) => axe.run(document, {preload: false, ...rules})", rules)
            found[name] = [
                (rule["id"], [node["html"][:120] for node in rule["nodes"][:2]]) for rule in result["violations"]
            ]
    assert {name: broken for name, broken in found.items() if broken} == {}
