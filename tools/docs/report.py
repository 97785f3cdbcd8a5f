"""docs/report.md: the columns of the report's data files."""

from __future__ import annotations

from torch_embers import resources

from .markdown import cell, code, table

KINDS = {
    "text": ("string", "TEXT"),
    "number": ("integer", "INTEGER"),
    "share": ("number", "REAL"),
    "yes": ("boolean", "INTEGER, 0 or 1"),
    "time": ("string, ISO 8601 in UTC", "TEXT, ISO 8601 in UTC"),
    "texts": ("list of strings", "TEXT, a JSON list"),
}
"""How each kind of column is written in JSON and in SQLite."""


def tables() -> str:
    """The tables of data/report_tables.toml with their columns."""
    parts = []
    for one in resources.load_toml("report_tables.toml")["table"]:
        rows = [(code(c["name"]), c["kind"], cell(c["meaning"])) for c in one["column"]]
        parts += [f"### {one['name']}\n\n{one['description']}\n\n{table(('column', 'kind', 'meaning'), rows)}"]
    return "\n\n".join(parts)


def kinds() -> str:
    """How each kind of column is written."""
    return table(("kind", "JSON", "SQLite"), [(name, *forms) for name, forms in KINDS.items()])
