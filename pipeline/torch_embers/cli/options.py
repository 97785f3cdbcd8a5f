"""Options and arguments that several commands share, and the store that ``--database`` stands for."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from torch_embers.locations import SETTINGS_FILE, default_database

if TYPE_CHECKING:
    from torch_embers.builds.work import Shard
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""
DatabaseOption = Annotated[
    Path | None,
    typer.Option("--database", "-d", help="The DuckDB file.", show_default="data/embers.duckdb, or EMBERS_DATABASE"),
]
RepoOption = Annotated[
    str | None,
    typer.Option(help="Repository as owner/name.", show_default="the database's, else pytorch/pytorch"),
]
ItemArgument = Annotated[
    str, typer.Argument(metavar="ITEM", help="An issue or pull request: 7, #7, owner/name#7, or its address.")
]
ItemsArgument = Annotated[
    list[str], typer.Argument(metavar="ITEM...", help="Issues or pull requests: 7, #7, owner/name#7, or addresses.")
]


def builds_option(default: str) -> Any:
    """``--build``, which can be repeated; ``default`` says in words what is taken where it is not given."""
    about = "Build by name or version, or `all`; repeat for more."
    return typer.Option("--build", "-b", help=about, show_default=default)


BuildOption = Annotated[list[str] | None, builds_option("current")]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Runs at a time.")]

UnsandboxedOption = Annotated[
    bool,
    typer.Option("--unsandboxed", help="Where no sandbox can be had: run reviewed cases with all your rights."),
]

AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="Let the nodes of this Ray cluster do it: HOST:PORT, or auto.",
        show_default="this machine does it",
    ),
]
ShardOption = Annotated[
    str | None,
    typer.Option("--shard", help="Do the i-th of n parts; the others are for other machines.", metavar="I/N"),
]
StateOption = Annotated[
    Path | None,
    typer.Option(
        "--state", help="Folder of Parquet files to load what is known from, and to save it to.", metavar="FOLDER"
    ),
]

MarginOption = Annotated[
    float | None,
    typer.Option(min=0, help="Percent that two times may differ before it is called a difference.", show_default="10"),
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead; its keys are explained in docs/json.md.")]


def fraction(percent: float | None) -> float | None:
    """A number that the command line has in percent."""
    return None if percent is None else percent / 100


def shard_of(text: str | None) -> "Shard":
    """The shard that ``--shard`` names; the whole plan where it is not given.

    Raises:
        InputError: it is no such pair.
    """
    from torch_embers.builds.work import WHOLE, Shard

    return WHOLE if text is None else Shard.read(text)


def settings_at(database: Path | None, repo: str | None) -> "Settings":
    """The settings of a command on a database: a repository that nobody names is the only one that it holds.

    Raises:
        SettingsError: ``embers.toml`` or the repository is malformed.
        StoreError: the database cannot be read.
    """
    from torch_embers import settings

    wanted = settings.load(database=database, repo=repo)
    if "repo" in wanted.model_fields_set:
        return wanted
    return wanted.model_copy(update={"repo": store_at(wanted.database, required=False).repository()})


def store_at(database: Path | None, *, required: bool = True) -> "Store":
    """The store in this file, or in the one that the environment, ``embers.toml`` or the default names.

    Raises:
        StoreMissingError: the file is not there and is required.
        SettingsError: ``embers.toml`` is malformed.
    """
    from torch_embers.store.store import Store

    if SETTINGS_FILE.is_file():
        from torch_embers import settings  # checks the whole file, which takes pydantic

        database = settings.load(database=database).database
    store = Store(database or Path(os.environ.get("EMBERS_DATABASE") or default_database()))
    if required:
        store.require()
    return store
