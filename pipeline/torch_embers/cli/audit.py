"""The commands audit and advisories."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from torch_embers.errors import InputError
from torch_embers.json_output import as_json, print_json

FOUND = 10
"""Exit code when the code can meet a bug at or above the threshold."""


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
        typer.Option(help="Exit with 10 where a finding is high and its bug this severe."),
    ] = "high",
    intended: Annotated[bool, typer.Option(help="Also tell what maintainers call intended or superseded.")] = False,
    possible: Annotated[
        bool, typer.Option("--possible", help="Also list the findings that are only possible.")
    ] = False,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A case, or an issue such as #31829, that does not count; repeatable.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="Only findings that are not in this file count.")] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(help="Write the findings to this file and exit with 0.")
    ] = None,
) -> None:
    """Tell which known bugs your code can meet, without running it."""
    from torch_embers import console
    from torch_embers.audit import audit_code, formats, ignores

    if python and (package := next((name for name in targets or () if not Path(name).exists()), None)):
        raise InputError(f"--python gives the version alone: name the folder of {package} in place of the package")
    cases = frozenset().union(*(ignores.named_cases(one, "--ignore") for one in ignore or ()))
    version = torch or audit_code.installed_version(python)
    accepted = audit_code.Accepted(cases, baseline)
    done = audit_code.audit(targets or (), version, device, intended=intended, accepted=accepted)
    if write_baseline:
        typer.echo(f"{audit_code.write_baseline(done, write_baseline)} places written to {write_baseline}")
        return
    if form == "text":
        console.print_lines(formats.lines(done, possible=possible))
    else:
        print_json({"json": formats.rows, "sarif": formats.sarif, "vex": formats.vex}[form](done))
    if fail_on != "never" and audit_code.reaches(done, fail_on):
        raise typer.Exit(FOUND)


def advisories(
    osv: Annotated[Path | None, typer.Option(help="Also write an OSV document per advisory into this folder.")] = None,
    as_documents: Annotated[
        bool, typer.Option("--json", help="Print the OSV documents as a JSON list instead.")
    ] = False,
) -> None:
    """Print published ranges of advisories beside what runs show."""
    from torch_embers import console
    from torch_embers.audit import advisories as shipped
    from torch_embers.audit.osv import document
    from torch_embers.audit.ranges import lines

    about, done = shipped.load(), shipped.executed()
    documents = [document(one, about) for one in done]
    if osv:
        try:
            osv.mkdir(parents=True, exist_ok=True)
            for made in documents:
                (osv / f"{made['id']}.json").write_text(as_json(made) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"--osv {osv} cannot be written: {error.strerror}: name a folder") from error
    if as_documents:
        print_json(documents)
        return
    console.print_lines(lines(done, about))
