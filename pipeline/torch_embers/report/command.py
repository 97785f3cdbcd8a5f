"""`embers report`: read, join, render, and put the site in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from torch_embers.report import data_files, folder, rules, site
from torch_embers.report.facts import Facts, chosen
from torch_embers.report.rendering import iso
from torch_embers.report.source import read
from torch_embers.report.tables import tables
from torch_embers.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.store.store import Store


@dataclass(frozen=True, slots=True)
class Reported:
    """What was written.

    Attributes:
        pages: items that have a page of their own.
        size: bytes of all files.
    """

    folder: Path
    items: int
    pages: int
    files: int
    size: int


def report(store: Store, out: Path, *, bodies: bool = False, address: str = "", sqlite: Path | None = None) -> Reported:
    """Write the site to ``out``; an earlier report there is replaced as a whole.

    Args:
        store: the database.
        out: the folder.
        bodies: show the texts of issues and the scripts from them as a whole.
        address: where the site will be on the web, for the feed.
        sqlite: a SQLite file that the tables are written to as well.

    Raises:
        InputError: the folder holds something else, or cannot be written.
        StoreError: the database cannot be read.
    """
    place = folder.check(out)
    known = rules.load()
    limits = known.limits
    characters = limits.excerpt_with_bodies if bodies else limits.excerpt
    source = read(store, lambda source: chosen(source, limits.item_pages), characters)
    facts = Facts(source, known, frozenset(chosen(source, limits.item_pages)), is_whole=bodies)
    rows = tables(facts)
    if sqlite:
        data_files.write_sqlite(rows, sqlite)
    with folder.replaced(place) as made:
        site.write(made, facts, rows, address.rstrip("/"))
        about = {"embers": __version__, "items": len(facts.items), "pages": len(facts.paged)}
        about |= {"newest": iso(source.newest) if source.newest else None}
        made.write(folder.MARK, orjson.dumps(about, option=orjson.OPT_INDENT_2) + b"\n")
    return Reported(out, len(facts.items), len(facts.paged), made.files, made.size)
