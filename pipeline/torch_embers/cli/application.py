"""The command `embers` put together: which function is behind which word. A new command is listed here."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from torch_embers.cli import (
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

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Know former names, and the forms of a command that have options of their own, such as `list --cases`."""
        if ctx.parent is None and (now := FORMER.get(args[0])):
            typer.echo(f"`embers {args[0]}` is now `embers {now}`; the old name works until {FORMER_UNTIL}.", err=True)
            args = [*now.split(), *args[1:]]
        for word in args[1:]:
            if (form := f"{args[0]} {word}") in self.commands:
                return super().resolve_command(ctx, [form, *(other for other in args[1:] if other != word)])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        del ctx
        shown: dict[str, Any] = {word: made for word, made in self.commands.items() if not made.hidden}
        width = max(map(len, shown))
        for panel in dict.fromkeys(made.rich_help_panel for made in shown.values()):
            with formatter.section(panel or "Commands"):
                of_panel = [(word, made) for word, made in shown.items() if made.rich_help_panel == panel]
                formatter.write_dl([(word.ljust(width), first_line(made)) for word, made in of_panel])


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _ungiven_untouched(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        words = ctx.parent.command.commands
        forms = {word: made for word, made in words.items() if word.startswith(f"{ctx.info_name} --")}
        if forms:
            with formatter.section("Forms with options of their own (add --help)"):
                formatter.write_dl(
                    [(word.removeprefix(f"{ctx.info_name} "), first_line(forms[word])) for word in forms]
                )


def first_line(command: Any) -> str:
    """The sentence that says what a command does."""
    return str(command.help).splitlines()[0]


COMMANDS: dict[str, dict[str, Callable[..., None] | str]] = {
    "Look up": {
        "show": runs.show_item,
        "show --paste": bisect.paste,
        "list": listing.list_items,
        "list --cases": listing.list_cases,
        "list --matrix": runs.matrix,
        "search": search.search,
        "chain": tracker.chain,
        "status": tracker.status,
    },
    "Keep current": {"mine": tracker.mine, "classify": classify.classify, "recheck": runs.recheck},
    "Run": {"run": runs.run, "bisect": bisect.bisect},
    "Check your own code": {"audit": audit.audit, "sanitize": oracles.sanitize},
    "Study and share": {
        "study": study.study,
        "report": report.report,
        "report --serve-existing": report.serve_existing,
        "data": "Label, judge, link, count, export and merge what is stored.",
        "data label": classify.label,
        "data judge": runs.judge,
        "data link": tracker.link,
        "data funnel": tracker.funnel,
        "data export": tracker.export,
        "data merge": runs.merge,
        "research": "Hunt unknown bugs, test fixes, shrink scripts, time and measure.",
        "research hunt": oracles.hunt,
        "research skips": oracles.skips,
        "research fix-tests": fix_tests.fix_tests,
        "research minimize": runs.minimize,
        "research perf": oracles.perf,
        "research advisories": audit.advisories,
        "research silent": study.silent,
        "research evaluate": classify.evaluate,
    },
    "Set up": {
        "doctor": runs.doctor,
        "builds": "Install, check and remove the PyTorch builds that cases run on.",
        "builds add": builds.add,
        "builds list": builds.list_all,
        "builds check": builds.check,
        "builds remove": builds.remove,
    },
    "": {"mcp": assistants.mcp},
}
"""In the order of `embers --help`: of a group its sentence, then its members. A form with an option in its name, and
what has no heading, is not listed."""
PASSING_ON = {"sanitize": oracles.PASS_ON, "research perf": oracles.PASS_ON}
"""Commands that hand words on to a script."""
FORMER = {
    "cases": "list --cases",
    "matrix": "list --matrix",
    "similar": "search --like",
    "second-opinion": "show --paste",
    "comment": "show --paste",
    "serve": "report --serve-existing",
}
NEVER_AT_THE_TOP = ("research silent", "research skips")
FORMER |= {
    name.split()[1]: name
    for name in COMMANDS["Study and share"]
    if name.startswith(("data ", "research ")) and name not in NEVER_AT_THE_TOP
}
"""Former names of commands, and what they are called now."""
FORMER_UNTIL = "0.3"
"""Release without the former names."""


def _group(about: str, **attributes: Any) -> typer.Typer:
    # plain help: it starts quickly and fits any terminal
    return typer.Typer(cls=_Group, help=about, no_args_is_help=True, rich_markup_mode=None, **attributes)


app = _group(
    "Mine PyTorch's tracker, link bugs to their fixes, and keep re-checking closed ones.",
    name="embers",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_groups: dict[str, typer.Typer] = {}
for _heading, _words in COMMANDS.items():
    for _name, _behind in _words.items():
        if isinstance(_behind, str):
            _groups[_name] = _group(_behind)
            app.add_typer(_groups[_name], name=_name, rich_help_panel=_heading)
            continue
        _place, _, _word = _name.partition(" ")
        _settings = PASSING_ON.get(_name)
        if _place in _groups:
            _groups[_place].command(_word, cls=_Command, context_settings=_settings)(_behind)
        else:
            _hidden = " " in _name or not _heading
            app.command(_name, cls=_Command, context_settings=_settings, rich_help_panel=_heading, hidden=_hidden)(
                _behind
            )


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
