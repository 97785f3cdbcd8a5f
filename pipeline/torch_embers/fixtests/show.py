"""What `embers mine --fix-tests` and `embers research fix-tests` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, stdout, table

if TYPE_CHECKING:
    from torch_embers.fixtests.link import LinkedTests
    from torch_embers.fixtests.report import Yield

MERGED = ("commits", "all", "1 issue", "newest", "hold", "released", "days", "from", "to")
MERGED_KEY = (
    "newest: with a test that says something on the newest release;\n"
    "hold: no test fails there; days: median from merge to the first release"
)


def print_linked(done: LinkedTests) -> None:
    """Print what became of the commits of a clone."""
    out = stdout()
    scripts = done.tests.get("script", 0)
    out.print(f"{done.commits:,} commits fix issues; {done.read:,} read now; {scripts:,} tests make a script")
    if done.reasons:
        out.print(table("", [("no script because", False), ("rows", True)], done.reasons.items()))


def print_yield(found: Yield) -> None:
    """Print the yield by class, year and folder, the tests that fail after their fix, and the share alive."""
    out = stdout()
    for columns in (("class", "reason"), ("year", "class"), ("folder", "class")):
        rows = [(*("" if cell is None else str(cell) for cell in row[:-1]), row[-1]) for row in found.counted(*columns)]
        out.print(table("", [*((name, False) for name in columns), ("tests", True)], rows))
        out.print()
    merged = [
        tuple("" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row.values())
        for row in found.merged
    ]
    out.print(table("", [(name, place > 0) for place, name in enumerate(MERGED)], merged))
    out.print(MERGED_KEY)
    out.print()
    if found.failing:
        out.print("Fail after their fix:")
        for row in found.failing:
            issues = " ".join(f"#{number}" for number in row["issues"])
            out.print(plain(f"  {issues} {row['test']}"))
            out.print(plain(f"    passes on {', '.join(row['passed'])}; fails on {', '.join(row['failed'])}"))
        out.print()
    out.print(plain(found.decided()))
    out.print(plain(found.sentence()))
