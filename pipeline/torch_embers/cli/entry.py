"""The way in: runs the command line and turns how it ended into one clean line and an exit code."""

from __future__ import annotations

import codecs
import errno
import io
import os
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from torch_embers.cli.application import app
from torch_embers.cli.options import INTERRUPTED
from torch_embers.errors import EmbersError, StoreError

PIPE_CLOSED = 141
"""Exit code after the reader of a pipe went away, as shells have it."""
ASCII = {
    "─": "-",
    "━": "-",
    "│": "|",
    "├": "|",
    "└": "`",
    "…": "...",
    "·": "-",
    "–": "-",
    "×": "x",
    "’": "'",
    "≥": ">=",
}
"""What stands for characters of ours where the terminal's encoding has none; any other becomes a question mark."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every error of ours is one clean line and an exit code."""
    _print_anywhere()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # services end so: what runs ends, what was reached stays
    try:
        code: Any = app(arguments, standalone_mode=False)
        sys.stdout.flush()
    except EmbersError as error:
        from torch_embers import console

        console.stderr().print(f"[bold red]error:[/] {console.plain(error)}", soft_wrap=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _print_interrupted()
        sys.exit(INTERRUPTED)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except BrokenPipeError:
        _end_of_pipe()
    except SystemExit as stop:
        # Typer and rich end a process whose pipe is closed with code 1
        if isinstance(stop.__context__, BrokenPipeError):
            _end_of_pipe()
        raise
    except Exception as error:
        if _came_of_interrupt(error):
            _print_interrupted()
            sys.exit(INTERRUPTED)
        _end_with_line(error)
        raise
    if code == INTERRUPTED:
        _print_interrupted()
    sys.exit(code if isinstance(code, int) else 0)


def _came_of_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C came while a package was imported, which may raise another error for it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _end_with_line(error: Exception) -> None:
    """End the process after one line where the error is a wrong command line, or of a full or unusable folder."""
    if type(error).__module__.partition(".")[0] in ("click", "typer"):
        show = getattr(error, "show", None)
        if callable(show):
            show()
        sys.exit(getattr(error, "exit_code", 2))
    if isinstance(error, OSError) and (said := _said(error)):
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - what the buffer still holds must not be tried again
        with suppress(OSError):
            sys.stderr.write(f"error: {said}\n")
        sys.exit(StoreError.exit_code)


def _said(error: OSError) -> str | None:
    """What became of an output or of the folder for temporary files, in one line; None for another error."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or (error.errno == errno.EIO and error.filename is None):
        return f"the output cannot be written ({error.strerror}): free some disk, or write it somewhere else"
    if "usable temporary directory" in str(error) or str(error.filename or "").startswith(f"{tempfile.tempdir}/"):
        return f"no temporary file can be written ({error.strerror}): TMPDIR=FOLDER names another folder for them"
    return None


def _end_of_pipe() -> None:
    # what is left in the buffer would fail again when the interpreter ends
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(PIPE_CLOSED)


def _print_anywhere() -> None:
    """Replace, rather than fail on, characters that the encoding of standard output or error lacks."""
    codecs.register_error("embers", _replacement)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for the whole run
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="embers")


def _replacement(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII.get(c, "?") for c in error.object[error.start : error.end]), error.end


def _print_interrupted() -> None:
    from torch_embers import console

    text = "interrupted: everything done so far is saved, the same command goes on from there"
    console.stderr().print(text, soft_wrap=True)
