"""Options and arguments that several commands share, and the store that ``--database`` stands for."""

from pathlib import Path
from typing import Annotated

import typer

from torch_embers import settings
from torch_embers.store.store import Store

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""
DatabaseOption = Annotated[
    Path | None,
    typer.Option("--database", "-d", help="The DuckDB file.", show_default="data/embers.duckdb, or EMBERS_DATABASE"),
]
RepoOption = Annotated[str | None, typer.Option(help="Repository as owner/name.", show_default="pytorch/pytorch")]
NumberArgument = Annotated[int, typer.Argument(min=1, help="Number of an issue or pull request.")]
BuildOption = Annotated[
    list[str] | None,
    typer.Option("--build", "-b", help="Build by name or version, or `all`; repeat for more.", show_default="current"),
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Runs at a time.")]


def store_at(database: Path | None) -> Store:
    """The store in this file, or in the one that the settings name.

    Raises:
        SettingsError: a setting is malformed.
    """
    return Store(settings.load(database=database).database)
