"""The commands `embers builds ...`: the PyTorch builds that cases run on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torch_embers.cli.options import JsonOption
from torch_embers.errors import InputError
from torch_embers.json_output import print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.builds.registry import Build


def add(
    version: Annotated[
        str | None, typer.Argument(help="A release such as 2.5.1, or `nightly`.", show_default=False)
    ] = None,
    python: Annotated[Path | None, typer.Option(help="Register this interpreter, which has a torch.")] = None,
    wheel: Annotated[Path | None, typer.Option(help="Install this wheel of torch.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call it.", show_default="its version")] = None,
    allow_cuda_packages: Annotated[
        bool, typer.Option("--allow-cuda-packages", help="Take PyPI's build with several GB of CUDA packages.")
    ] = False,
) -> None:
    """Install a release, a nightly or a wheel, or register a Python."""
    from torch_embers import settings
    from torch_embers.builds import install
    from torch_embers.progress_bar import ProgressBar

    wanted = settings.load()
    with ProgressBar("installing") as progress:
        found = install.add(
            wanted,
            version=version,
            python=python,
            wheel=wheel,
            name=name or "",
            allow_cuda_packages=allow_cuda_packages,
            progress=progress,
        )
    print_builds([found], wanted.builds_cap)


def list_all(json: JsonOption = False) -> None:
    """List the builds, with the room they take."""
    from torch_embers import settings
    from torch_embers.builds.registry import Registry

    wanted = settings.load()
    installed = Registry(wanted.builds_dir).installed()
    if json:
        print_json(installed)
    else:
        print_builds(installed, wanted.builds_cap)


def check(
    names: Annotated[list[str] | None, typer.Argument(help="Builds; all of them where none is named.")] = None,
) -> None:
    """Check that builds work on each device; exit code 3 if not."""
    from torch_embers import console, settings
    from torch_embers.builds.registry import Registry
    from torch_embers.run import cases

    registry = Registry(settings.load().builds_dir)
    checked = [registry.check(build) for build in cases.chosen_builds(registry, names or ["all"])]
    rows = [{"build": build.name, "check": what, "result": said} for build in checked for what, said in build.checked]
    console.print_rows("", rows)
    if any(build.broken for build in checked):
        raise typer.Exit(InputError.exit_code)


def remove(name: Annotated[str, typer.Argument(help="Name of the build.")]) -> None:
    """Forget a build; delete it if embers installed it."""
    from torch_embers import console, settings
    from torch_embers.builds.registry import Registry

    gone = Registry(settings.load().builds_dir).remove(name)
    console.stdout().print(f"removed {console.plain(gone.name)} ({console.plain(gone.identity)})")


def print_builds(builds: "Sequence[Build]", cap_gb: float) -> None:
    """Print builds with their checks, and the room that they take of ``cap_gb`` gigabytes."""
    from torch_embers.console import print_rows, size_text, stdout

    rows = [
        {
            "name": build.name,
            "version": build.version,
            "commit": build.git_commit[:10],
            "python": build.python_version,
            "devices": ", ".join(build.devices) + " (CUDA calls fail)" * build.without_cuda,
            "disk": size_text(build.disk_bytes) if build.managed else "registered",
            "check": "not checked" if not build.checked else "broken" if build.broken else "ok",
        }
        for build in builds
    ]
    print_rows("", rows)
    used = sum(build.disk_bytes for build in builds if build.managed)
    stdout().print(f"installed by embers: {size_text(used)} of {cap_gb:g} GB")
