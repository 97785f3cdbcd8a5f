"""Keys from a terminal, a pipe or a file."""

from __future__ import annotations

import codecs
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTER, ESCAPE, ERASE = ("\n", "\r", "\r\n"), "\x1b", ("\x7f", "\b")
END = ("\x04",)
"""Ctrl-D, which a terminal without line editing hands over as a character."""
ON, UP = (" ", "\x1b[B", "\x1b[6~"), ("-", "\x1b[A", "\x1b[5~")
_KEY = re.compile("\x1b\\[[0-9;?]{0,12}[@-~]|\x1bO[A-Z]|\r\n|.", re.DOTALL)


def split_keys(text: str) -> list[str]:
    """Split what a terminal sent into keys: characters, and escape sequences in one piece."""
    return _KEY.findall(text)


@contextmanager
def _unbuffered(descriptor: int) -> Iterator[None]:
    """A terminal that hands over each key at once and shows none; anything else as it is."""
    if not os.isatty(descriptor):
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)  # what was typed early is kept
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def read_keys(stream: TextIO) -> Iterator[str]:
    """Keys from a terminal, a pipe or a file, until its end; the terminal is put back in order behind it.

    Close the iterator (or exhaust it) so that this happens at once.
    """
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        yield from split_keys(stream.read())
        return
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with _unbuffered(descriptor):
        while chunk := _read(descriptor):
            yield from split_keys(decoder.decode(chunk))


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        # the terminal is gone: the same as its end
        return b""
