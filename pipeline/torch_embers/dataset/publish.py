"""`embers data export --dataset`: the files of the dataset, made of what may be published, put in place as a whole."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.console import plain, size_text, stdout, table
from torch_embers.dataset import card, counted, croissant, definitions, encode, folder, identity, metadata
from torch_embers.dataset.collect import Content, collect
from torch_embers.dataset.identity import Identity

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch_embers.store.store import Store

LOAD = 'import pandas as pd\nverdicts = pd.read_parquet("{folder}data/verdicts.parquet")'
"""How a reader begins."""


@dataclass(frozen=True, slots=True)
class Published:
    """What was written.

    Attributes:
        tables: name, rows, bytes as Parquet, bytes as CSV.
        size: bytes of all files.
        verdicts: verdicts by provenance, own or shipped.
    """

    folder: Path
    version: str
    tables: tuple[tuple[str, int, int, int], ...]
    files: int
    size: int
    verdicts: Mapping[str, int]

    @property
    def load(self) -> str:
        """The two lines that load a table."""
        return LOAD.format(folder=f"{self.folder.as_posix()}/".replace("\\", "\\\\").replace('"', '\\"'))


def publish(store: Store, target: Path) -> Published:
    """Write the dataset to ``target``; an earlier dataset there is replaced.

    Raises:
        StoreError: the database cannot be read; none is there.
        InputError: the database is empty; the folder holds something else, or cannot be written.
    """
    place = folder.check(target)
    content = collect(store)
    known, files = render(content)
    folder.write(place, files)
    tables = tuple(
        (name, rows.num_rows, len(files[f"data/{name}.parquet"]), len(files[f"data/{name}.csv"]))
        for name, rows in content.rows.items()
    )
    verdicts = Counter(counted.verdicts(content)["provenance"].to_pylist())
    return Published(target, known.version, tables, len(files), sum(map(len, files.values())), verdicts)


def print_published(done: Published) -> None:
    """Print tables with rows and sizes, the version, and the two lines that load the dataset."""
    out = stdout()
    columns = [("table", False), ("rows", True), ("Parquet", True), ("CSV", True)]
    rows = [(name, count, size_text(parquet), size_text(csv)) for name, count, parquet, csv in done.tables]
    out.print(table("", columns, rows))
    out.print(
        f"\n{plain(done.folder)}: {done.files} files, {size_text(done.size)}, version {done.version}", soft_wrap=True
    )
    verdicts = ", ".join(f"{count:,} {provenance}" for provenance, count in sorted(done.verdicts.items()))
    out.print(f"verdicts: {verdicts or 'none'}" + ("" if done.verdicts.get("own") else "; `embers run` makes your own"))
    out.print(f"\n{plain(done.load)}", soft_wrap=True)


def render(content: Content) -> tuple[Identity, dict[str, bytes]]:
    """Version and files of the dataset, by path below its folder. Pure: equal content gives equal bytes."""
    files = {f"data/{name}.csv": encode.to_csv(rows) for name, rows in content.rows.items()}
    known = _identity(content, files)
    for one in content.tables:
        about = {"title": metadata.TITLE, "dataset": known.version, "description": one.description}
        files[f"data/{one.name}.parquet"] = encode.to_parquet(content.rows[one.name], about)
    files |= {name: text.encode("utf-8") for name, text in _texts(content, known).items()}
    files["datapackage.json"] = metadata.datapackage(content.tables, content.rows, files, known.version)
    about = metadata.schema_org(known.version, known.facts_until)
    files[croissant.FILE] = croissant.describe(about, content.tables, content.rows, files)
    files[folder.SUMS] = identity.checksums(files)
    return known, files


def _identity(content: Content, files: Mapping[str, bytes]) -> Identity:
    days = [day for day in content.rows["items"]["state_as_of"].to_pylist() if day]
    return Identity(identity.content_hash(files), content.schema_version, max(days, default=None))


def _texts(content: Content, known: Identity) -> dict[str, str]:
    words = {
        **counted.facts(content),
        "card": card.front_matter(metadata.TITLE, content.tables, content.rows),
        "title": metadata.TITLE,
        "study": metadata.STUDY,
        "version": known.version,
        "counts": counted.summary(content),
        "load": LOAD.format(folder=""),
        "licence": definitions.read("templates", "licence.md").strip(),
    }
    sheets = {
        name: Template(definitions.read("templates", name)).substitute(words) for name in ("README.md", "DATASHEET.md")
    }
    # a place that stays empty leaves no blanks at the end of its line
    sheets = {name: re.sub(r" +$", "", text, flags=re.MULTILINE) for name, text in sheets.items()}
    return {
        **sheets,
        "CITATION.cff": metadata.citation(known.version),
        identity.FILE: known.text(),
        "LICENSE": resources.licence_text(),
    }
