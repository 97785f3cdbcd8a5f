"""The command `embers` put together: which function is behind which word. A new command is listed here."""

from collections.abc import Callable
from typing import Annotated

import typer

from torch_embers.cli import builds, classify, runs, study, tracker
from torch_embers.version import __version__

app = typer.Typer(
    name="embers",
    help="Mine PyTorch's tracker, link bugs to their fixes, and keep re-checking closed ones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: dict[str, Callable[..., None]] = {
    "mine": tracker.mine,
    "status": tracker.status,
    "export": tracker.export,
    "chain": tracker.chain,
    "funnel": tracker.funnel,
    "classify": classify.classify,
    "evaluate": classify.evaluate,
    "label": classify.label,
    "similar": classify.similar,
    "search": classify.search,
    "doctor": runs.doctor,
    "link-repros": runs.link_repros,
    "run": runs.run,
    "minimize": runs.minimize,
    "matrix": runs.matrix,
    "recheck": runs.recheck,
    "show": runs.show_item,
    "comment": runs.comment,
    "study": study.study,
}
"""In the order of `embers --help`; groups come last."""
GROUPS = {"builds": builds.builds_app}

for word, function in COMMANDS.items():
    app.command(word)(function)
for word, group in GROUPS.items():
    app.add_typer(group, name=word)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"embers {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Mine PyTorch's tracker, link bugs to their fixes, and keep re-checking closed ones."""
