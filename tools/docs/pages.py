"""README.md and the pages of docs/: which are stale, and the command that rewrites them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from .blocks import blocks
from .places import ROOT
from .rewriting import BlockError, rewritten

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def pages(root: Path = ROOT) -> list[Path]:
    """README.md, and every page of docs/."""
    return [*root.glob("README.md"), *sorted((root / "docs").rglob("*.md"))]


def stale(root: Path = ROOT) -> dict[Path, str]:
    """Pages whose generated parts are not current, with the text that they should have.

    Raises:
        BlockError: a file has a malformed block.
    """
    known = blocks()
    found = {}
    for path in pages(root):
        text = path.read_text(encoding="utf-8")
        try:
            wanted = rewritten(text, known)
        except BlockError as error:
            raise BlockError(f"{path.relative_to(root)}: {error}") from error
        if wanted != text:
            found[path] = wanted
    return found


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; returns the exit code: 0, or 1 where ``--check`` found stale files or a block is malformed."""
    parser = argparse.ArgumentParser(prog="docs", description="Rewrite the generated parts of README.md and docs/.")
    parser.add_argument("--check", action="store_true", help="change nothing; name the stale files and exit with 1")
    check = parser.parse_args(arguments).check
    try:
        found = stale(root)
    except BlockError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for path, text in found.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{'stale' if check else 'rewritten'}: {path.relative_to(root)}\n")
    if check and found:
        sys.stderr.write("run `python tools/docs` (or `make docs`) and commit the result\n")
        return 1
    return 0
