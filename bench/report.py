"""Measure the report of a tracker of 100,000 items: build time, size, and how soon the table can be used in a browser.

    python bench/report.py --scratch FOLDER [--items 100000] [--repeats 3]

The database is the embedded catalog and made-up items: titles are halves of two titles of the catalog, classes and links are drawn with a
seed. Needs Chromium and Playwright. Written to bench/report.json and into bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from playwright.sync_api import sync_playwright

from run import rewrite_parts

RESULTS = Path(__file__).parent / "report.json"
SEED = 0.18
FIRST = 1_000_000
"""Number of the first made-up item: above those of the catalog."""
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
FILTER = """async () => {
  const field = document.getElementById("q");
  const before = performance.now();
  field.value = "conv2d wrong";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - before;
}"""
SORT = """async () => {
  const before = performance.now();
  document.querySelector("th[data-sort=title] button").click();
  const done = performance.now() - before;
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  return [done, performance.now() - before];
}"""
MARKS = """() => ["embers-ready", "embers-whole"].map((name) => performance.getEntriesByName(name)[0].startTime)"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    database, site = asked.scratch / "report.duckdb", asked.scratch / "site"
    fill(database, asked.items)
    built = [build(database, site) for _ in range(asked.repeats)]
    found = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": [round(one, 1) for one in os.getloadavg()],
        "cores": os.cpu_count(),
        "items": asked.items,
        "repeats": asked.repeats,
        "build_seconds": built,
        "build_cpu_seconds": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime / asked.repeats, 1),
        "build_peak_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000),
        **sizes(site),
        **opened(site, asked.repeats),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    rewrite_parts()
    shutil.rmtree(site)


def fill(database: Path, items: int) -> None:
    """Make the database."""
    database.unlink(missing_ok=True)
    command = [sys.executable, "-m", "torch_embers", "mine", "--source", "catalog", "--database", str(database)]
    subprocess.run(command, check=True, capture_output=True)
    with duckdb.connect(database) as connection:
        connection.execute(f"SELECT setseed({SEED})")
        held = connection.execute("SELECT count(*) FROM items").fetchall()[0][0]
        connection.execute(
            f"""CREATE TEMP TABLE drawn AS
            SELECT {FIRST} + n AS number, (random() * 549)::INTEGER AS one, (random() * 549)::INTEGER AS other
            FROM range({items - held}) AS r(n)"""
        )
        connection.execute(
            "CREATE TEMP TABLE known AS SELECT row_number() OVER (ORDER BY number) - 1 AS place, * FROM items"
        )
        connection.execute(
            """INSERT INTO items BY NAME
            SELECT a.* EXCLUDE (place) REPLACE (d.number AS number,
                a.title[1:len(a.title) // 2] || ' ' || b.title[len(b.title) // 2:] AS title)
            FROM drawn d JOIN known a ON a.place = d.one JOIN known b ON b.place = d.other"""
        )
        connection.execute(
            """INSERT INTO predictions BY NAME
            SELECT 'pytorch/pytorch' AS repo, d.number, g.scheme, g.value, g.value AS likeliest, 0.9 AS probability,
                false AS abstained, 'model' AS provenance, 'made-up' AS model, 'title' AS variant,
                '' AS text_hash, '' AS votes_hash, TIMESTAMP '2026-11-01' AS predicted_at
            FROM drawn d JOIN known a ON a.place = d.one JOIN gold_labels g ON g.repo = a.repo AND g.number = a.number
            GROUP BY ALL"""
        )
        connection.execute(
            """INSERT INTO links BY NAME
            SELECT 'pytorch/pytorch' AS repo, number, 'fixes' AS relation, 'pytorch/pytorch' AS target_repo,
                number - 1 AS target_number, 'text' AS evidence, 'body' AS found_in FROM drawn WHERE number % 3 = 0"""
        )


def build(database: Path, site: Path) -> float:
    """Seconds of a build."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "torch_embers", "report", "--database", str(database), "--out", str(site)]
    subprocess.run(command, check=True, capture_output=True)
    return round(time.perf_counter() - start, 1)


def sizes(site: Path) -> dict[str, Any]:
    """Bytes and files of the site by folder, and of what the table loads."""
    size: Counter[str] = Counter()
    files = 0
    for path in site.rglob("*"):
        if path.is_file():
            files += 1
            size[path.relative_to(site).parts[0]] += path.stat().st_size
    table = [path.stat().st_size for path in sorted((site / "data").glob("table-*.js"))]
    return {
        "files": files,
        "size_mb": round(sum(size.values()) / 1e6, 1),
        "largest_mb": {name: round(count / 1e6, 1) for name, count in size.most_common(5)},
        "table_first_mb": round(table[0] / 1e6, 2),
        "table_mb": round(sum(table) / 1e6, 2),
    }


def opened(site: Path, repeats: int) -> dict[str, Any]:
    """Medians in milliseconds, each in a fresh browser.

    Until the first rows can be used, until all are there, of a search, and of a first click on the heading of the titles until drawn.
    """
    ready, whole, searched, by_title = [], [], [], []
    for _ in range(repeats):
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(f"{site.resolve().as_uri()}/items.html")
            page.wait_for_selector("html[data-loaded=whole]", timeout=120_000)
            times = page.evaluate(MARKS)
            page.wait_for_timeout(1000)  # a reader looks before clicking
            ready.append(times[0])
            whole.append(times[1])
            by_title.append(page.evaluate(SORT)[1])
            page.evaluate(FILTER)  # the first one makes the texts
            searched.append(page.evaluate(FILTER))
            browser.close()
    medians = {"ready_ms": ready, "whole_ms": whole, "search_ms": searched, "sort_title_ms": by_title}
    return {name: round(statistics.median(values)) for name, values in medians.items()}


if __name__ == "__main__":
    main()
