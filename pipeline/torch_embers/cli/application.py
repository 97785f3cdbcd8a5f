"""The command `embers` put together: which function is behind which word. A new command is listed here."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from torch_embers.cli import (
    advisories,
    assistants,
    audit,
    bisect,
    builds,
    classify,
    fix_tests,
    listing,
    oracles,
    report,
    runs,
    search,
    study,
    tracker,
)
from torch_embers.version import __version__


def _ungiven_untouched(parameters: list[Any]) -> list[Any]:
    """Let options that were not given stay None.

    Typer would build a pydantic adapter for each of them, which takes a third of the time of a light command.
    """
    for parameter in parameters:
        if not (parameter.required or parameter.multiple or parameter.nargs != 1):
            vars(parameter).setdefault("process_value", partial(_process, parameter.process_value))
    return parameters


def _process(process: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    return None if value is None else process(context, value)


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _ungiven_untouched(super().get_params(ctx))


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _ungiven_untouched(super().get_params(ctx))


app = typer.Typer(
    name="embers",
    cls=_Group,
    help="Mine PyTorch's tracker, link bugs to their fixes, and keep re-checking closed ones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: it starts quickly and fits any terminal
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: dict[str, Callable[..., None]] = {
    "mine": tracker.mine,
    "status": tracker.status,
    "list": listing.list_items,
    "cases": listing.list_cases,
    "export": tracker.export,
    "link": tracker.link,
    "chain": tracker.chain,
    "funnel": tracker.funnel,
    "classify": classify.classify,
    "evaluate": classify.evaluate,
    "label": classify.label,
    "similar": search.similar,
    "search": search.search,
    "doctor": runs.doctor,
    "fix-tests": fix_tests.fix_tests,
    "run": runs.run,
    "merge": runs.merge,
    "minimize": runs.minimize,
    "matrix": runs.matrix,
    "judge": runs.judge,
    "recheck": runs.recheck,
    "bisect": bisect.bisect,
    "show": runs.show_item,
    "comment": runs.comment,
    "second-opinion": bisect.second_opinion,
    "sanitize": oracles.sanitize,
    "hunt": oracles.hunt,
    "perf": oracles.perf,
    "audit": audit.audit,
    "advisories": advisories.advisories,
    "study": study.study,
    "mcp": assistants.mcp,
    "report": report.report,
    "serve": report.serve,
}
"""In the order of `embers --help`; groups come last."""
GROUPS = {"builds": builds.builds_app}
PASSING_ON = {"sanitize": oracles.PASS_ON, "perf": oracles.PASS_ON}
"""Commands that hand words on to a script."""

for word, function in COMMANDS.items():
    app.command(word, cls=_Command, context_settings=PASSING_ON.get(word))(function)
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
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Log requests, stages and sandboxes on standard error.")
    ] = False,
) -> None:
    """Mine PyTorch's tracker, link bugs to their fixes, and keep re-checking closed ones."""
    del version  # its callback has printed it
    if verbose:
        import logging  # light commands do without

        from torch_embers.cli.log import VisibleFormatter

        handler = logging.StreamHandler()
        handler.setFormatter(VisibleFormatter("%(asctime)s %(name)s: %(message)s"))
        logging.basicConfig(level=logging.WARNING, handlers=[handler])
        logging.getLogger("torch_embers").setLevel(logging.DEBUG)
