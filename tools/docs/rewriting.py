"""Blocks in a text: found by their marks, and generated anew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

START = "<!-- generated:"
BLOCK = re.compile(r"(<!-- generated: ([a-z0-9-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class BlockError(Exception):
    """A file has a block without an end, or one that nobody generates."""


def rewritten(text: str, known: Mapping[str, Callable[[], str]]) -> str:
    """The text with every block generated anew; what stands outside of blocks is untouched.

    Raises:
        BlockError: a block without an end, a malformed start, or a name that ``known`` lacks.
    """
    if text.count(START) != len(BLOCK.findall(text)):
        raise BlockError(f"a block has no proper start or end (`{START} NAME -->` ... `<!-- end -->`)")

    def fresh(match: re.Match[str]) -> str:
        if match[2] not in known:
            raise BlockError(f"nobody generates the block {match[2]!r}")
        return f"{match[1]}\n{known[match[2]]()}\n\n{match[4]}"

    return BLOCK.sub(fresh, text)
