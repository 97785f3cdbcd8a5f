"""The way in: runs the command line and turns how it ended into one clean line and an exit code."""

from __future__ import annotations

import sys
from typing import Any

import typer

from torch_embers import console
from torch_embers.cli.application import app
from torch_embers.cli.options import INTERRUPTED
from torch_embers.errors import EmbersError

PIPE_CLOSED = 141
"""Exit code after the reader of a pipe went away, as shells have it."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every error of ours is one clean line and an exit code."""
    try:
        code: Any = app(arguments, standalone_mode=False)
    except EmbersError as error:
        console.stderr().print(f"[bold red]error:[/] {console.plain(error)}", soft_wrap=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _say_interrupted()
        sys.exit(INTERRUPTED)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(PIPE_CLOSED)
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("click", "typer"):
            show = getattr(error, "show", None)
            if callable(show):
                show()
            sys.exit(getattr(error, "exit_code", 2))
        raise
    if code == INTERRUPTED:
        _say_interrupted()
    sys.exit(code if isinstance(code, int) else 0)


def _say_interrupted() -> None:
    said = "interrupted: everything done so far is saved, the same command goes on from there"
    console.stderr().print(said, soft_wrap=True)
