"""What the report shows and leaves out: data/report.toml."""

from __future__ import annotations

from functools import cache
from typing import Literal

from torch_embers import toml_models

DEFINITIONS = "report.toml"


class ReportLimits(toml_models.Explained):
    """How much of each thing is shown."""

    item_pages: int
    excerpt: int
    excerpt_with_bodies: int
    title: int
    group_rows: int
    groups: int
    links: int
    similar: int
    similar_from: float
    log_lines: int
    log_characters: int
    log_runs: int
    feed_entries: int
    inbox: int
    news: int
    chunk: int


class Operators(toml_models.Explained):
    """Which names of torch count as operators."""

    leave_out: frozenset[str]
    modules: frozenset[str]


class ReportRules(toml_models.Entry):
    """The whole file."""

    limits: ReportLimits
    operators: Operators


@cache
def load() -> ReportRules:
    """The rules.

    Raises:
        InputError: the file is malformed.
    """
    return toml_models.load(ReportRules, DEFINITIONS)


# ---- tables --------------------------------------------------------------------------------------------------------


class Column(toml_models.Entry):
    """A column of a data file."""

    name: str
    kind: Literal["text", "number", "share", "yes", "time", "texts"]
    meaning: str


class Table(toml_models.Entry):
    """A data file of the report."""

    name: str
    description: str
    column: tuple[Column, ...]


class Tables(toml_models.Entry):
    """The whole file of tables."""

    table: tuple[Table, ...]


@cache
def columns() -> Tables:
    """The columns of the data files.

    Raises:
        InputError: the file is malformed.
    """
    return toml_models.load(Tables, "report_tables.toml")
