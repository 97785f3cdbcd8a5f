"""What commits change, as far as a clone can say it: paths from trees, lines of text where the contents are there.

A clone made with ``--filter=blob:none`` has all commits and trees but no contents, and a damaged one lacks some
objects. Git ends with an error at the first object that is missing, so this module asks beforehand which are there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_embers.mine.git.git_records import FIELDS
from torch_embers.mine.git.gitrepo import MissingObjectError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.mine.git.gitrepo import Clone

RENAME_LIMIT = 400
"""Files per side above which git compares no contents to find renames: the effort is quadratic."""
_LOG = (
    *("log", "--stdin", "--no-walk=unsorted", "-z", "--no-ext-diff", "--no-textconv", "--no-relative"),
    *("--no-notes", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--submodule=short"),
)
_FORMAT = "--format=tformat:" + "%x00".join((*FIELDS, ""))
_TREES = ("--raw", "--no-abbrev", "--diff-merges=first-parent")
_WITH_LINES = (*_TREES, "--numstat", "--find-renames", f"-l{RENAME_LIMIT}")
_PATHS = (*_TREES, "--find-renames=100%")  # equal contents have equal names: no contents are read
_MESSAGES = ("--no-patch",)
_ENTRY = re.compile(rb"\n?:(\d{6}) (\d{6}) ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([A-Z])")
_SUBMODULE = b"160000"
_TWO_PATHS = b"RC"


@dataclass(slots=True)
class Printed:
    """What git printed about some commits, and what it could not say."""

    parts: list[bytes] = field(default_factory=list)
    pathless: list[str] = field(default_factory=list)
    """Commits of which a tree is missing: no paths are known."""
    uncounted: list[str] = field(default_factory=list)
    """Commits with a file whose contents are missing: no lines are counted."""


def print_commits(clone: Clone, shas: Sequence[str]) -> Printed:
    """Print commits with all that the clone holds of them.

    Raises:
        InputError: git failed for another reason than a missing object.
    """
    printed = Printed()
    contents = dict(_contents(clone, _having_trees(clone, shas)))
    printed.pathless = [sha for sha in shas if sha not in contents]
    missing = clone.missing(frozenset().union(*contents.values()))
    whole = [sha for sha, blobs in contents.items() if missing.isdisjoint(blobs)]
    printed.uncounted = [sha for sha, blobs in contents.items() if not missing.isdisjoint(blobs)]
    for wanted, options in ((whole, _WITH_LINES), (printed.uncounted, _PATHS), (printed.pathless, _MESSAGES)):
        if wanted:
            printed.parts.append(clone.run(*_LOG, _FORMAT, *options, lines=wanted))
    return printed


def _having_trees(clone: Clone, shas: Sequence[str]) -> list[str]:
    """The commits whose own top tree is there: without any, as in a treeless clone, the search below would be slow."""
    kinds = clone.run("cat-file", "--batch-check=%(objecttype)", lines=(f"{sha}^{{tree}}" for sha in shas))
    return [sha for sha, kind in zip(shas, kinds.split(b"\n"), strict=False) if kind == b"tree"]


def _contents(clone: Clone, shas: Sequence[str]) -> Iterator[tuple[str, frozenset[bytes]]]:
    """The blobs that each commit changes, old and new; a commit whose trees cannot be compared is left out."""
    if not shas:
        return
    try:
        output = clone.run(*_LOG, "--format=tformat:%H", *_PATHS, lines=shas)
    except MissingObjectError:
        if len(shas) > 1:  # halves, until the commits that git cannot compare stand alone
            middle = len(shas) // 2
            yield from _contents(clone, shas[:middle])
            yield from _contents(clone, shas[middle:])
        return
    sha, blobs = "", set[bytes]()
    tokens = iter(output.split(b"\0"))
    for token in tokens:
        if entry := _ENTRY.match(token):
            modes, names, letter = entry.groups()[:2], entry.groups()[2:4], entry[5]
            blobs.update(
                name for mode, name in zip(modes, names, strict=True) if mode != _SUBMODULE and name.strip(b"0")
            )
            for _ in range(2 if letter in _TWO_PATHS else 1):
                next(tokens, None)
        elif token:
            if sha:
                yield sha, frozenset(blobs)
            sha, blobs = token.decode("ascii", "replace"), set()
    if sha:
        yield sha, frozenset(blobs)
