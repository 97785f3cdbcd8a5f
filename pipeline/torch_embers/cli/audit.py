"""The command audit."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from torch_embers.json_output import print_json

FOUND = 10
"""Exit code when a bug at or above the threshold can be met."""


def audit(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders or installed packages.", show_default="none: all bugs of the release"),
    ] = None,
    torch: Annotated[str | None, typer.Option(help="A release of torch.", show_default="the installed one")] = None,
    python: Annotated[Path | None, typer.Option(help="Take the version from this interpreter.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    form: Annotated[
        Literal["text", "json", "sarif", "vex"],
        typer.Option("--format", help="What to print; keys are in docs/json.md."),
    ] = "text",
    fail_on: Annotated[
        Literal["high", "medium", "low", "never"],
        typer.Option(help="Exit with 10 from this severity on, for bugs that the code calls."),
    ] = "high",
    intended: Annotated[bool, typer.Option(help="Also tell what maintainers call intended or superseded.")] = False,
) -> None:
    """Tell which known bugs of a PyTorch release your code can meet.

    The code is read, never executed.
    """
    from torch_embers.audit import command, formats
    from torch_embers.errors import InputError

    if python and (package := next((name for name in targets or () if not Path(name).exists()), None)):
        raise InputError(f"--python gives the version alone: name the folder of {package} in place of the package")
    done = command.audit(targets or (), torch or command.installed_version(python), device, intended=intended)
    if form == "text":
        formats.print_lines(done)
    else:
        print_json({"json": formats.rows, "sarif": formats.sarif, "vex": formats.vex}[form](done))
    if fail_on != "never" and command.reaches(done, fail_on):
        raise typer.Exit(FOUND)
