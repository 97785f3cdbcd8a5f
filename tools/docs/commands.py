"""docs/commands.md and the tables of options in docs/commands/: commands, options, settings, errors."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import typer

from torch_embers import cli, errors
from torch_embers.settings import Settings

from .markdown import cell, code, table

if TYPE_CHECKING:
    from collections.abc import Callable

COMPUTED_DEFAULTS = {
    "database": "data/embers.duckdb in a checkout, else embers.duckdb in the user's data folder",
    "builds_dir": "builds in the user's data folder",
    "tokens": "GITHUB_TOKEN, else GH_TOKEN",
}
"""Settings whose default depends on the machine, in words."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option or argument of a command."""

    names: tuple[str, ...]
    value: str
    default: str
    meaning: str


def commands() -> dict[str, Callable[..., Any]]:
    """The function behind each command, in the order of ``embers --help``; those of a group as ``group command``."""
    found = _functions(cli.app)
    for group in cli.app.registered_groups:
        if group.typer_instance:
            found |= {f"{group.name} {name}": made for name, made in _functions(group.typer_instance).items()}
    return found


def _functions(app: typer.Typer) -> dict[str, Callable[..., Any]]:
    found = {}
    for info in app.registered_commands:
        if info.callback:
            found[info.name or info.callback.__name__.replace("_", "-")] = info.callback
    return found


def _value_of(hint: Any, declared: Any) -> str:
    """What to write behind an option, by the type of its parameter."""
    kinds = {kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)}
    if bool in kinds:
        return "none (a switch)"
    word = "path" if Path in kinds else "number" if kinds & {int, float} else "text"
    least = getattr(declared, "min", None)
    word += f", at least {least}" if least is not None else ""
    repeatable = any(get_args(part) for part in get_args(hint))
    return f"{word}, repeatable" if repeatable else word


def options(command: str) -> list[Option]:
    """Options and arguments of a command: names, help and defaults as Typer has them, types from the function."""
    declared_command: Any = typer.main.get_command(cli.app)
    for word in command.split():
        declared_command = declared_command.commands[word]
    hints = get_type_hints(commands()[command], include_extras=True)
    found = []
    for parameter in declared_command.params:
        hint, declared = get_args(hints[parameter.name])
        text = parameter.help or ""
        # a default in words stands where the settings decide it
        words = parameter.show_default if isinstance(parameter.show_default, str) else ""
        default = words or ("required" if parameter.required else _default(parameter.default))
        argument = parameter.param_type_name == "argument"
        names = (parameter.name.upper(),) if argument else (*parameter.opts, *parameter.secondary_opts)
        found.append(Option(names, _value_of(hint, declared), default, text))
    return found


def _default(value: object) -> str:
    return "" if value in (None, False, ()) else str(value)


def options_table(command: str) -> str:
    """The options of a command as a table."""
    rows = [
        (", ".join(code(name) for name in option.names), cell(option.value), cell(option.default), cell(option.meaning))
        for option in options(command)
    ]
    return table(("option", "value", "default", "meaning"), rows)


def command_list() -> str:
    """All commands, groups as one, with the first line of their help."""
    group: Any = typer.main.get_command(cli.app)
    rows = [
        (f"[`embers {name}`](commands/{name}.md)", cell(declared.help.splitlines()[0]))
        for name, declared in group.commands.items()
    ]
    return table(("command", "what it does"), rows)


def settings_table() -> str:
    """Every setting with its key, environment variable and default."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = COMPUTED_DEFAULTS.get(name, field.default)
        rows.append((code(name), code(f"EMBERS_{name.upper()}"), cell(default), cell(field.description or "")))
    return table(("key in embers.toml", "environment", "default", "meaning"), rows)


def named_errors() -> list[type[errors.EmbersError]]:
    """Every error that embers raises on purpose, by exit code, then in the order of errors.py."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EmbersError)]
    return sorted(found, key=lambda kind: kind.exit_code)


def errors_table() -> str:
    """The named errors with their exit code."""
    rows = [
        (str(kind.exit_code), code(kind.__name__), cell((inspect.getdoc(kind) or "").split("\n\n")[0]))
        for kind in named_errors()
        if kind is not errors.EmbersError
    ]
    return table(("code:", "error", "when"), rows)
