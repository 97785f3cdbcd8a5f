"""A small database of the catalog whose texts want to be more than text."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import duckdb
import pytest

from helpers.timeline_rows import CRASH, GAP, SCRIPT, add_script, add_timeline
from torch_embers.extract.script import Script, ScriptChange

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
            [(number,)] = connection.execute(f"SELECT {NTH}", {"n": place}).fetchall()
            script = Script(text, (ScriptChange(1, text, text, text),), {"A": text}, text, text)
            add_script(connection, "pytorch/pytorch", number, script)
            loud = [replace(segment, what=text, shown=text, evidence=text) for segment in CRASH]
            add_timeline(connection, "pytorch/pytorch", number, loud)
        add_script(connection, "pytorch/pytorch", NUMBER, SCRIPT)
        add_timeline(connection, "pytorch/pytorch", NUMBER, [*CRASH, GAP])
    return path


@pytest.fixture(scope="module")
def hostile_database(tmp_path_factory: pytest.TempPathFactory, catalog_template: Path) -> Path:
    """A small database with hostile texts; read it or copy it."""
    return hostile(catalog_template, tmp_path_factory.mktemp("hostile") / "e.duckdb")


WORKED = """
INSERT INTO announcements SELECT 'pytorch/pytorch', $number, 'cpu', '2.15.0@x', 'open_but_absent', 'gone',
    TIMESTAMP '2026-11-20 10:00', 1, true;
INSERT INTO runs (case_hash, build, environment, injected, outcome, detail, ended, stdout, stderr, duration, ran_at, batch,
    attempt, profile, cpu, peak_memory, zygote, seed, guarantees)
    SELECT case_hash, build, environment, false, 'reproduced', 'seen', 'exit 1', E'one\ntwo <b>', '', 0.1,
        TIMESTAMP '2026-11-20 10:00', 0, 0, 'reviewed', 0, 0, '', 0, []
    FROM verdicts SEMI JOIN (SELECT case_hash FROM cases WHERE name = $case) USING (case_hash);
INSERT INTO bisections SELECT 's', n, $case, 0, TIMESTAMP '2026-11-19 10:00', TIMESTAMP '2026-11-19 11:00', 'always', 0.99,
    'answer ' || n || ' <b>', '2.0.1', '2.1.2', 'by tags', 7 FROM range(1, 3) AS r(n);
INSERT INTO bisection_commits VALUES ('s', 2, 0, 'abc', '', 'Mend <i>', 9, [], ['pool'], ['a.cpp'], false);
INSERT INTO bisection_steps VALUES ('s', 2, '2.0.1', 0, 'yes', 3, 3, 1, 'off <i>', TIMESTAMP '2026-11-19 10:30')
"""
"""What a re-check, runs and a bisection leave."""
CLASSIFIED = """
INSERT INTO predictions (repo, number, scheme, value, probability, confidence, provenance, model, text_hash, votes_hash, explanation, predicted_at)
    SELECT repo, number, scheme, value, 0.5 + number % 50 / 100, ['low', 'medium', 'high'][1 + number % 3],
        'out_of_fold', 'm', repo || number, '', '{"words": ["stride <b>"]}', TIMESTAMP '2026-11-20 10:00'
    FROM (SELECT DISTINCT repo, number, scheme, value FROM gold_labels);
INSERT INTO model_texts SELECT repo, number, 'title', '', '', repo || number FROM items;
INSERT INTO embeddings (text_hash, model, vector, wide)
    SELECT repo || number, 'm', [1 / sqrt(384) FOR i IN range(384)]::FLOAT[384], NULL FROM items
"""
"""What a classification leaves: labels of items that the model did not see, and vectors."""
CASE = "pt84577_avg_pool3d_strided_out"
"""The case of the item with the number ``NUMBER``."""


def filled(path: Path, statements: str) -> Path:
    """Put rows into a database: ``WORKED``, ``CLASSIFIED`` or both."""
    values = {"number": NUMBER, "case": CASE}
    with duckdb.connect(path) as connection:
        for statement in statements.split(";"):
            connection.execute(statement, {name: value for name, value in values.items() if f"${name}" in statement})
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
