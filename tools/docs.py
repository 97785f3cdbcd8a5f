"""Parts of README.md and docs/ that are made from data. `make docs` writes them, `make docs-check` finds stale ones.

A page has two kinds of marks, both with a call of a function of this file:

    <!-- [[[cog table("query") ]]] -->   cog writes what stands up to the next line
    <!-- [[[end]]] -->
    <!-- site: table("query") -->        only the site has it (tools/site_hooks.py): long lists stay out of the checkout

A query is a file of docs/queries/ or SQL. It reads the database of the catalog alone (docs/store.md), the views of
docs/queries/views.sql, judgements, files of the checkout, and data/*.toml as one row each: ``FROM 'sandbox.json'``.
"""

from __future__ import annotations

import atexit
import inspect
import io
import json
import os
import re
import shlex
import sys
import tempfile
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow as pa
import typer
from packaging.version import Version

from torch_embers import cli, errors, judgements
from torch_embers.audit import advisories, ranges
from torch_embers.cli import application
from torch_embers.escaping import unguarded, visible
from torch_embers.hunt import drafts as hunt_draft
from torch_embers.settings import Settings
from torch_embers.statistics.intervals import percent
from torch_embers.store.store import Store
from torch_embers.views import answers, item_evidence

ROOT = Path(__file__).resolve().parent.parent
QUERIES = ROOT / "docs" / "queries"
FIGURES = ROOT / "data" / "figures.toml"
SITE = re.compile(r"(?m)^.*<!-- site: (?P<call>.+?) -->$")
EXAMPLE_WIDTH = 96
"""Columns of the terminal in which examples are run: what a code block shows without scrolling."""
ISSUE = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)?#(?P<number>\d+)")
PYTORCH = "pytorch/pytorch"
COMPUTED_DEFAULTS = {
    "database": "data/embers.duckdb in a checkout, else embers.duckdb in the user's data folder",
    "builds_dir": "builds in the user's data folder",
    "tokens": "GITHUB_TOKEN, else GH_TOKEN",
}
"""Settings whose default depends on the machine, in words."""


# what marks call


def table(query: str, **parameters: object) -> None:
    """The rows of a query as a table; a column that is named in backticks holds inline code."""
    show(markdown_table(*ask(query, **parameters)))


def sections(query: str, level: str = "###", **parameters: object) -> None:
    """A heading for each value of the first column, its sentence from the second, and the other columns as a table."""
    columns, rows = ask(query, **parameters)
    parts = []
    for name, about in dict.fromkeys((row[0], row[1]) for row in rows):
        of_name = [row[2:] for row in rows if row[0] == name]
        parts.append(f"{level} {name}\n\n{cell(about)}\n\n{markdown_table(columns[2:], of_name)}")
    show("\n\n".join(parts))


def sentence(text: str, query: str, **parameters: object) -> None:
    """A text with the columns of the one row of a query in its braces."""
    columns, [row] = ask(query, **parameters)
    show(text.format(**{name: cell(value) for (name, _), value in zip(columns, row, strict=True)}))


def answered(query: str) -> None:
    """A query and its answer."""
    columns, found = ask(query)
    rows = [tuple(value if value is None else str(value) for value in row) for row in found]
    show(f"{fenced(statement(query), 'sql')}\n\n{markdown_table(columns, rows)}")


def example(line: str, first: str = "", last: str = "") -> None:
    """A command of embers and what it prints on a database that holds the catalog alone.

    Args:
        line: the command, without `embers`.
        first: what the shown part begins with; the rest is left out.
        last: what the shown part ends before.
    """
    output = run(*shlex.split(line), "--database", str(catalog_database()))
    start = output.index(first)
    end = output.index(last, start) if last else len(output)
    shown = ("...\n" if start else "") + output[start:end].rstrip() + ("\n..." if last else "")
    show(fenced(f"$ embers {line}\n{shown}", "console"))


def program(*lines: str) -> None:
    """Lines of Python with the value of the last one behind it, as the installed torch gives it."""
    import torch

    names = {"torch": torch}
    exec("\n".join(lines[:-1]), names)  # noqa: S102 - our own pages
    value = eval(lines[-1], names)  # noqa: S307 - our own pages
    show(fenced("\n".join((*lines[:-1], f"{lines[-1]}  # {value}")), "python"))


def closable() -> None:
    """The rules of data/closable.toml in the order in which they are asked."""
    from torch_embers.views.closable import rules

    columns = [("closable", False), ("because", False)]
    show(markdown_table(columns, [(rule.closable, rule.because) for rule in rules()]))


def drafts() -> None:
    """What embers found and nobody reported: each draft of data/hunt_drafts.toml with its script and its releases."""
    releases = {case: (occurs, absent) for case, _, occurs, absent, _ in ask("hunt_since")[1]}
    parts = []
    for place, one in enumerate(hunt_draft.written(), 1):
        occurs, absent = releases.get(one.case, ("", ""))
        since = (
            one.measured or f"Occurs on {occurs}" + (f", not on {absent}" if absent else "") + f" ({code(one.case)})."
        )
        also = f" The same cause shows in {code(list(one.also))}." if one.also else ""
        script = fenced(one.script, "python")
        parts.append(f"### {place}. {cell(one.title)}\n\n{cell(one.about)} {since}{also}\n\n{script}")
    show("\n\n".join(parts))


def source(path: str) -> None:
    """A whole file of the checkout."""
    show(fenced((ROOT / path).read_text(encoding="utf-8"), Path(path).suffix.replace(".py", ".python")[1:]))


def every_command() -> dict[str, Any]:
    """All commands by their words after `embers`: forms and members of groups, too."""
    group: Any = typer.main.get_command(cli.app)
    found: dict[str, Any] = {}
    for name, made in group.commands.items():
        members = getattr(made, "commands", {})
        found |= {f"{name} {member}": one for member, one in members.items()} if members else {name: made}
    return found


def page_of(name: str) -> str:
    """The page of a command, in docs/: its own, or that of its group."""
    own = Path("commands", *name.partition(" --")[0].split())
    return f"{own if (ROOT / 'docs' / f'{own}.md').is_file() else own.parent}.md"


def commands() -> None:
    """All commands with the first line of their help, a table for each heading of `embers --help`."""
    made, parts = every_command(), []
    for heading, words in application.COMMANDS.items():
        rows = [
            ({"text": f"`embers {name}`", "url": page_of(name)}, application.first_line(made[name]))
            for name in words
            if name in made
        ]
        table = markdown_table([("command", False), ("what it does", False)], rows)
        parts.append(f"### {heading or 'For other programs'}\n\n{table}")
    show("\n\n".join(parts))


def former_names() -> None:
    """Former names of commands beside their names of today."""
    rows = [(f"`{former}`", f"`embers {now}`") for former, now in application.FORMER.items()]
    show(markdown_table([("former name", False), ("name", False)], rows))


def settings() -> None:
    """Every setting with its key, environment variable, default and meaning."""
    rows = [
        (name, f"EMBERS_{name.upper()}", COMPUTED_DEFAULTS.get(name, field.default), field.description)
        for name, field in Settings.model_fields.items()
    ]
    headings = ("`key in embers.toml`", "`environment`", "default", "meaning")
    show(markdown_table([(name, False) for name in headings], rows))


def exit_codes() -> None:
    """The named errors with their exit code, in the words of their docstrings."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EmbersError)]
    rows = [
        (kind.exit_code, kind.__name__, (inspect.getdoc(kind) or "").split("\n\n")[0])
        for kind in sorted(kinds, key=lambda kind: kind.exit_code)
        if kind is not errors.EmbersError
    ]
    show(markdown_table([("code", True), ("`error`", False), ("when", False)], rows))


def published_and_executed() -> None:
    """Published ranges of each security advisory beside the releases on which its case occurs; a row per range."""
    headings = ("advisory", "status", "occurs on", "published by", "on", "range", "deviation from it")
    rows = []
    for one in advisories.executed():
        occurs = ranges.spans(one.occurs, list(one.verdicts))
        for of in one.deviations:
            by = {"text": of.published.database, "url": of.published.source}
            said = (by, of.published.day, ranges.published(of.published), ranges.deviation(one, of))
            rows.append((one.advisory.id, one.advisory.status, occurs, *said))
    show(markdown_table([(name, False) for name in headings], rows))


def figure(name: str, folder: str = "analysis/results") -> None:
    """A table or figure of the study: its question, the picture or the rows, and how to read it."""
    [one] = [one for one in tomllib.loads(FIGURES.read_text(encoding="utf-8"))["figure"] if one["id"] == name]
    csv = f"{folder}/{name}.csv"
    rows = f"![{one['title']}](../{folder}/{name}.svg)" if one.get("draw") else markdown_table(*labelled(csv, folder))
    paper = f"{one['paper']}: " if one["paper"] else ""
    show(f"### {paper}{one['title']}\n\n{one['question']} [Data](../{csv})\n\n{rows}\n\n{cell(one['reason'])}")


def labelled(csv: str, folder: str) -> tuple[list[tuple[str, bool]], list[tuple[Any, ...]]]:
    """A table of the study with each sample by its label: ``paper`` would read as the paper's own number."""
    columns, rows = ask(f"FROM '{csv}'")
    samples = json.loads((ROOT / folder / "study.json").read_text(encoding="utf-8"))["samples"]
    labels = {one["name"]: one["label"] for one in samples}
    places = [place for place, (column, _) in enumerate(columns) if column == "sample"]
    return columns, [
        tuple(labels.get(cell, cell) if place in places else cell for place, cell in enumerate(row)) for row in rows
    ]


# the site


@cache
def filled(text: str) -> str:
    """The text of a page with what only the site has in the place of its marks."""

    def made(match: re.Match[str]) -> str:
        with redirect_stdout(io.StringIO()) as written:
            eval(match["call"], globals())  # noqa: S307 - a page of this checkout, as cog runs it
        return written.getvalue()

    return SITE.sub(made, text)


# data


@cache
def catalog_database() -> Path:
    """A database of the catalog alone; removed when the process ends."""
    database = _folder() / "catalog.duckdb"
    run("mine", "--source", "catalog", "--database", str(database))
    return database


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="embers-docs-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    for path in (ROOT / "data").rglob("*.toml"):
        text = json.dumps(tomllib.loads(path.read_text(encoding="utf-8")), default=str)
        (_folder() / path.with_suffix(".json").name).write_text(text, encoding="utf-8")
    connection = duckdb.connect()
    atexit.register(connection.close)
    connection.execute(f"ATTACH '{catalog_database()}' AS catalog_alone (READ_ONLY)")
    connection.execute("USE catalog_alone")
    connection.execute(f"SET file_search_path = '{ROOT},{_folder()}'")
    connection.create_function("spans", spans, ["VARCHAR[]", "VARCHAR[]"], "VARCHAR", null_handling="special")
    connection.create_function("percent", percent, ["INTEGER", "INTEGER"], "VARCHAR")
    counted = answers.counts(item_evidence.answered(Store(catalog_database())).values())
    connection.register("answer_counts", pa.Table.from_pylist([row | {"place": at} for at, row in enumerate(counted)]))
    judgements.define(connection)
    connection.execute((QUERIES / "views.sql").read_text(encoding="utf-8"))
    return connection


def spans(wanted: list[str] | None, known: list[str]) -> str:
    """For queries: releases in words, neighbours of ``known`` as a range: ``1.13.1, 2.1.2 to 2.3.1``."""
    return ranges.spans(wanted, sorted(set(known), key=Version)) if wanted else ""


def statement(query: str) -> str:
    """The SQL of a query: itself, or the file of docs/queries/ that it names."""
    text = query if " " in query else (QUERIES / f"{query}.sql").read_text(encoding="utf-8")
    return text.strip()


def ask(query: str, **parameters: object) -> tuple[list[tuple[str, bool]], list[tuple[Any, ...]]]:
    """Columns, each with whether it holds numbers, and rows of a query."""
    result = _connection().execute(statement(query), parameters or None)
    columns = [(str(column[0]), column[1] == duckdb.NUMBER) for column in result.description]
    return columns, result.fetchall()


def run(*arguments: str) -> str:
    """What a command prints in a terminal of ``EXAMPLE_WIDTH`` columns."""
    printed = io.StringIO()
    outside = {name: value for name, value in os.environ.items() if not name.startswith("EMBERS_")}
    plain = {**outside, "COLUMNS": str(EXAMPLE_WIDTH), "NO_COLOR": "1"}
    with patch.dict(os.environ, plain, clear=True), redirect_stdout(printed), redirect_stderr(io.StringIO()):
        try:
            cli.main(list(arguments))
        except SystemExit as stop:
            if stop.code:
                raise RuntimeError(f"`embers {shlex.join(arguments)}` ended with {stop.code}") from stop
    return "\n".join(line.rstrip() for line in printed.getvalue().strip("\n").splitlines())


# Markdown


def show(text: str) -> None:
    """Write a part of a page; an empty line on both sides, as Markdown wants it around a table."""
    sys.stdout.write(f"\n{text}\n\n")


def cell(value: Any) -> str:
    """A value in a table or sentence: text is shown as it is, `#1` and structs of text and url are links."""
    match value:
        case None:
            return ""
        case list():
            return ", ".join(map(cell, value))
        case {"text": text, "url": url}:
            return f"[{cell(text)}]({url})" if url else cell(text)
        case bool() | float():
            return str(value)
        case int():
            return f"{value:,}"
    text = " ".join(visible(unguarded(str(value))).split())
    if found := ISSUE.fullmatch(text):
        name = (found["repo"] or PYTORCH).replace(PYTORCH, "")
        return f"[{name}#{found['number']}](https://github.com/{found['repo'] or PYTORCH}/issues/{found['number']})"
    return text.replace("<", "&lt;").replace("|", "\\|").replace("*", "\\*").replace("][", "]\\[")  # [a][b] is a link


def code(value: Any) -> str:
    """Inline code for a table cell; nothing for nothing."""
    if isinstance(value, list):
        return ", ".join(map(code, value))
    text = " ".join(visible(str(value)).split()).replace("|", "\\|") if value is not None else ""
    return f"`{text}`" if text else ""


def markdown_table(columns: list[tuple[str, bool]], rows: list[tuple[Any, ...]]) -> str:
    """A Markdown table; columns of numbers stand to the right, a column without any value is left out."""
    kept = [at for at, _ in enumerate(columns) if not rows or any(row[at] is not None for row in rows)]
    columns, rows = [columns[at] for at in kept], [tuple(row[at] for at in kept) for row in rows]
    shown = [code if name.startswith("`") else cell for name, _ in columns]
    lines = [
        [name.strip("`") for name, _ in columns],
        ["---:" if is_number else "---" for _, is_number in columns],
        *([as_text(value) for as_text, value in zip(shown, row, strict=True)] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(text: str, language: str = "") -> str:
    """A code block."""
    return f"```{language}\n{text.rstrip()}\n```"
