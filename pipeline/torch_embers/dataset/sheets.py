"""README.md and DATASHEET.md: templates whose queries count in the published tables.

A place in a template is ``{{kind SELECT ...}}``. A ``table`` becomes one of Markdown that shows texts as they are,
``ours`` one of texts that are Markdown; a ``list`` has an entry for each row, a ``text`` is a single value. Headings
stand as the query names them. What comes from outside goes through ``plain`` in the query, in all but a ``table``.
"""

from __future__ import annotations

import re
import tomllib
from string import Template
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling

from torch_embers.dataset import table_definitions
from torch_embers.statistics import agreement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from torch_embers.dataset.collect import Content

NOTHING = "None in this dataset."
PLACE = re.compile(r"\{\{(table|ours|list|text) (.*?)\}\}", re.DOTALL)
IDENTIFIER = re.compile(r"[\w.:+/-]{1,100}", re.ASCII)


def rendered(content: Content, words: Mapping[str, str]) -> dict[str, str]:
    """Both files by name.

    Args:
        content: what is published.
        words: what stands for ``$name`` in the templates.
    """
    with duckdb.connect() as connection:
        _register(connection, content)
        return {name: _filled(connection, name, words) for name in ("README.md", "DATASHEET.md")}


def plain(value: object) -> str:
    """Text from outside that stays within its cell and is shown as it is."""
    text = " ".join(str("unknown" if value is None else value).split())
    if IDENTIFIER.fullmatch(text):
        return f"`{text}`" if "_" in text else text
    return "".join(f"&#{ord(c)};" if c in "<>&|*_`[]\\" else c for c in text)


def _register(connection: duckdb.DuckDBPyConnection, content: Content) -> None:
    """Give the templates the published tables, what is said of them, and the functions that they call."""
    for name, rows in content.rows.items():
        types = [pa.timestamp("ms") if pa.types.is_timestamp(field.type) else field.type for field in rows.schema]
        connection.register(name, rows.cast(pa.schema(list(zip(rows.column_names, types, strict=True)))))
    words = tomllib.loads(table_definitions.read("words.toml"))
    said = {
        "published": [(t.name, content.rows[t.name].num_rows, t.description) for t in content.tables],
        "withheld": [(t.source, name, why) for t in content.tables for name, why in t.withheld.items()],
        "left_out": content.left_out,
        "annotators": list(words["annotators"].items()),
        "sources": list(words["sources"].items()),
        "agreements": [(a.scheme, a.one, a.other, a.items, str(a.kappa)) for a in _agreements(content.rows["labels"])],
    }
    connection.execute(table_definitions.read("sql", "sheets.sql"))
    for name, lines in said.items():
        for place, line in enumerate(lines):
            marks = ", ".join("?" * (len(line) + 1))
            connection.execute(f"INSERT INTO {name} VALUES ({marks})", [place, *line])
    connection.create_function("plain", plain, ["VARCHAR"], "VARCHAR", null_handling=FunctionNullHandling.SPECIAL)


def _agreements(labels: pa.Table) -> list[agreement.Agreement]:
    rows = labels.select(["scheme", "annotator_kind", "annotator", "repo", "number", "value"]).to_pylist()
    return agreement.between(
        (row["scheme"], f"{row['annotator_kind']}:{row['annotator']}", (row["repo"], row["number"]), row["value"])
        for row in rows
    )


def _filled(connection: duckdb.DuckDBPyConnection, name: str, words: Mapping[str, str]) -> str:
    def made(place: re.Match[str]) -> str:
        kind, query = place.groups()
        found = connection.sql(query).to_arrow_table()
        lines = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
        if kind == "text" or (kind == "ours" and not lines):
            return "".join(str(value or "") for line in lines for value in line)
        if not lines:
            return NOTHING
        if kind == "list":
            return "\n".join(f"- {line}" for (line,) in lines)
        return _markdown(found.schema, lines, plain if kind == "table" else str)

    text = Template(table_definitions.read("templates", name)).substitute(words, least_shared=agreement.LEAST_SHARED)
    # a place that stays empty leaves no blanks at the end of its line, and no second empty line
    filled = re.sub(r" +$", "", PLACE.sub(made, text), flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", filled)


def _markdown(schema: pa.Schema, lines: Iterable[tuple[object, ...]], show: Callable[[object], str]) -> str:
    """A table; numbers are aligned to the right."""
    marks = ["---:" if pa.types.is_integer(kind) else "---" for kind in schema.types]
    cells = [[f"{value:,}" if isinstance(value, int) else show(value) for value in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in [schema.names, marks, *cells])
