"""A small database of the catalog whose texts want to be more than text."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE = (
    "<script>globalThis.hit = 1</script>",
    '"><img src=x onerror="globalThis.hit = 1">',
    "</style><style>* { display: none }</style>",
    "\u202egnp.exe\u202c javascript:alert(1) {{ 7 * 7 }} '); alert(1); ('",
)
NUMBER = 84577
FEW = """CREATE TABLE few AS
SELECT ? AS number UNION SELECT number FROM (
    SELECT DISTINCT number FROM items SEMI JOIN case_items USING (repo, number) ORDER BY number DESC LIMIT 25)"""
"""Items of the small database: a report of the whole catalog takes seconds."""
NTH = "(SELECT DISTINCT number FROM items SEMI JOIN case_items USING (repo, number) ORDER BY number DESC LIMIT 1 OFFSET $n)"


def hostile(template: Path, path: Path) -> Path:
    """Copy some items of a database to ``path``, with hostile texts in every column that a tracker fills."""
    shutil.copy(template, path)
    with duckdb.connect(path) as connection:
        connection.execute(FEW, [NUMBER])
        for table in ("items", "links", "gold_labels", "components", "predictions"):
            connection.execute(f"DELETE FROM {table} WHERE number NOT IN (SELECT number FROM few)")
        connection.execute(
            "DELETE FROM cases WHERE case_hash NOT IN (SELECT case_hash FROM case_items SEMI JOIN few USING (number))"
        )
        connection.execute("DROP TABLE few")
        for place, text in enumerate(HOSTILE):
            values = {"t": text, "n": place}
            for change in (
                f"UPDATE items SET title = $t, body = $t, author = $t, labels = [$t], state_reason = $t WHERE number = {NTH}",
                f"UPDATE gold_labels SET evidence = $t, annotator = $t || annotator WHERE number = {NTH}",
                f"UPDATE dispositions SET evidence = $t, evidence_ref = $t WHERE number = {NTH}",
                "UPDATE verdicts SET detail = $t WHERE k > 0 AND hash(case_hash) % 4 = $n",
            ):
                connection.execute(change, values)
    return path


class Page(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def inline(pages: dict[Path, Page]) -> Iterator[str]:
    """What could run or style something although it stands in a page."""
    for path, page in pages.items():
        for tag, attributes in page.elements:
            if tag == "style" or (tag == "script" and "src" not in attributes):
                yield f"{path.name}: <{tag}>"
            yield from (f"{path.name}: {name}" for name in attributes if name.startswith("on") or name == "style")
            for name in ("href", "src", "action"):
                value = (attributes.get(name) or "").strip().lower()
                if re.match(r"[a-z]+:", value) and not value.startswith("https://github.com/"):
                    yield f"{path.name}: {name}={value}"
