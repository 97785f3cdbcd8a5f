"""Which part of a commit message speaks of its own commit."""

from __future__ import annotations

import re

REPEATED = 10
"""Titles of other pull requests from which on a message repeats a history. A stack that was landed as one commit has a
few; a branch into which the main line was merged has dozens."""
_TITLE = re.compile(r"^\* [^\n]{1,200}\(#\d{1,7}\)[ \t]*\r?$", re.MULTILINE)


def own_part(message: str) -> str:
    """Return the message up to where it begins to repeat the messages of other commits.

    The squash of a branch into which the main line had been merged lists every commit of the main line as a bullet with
    its whole message: what is fixed and reverted there was fixed and reverted by others.
    """
    titles = _TITLE.finditer(message)
    first = next(titles, None)
    if first is None or sum(1 for _ in zip(range(REPEATED - 1), titles, strict=False)) < REPEATED - 1:
        return message
    return message[: first.start()]
