"""Examples on the pages of docs/commands/: commands that are run here, on a database of the catalog alone."""

from __future__ import annotations

import atexit
import io
import os
import shlex
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from unittest.mock import patch

from torch_embers import cli

from .markdown import fenced
from .rewriting import BlockError

EXAMPLE_WIDTH = 96
"""Columns of the terminal in which examples are run: what a code block shows without scrolling."""


@cache
def catalog_database() -> Path:
    """A database of the catalog alone; removed when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="embers-docs-")
    atexit.register(folder.cleanup)
    database = Path(folder.name) / "e.duckdb"
    run("mine", "--source", "catalog", "--database", str(database))
    return database


def run(*arguments: str) -> str:
    """What a command prints in a terminal of ``EXAMPLE_WIDTH`` columns.

    Raises:
        BlockError: it failed.
    """
    printed = io.StringIO()
    outside = {name: value for name, value in os.environ.items() if not name.startswith("EMBERS_")}
    plain = {**outside, "COLUMNS": str(EXAMPLE_WIDTH), "NO_COLOR": "1"}
    with patch.dict(os.environ, plain, clear=True), redirect_stdout(printed), redirect_stderr(io.StringIO()):
        try:
            cli.main(list(arguments))
        except SystemExit as stop:
            if stop.code:
                raise BlockError(f"`embers {' '.join(arguments)}` ended with {stop.code}") from stop
    return "\n".join(line.rstrip() for line in printed.getvalue().strip("\n").splitlines())


def example(*arguments: str) -> str:
    """A command and what it prints on a database that holds the catalog alone."""
    output = run(*arguments, "--database", str(catalog_database()))
    return fenced(f"$ embers {shlex.join(arguments)}\n{output}", "console")


def status() -> str:
    """What `embers status` prints of the catalog, without the parts that tell a file, its size and times."""
    output = run("status", "--database", str(catalog_database()))
    kept = output[output.index("Rows\n") : output.index("\nSources\n")]
    return fenced(f"$ embers status\n...\n{kept}\n...", "console")
