"""Hostile text, and what must not be left of it on its way out."""

from __future__ import annotations

import csv
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


UNSEEN = "\u202e\u2066\u2069\u200b\u200d\u2060\ufeff\x1b[31m\x9b\x07\x00\u00ad\U000e0041"
EVIL = f"=cmd()|x {UNSEEN} [red]x[/red] [/] :bug: www.evil.org http://evil.org GH-7 gh-8 o/n#7 #9 @user <b> `x` $a$"
NOT_STORED = str.maketrans("", "", "\x00")
REPO, NUMBER = "a/b", 1


def unseen(text: str) -> set[str]:
    """Characters that a terminal obeys or nobody sees."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t\r"}


def cells(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as stream:
            yield from (cell for row in csv.reader(stream) for cell in row)


def outside_code(page: str) -> str:
    """The page without its blocks of code: in these, GitHub notifies nobody and links nothing."""
    kept, fence = [], ""
    for line in page.splitlines():
        ticks = re.match(r" *(`{3,})", line)
        if fence:
            fence = "" if ticks and line.strip() == fence else fence
        elif ticks:
            fence = ticks[1]
        else:
            kept.append(line)
    assert not fence, "a block of code is not closed"
    return "\n".join(kept)


def assert_harmless_markdown(page: str) -> None:
    assert unseen(page) == set()
    page = outside_code(page)
    page = re.sub(r"^(<details><summary>[\w ,]+</summary>|</details>)$", "", page, flags=re.MULTILINE)
    page = page.replace("&#8203;", "|")
    for form in (r"@\w", r"(?<![\w.])#\d", r"/\w+\\?#\d", r"(?i)\bgh-\d", r"www\.", r"(?<!\]\()https?://", r"(?<!\\)<"):
        assert not re.search(form, page), (form, page)
