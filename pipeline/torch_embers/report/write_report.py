"""`embers report`: read, join, render, and put the site in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from torch_embers.atom_output import iso
from torch_embers.console import size_text
from torch_embers.report import data_files, documentation, folder, hunt_map, report_rules, since, site, study_files
from torch_embers.report.joined_facts import ReportFacts, chosen
from torch_embers.report.similar import similar
from torch_embers.report.source import read
from torch_embers.report.tables import tables
from torch_embers.store.rows import without_pandas
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch_embers.store.store import Store


@dataclass(frozen=True, slots=True)
class Reported:
    """What was written.

    Attributes:
        pages: items that have a page of their own.
        size: bytes of all files.
        changes: since the earlier report in the folder, by kind; empty where none was compared.
        compared: why nothing was compared: ``first``, or what is wrong with the earlier report; empty where it was.
    """

    folder: Path
    items: int
    pages: int
    files: int
    size: int
    changes: Mapping[str, int]
    compared: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for.

    Attributes:
        out: folder of the site; an earlier report there is replaced as a whole.
        bodies: show the texts of issues and the scripts from them as a whole.
        address: where the site will be on the web, for the feed.
        sqlite: a SQLite file that the tables are written to as well.
        study: folder that `embers study` wrote to, with the coverage map of the hunt.
        docs: folder of the documentation as pages, which become a part of the site.
    """

    out: Path
    bodies: bool = False
    address: str = ""
    sqlite: Path | None = None
    study: Path | None = None
    docs: Path | None = None


def report(store: Store, request: Request) -> Reported:
    """Write the site.

    Raises:
        InputError: the folder holds something else, or cannot be written; study or documentation cannot be read.
        StoreError: the database cannot be read.
    """
    without_pandas()
    place = folder.check(request.out)
    pages = documentation.files(request.docs) if request.docs else ()
    known = report_rules.load()
    limits = known.limits
    characters = limits.excerpt_with_bodies if request.bodies else limits.excerpt
    source = read(store, lambda source: chosen(source, limits.item_pages), characters, limits.log_characters + 1)
    paged = frozenset(chosen(source, limits.item_pages))
    near = similar(source.vectors, paged, limits.similar, limits.similar_from) if source.vectors else {}
    facts = ReportFacts(source, known, paged, near, is_whole=request.bodies)
    rows = tables(facts)
    compared = since.compare(place, rows, source.newest)
    rows[since.NAME] = compared.rows
    study = study_files.read(request.study) if request.study else None
    hunted = hunt_map.read(request.study) if request.study else None
    if request.sqlite:
        data_files.write_sqlite(rows, request.sqlite)
    with folder.replaced(place) as made:
        for name, path in pages:
            made.write(name, path.read_bytes())
        site.write(made, facts, rows, compared, request.address.rstrip("/"), study, hunted, has_docs=bool(pages))
        about = {"embers": __version__, "items": len(facts.items), "pages": len(facts.paged)}
        about |= {"newest": iso(source.newest) if source.newest else None, since.ENTRY: compared.entry()}
        about |= {folder.ENTRIES: sorted(path.name for path in made.folder.iterdir())}
        made.write(folder.MARK, orjson.dumps(about, option=orjson.OPT_INDENT_2) + b"\n")
    counts = {kind: len(changed) for kind, changed in compared.by_kind().items()}
    return Reported(request.out, len(facts.items), len(facts.paged), made.files, made.size, counts, compared.reason)


def lines(done: Reported) -> list[str]:
    """Where the site is, how large, and how many things changed since the earlier one."""
    size = size_text(done.size)
    said = [f"{done.items:,} items, {done.pages:,} with a page of their own; {done.files:,} files, {size}"]
    if done.compared and done.compared != since.FIRST:
        said.append(f"not compared with the report that was there: {done.compared}")
    elif not done.compared:
        counts = ", ".join(since.counted(kind, count) for kind, count in done.changes.items())
        said.append(f"since the report that was there: {counts or 'nothing changed'}")
    return [*said, f"open {done.folder / 'index.html'}"]
