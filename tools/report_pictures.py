"""Take the pictures of the report in docs/pictures: `python tools/report_pictures.py SITE`.

SITE is what `embers report` wrote from the catalog, labelled by `embers classify`. Needs Chromium and Playwright.
Desktop pictures are light, phone pictures dark. Look at every picture before you commit it.
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
ITEM, LINKED = "items/pytorch--pytorch-84577.html", "items/pytorch--pytorch-172340.html"
DESKTOP = {
    "overview": ("index.html", ""),
    "items": ("items.html#class=memory_type%3Dnon_contiguous&sort=number", ""),
    "item": (ITEM, "#cases"),
    "links": (LINKED, "#links"),
    "release": ("releases.html", ""),
    "hunt": ("hunt_map.html", ""),
}
"""Page, and the part of it that is scrolled to."""
PHONE = DESKTOP | {"item": (ITEM, "")}
SIZES = {"desktop": (1280, 800, "light", DESKTOP), "phone": (360, 800, "dark", PHONE)}
COLOURS = 256
"""Of a picture: text stays sharp, and the file is smaller."""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def main() -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    site: Path = parser.parse_args().site
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        for size, (width, height, scheme, shown) in SIZES.items():
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
            )
            for name, (address, part) in shown.items():
                page = context.new_page()
                page.goto(f"{site.resolve().as_uri()}/{address}")
                if address.startswith("items.html"):
                    page.wait_for_selector("html[data-loaded=whole]")
                if part:
                    page.locator(part).evaluate("(place) => place.scrollIntoView()")
                page.evaluate(DRAWN)
                save(page.screenshot(), PICTURES / f"report-{name}-{size}.png")
                page.close()
        browser.close()


def save(taken: bytes, path: Path) -> None:
    """Write a picture with few colours."""
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main()
