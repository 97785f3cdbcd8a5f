"""`embers data export --dataset`: the files of the dataset, made of what may be published, put in place as a whole."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from torch_embers import resources
from torch_embers.console import plain, print_table, size_text, stdout
from torch_embers.dataset import describe, encode, folder, sheets, table_definitions
from torch_embers.dataset.collect import Content, collect
from torch_embers.dataset.describe import Identity
from torch_embers.settings import only_repository, project_of
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date
    from pathlib import Path

    from torch_embers.store.store import Store

LOAD = 'import pandas as pd\nverdicts = pd.read_parquet("{folder}data/verdicts.parquet")'
"""How a reader begins."""
SHOWN_DIGITS = 12
DATED = (
    ("items", "state_as_of"),
    ("labels", "labelled_at"),
    ("predictions", "predicted_at"),
    ("runs", "ran_at"),
    ("verdicts", "decided_at"),
    ("statuses", "decided_at"),
    ("timelines", "decided_at"),
)
"""Columns that say when something was looked up, labelled or run."""


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
    decided = content.rows["verdicts"].filter(pc.field("verdict") != "untestable")
    verdicts = Counter(decided["provenance"].to_pylist())
    return Published(target, known.version, tables, len(files), sum(map(len, files.values())), verdicts)


def print_published(done: Published) -> None:
    """Print tables with rows and sizes, the version, and the two lines that load the dataset."""
    out = stdout()
    rows = [(name, count, size_text(parquet), size_text(csv)) for name, count, parquet, csv in done.tables]
    print_table(["table", "rows", "Parquet", "CSV"], rows)
    out.print(
        f"\n{plain(done.folder)}: {done.files} files, {size_text(done.size)}, version {done.version}", soft_wrap=True
    )
    verdicts = ", ".join(f"{count:,} {provenance}" for provenance, count in sorted(done.verdicts.items()))
    out.print(f"verdicts: {verdicts or 'none'}" + ("" if done.verdicts.get("own") else "; `embers run` makes your own"))
    out.print(f"\n{plain(done.load)}", soft_wrap=True)


def render(content: Content) -> tuple[Identity, dict[str, bytes]]:
    """Version and files of the dataset, by path below its folder. Pure: equal content gives equal bytes."""
    files = {f"data/{name}.csv": encode.to_csv(rows) for name, rows in content.rows.items()}
    content_hash = _content_hash(files)
    known = Identity(
        f"{__version__}+{content_hash[:SHOWN_DIGITS]}",
        facts_until=_newest(content, (("items", "state_as_of"),)),
        published=_newest(content, DATED),
        repo=only_repository(content.rows["items"]["repo"].unique().to_pylist()),
    )
    for one in content.tables:
        about = {"title": known.title, "dataset": known.version, "description": one.description}
        files[f"data/{one.name}.parquet"] = encode.to_parquet(content.rows[one.name], about)
    files |= {name: text.encode("utf-8") for name, text in _texts(content, known, content_hash).items()}
    files["datapackage.json"] = describe.datapackage(content, files, known)
    files["croissant.json"] = describe.croissant(content, files, known)
    sums = [f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in sorted(files.items())]
    files[folder.SUMS] = "".join(sums).encode("utf-8")
    return known, files


def _content_hash(files: Mapping[str, bytes]) -> str:
    """SHA-256 over the CSV files by name: it does not depend on who writes the Parquet."""
    made = hashlib.sha256()
    for name, body in sorted(files.items()):
        made.update(f"{name} {len(body)}\n".encode())
        made.update(body)
    return made.hexdigest()


def _newest(content: Content, columns: Iterable[tuple[str, str]]) -> date | None:
    """The newest day (UTC) of some columns of dates or times."""
    days = [pc.max(content.rows[table][column]).cast(pa.date32()).as_py() for table, column in columns]
    return max(filter(None, days), default=None)


def _texts(content: Content, known: Identity, content_hash: str) -> dict[str, str]:
    words = {
        "title": known.title,
        "project": project_of(known.repo),
        "tag": known.repo.rpartition("/")[2].lower(),
        "study": describe.STUDY,
        "version": known.version,
        "load": LOAD.format(folder=""),
        "licence": table_definitions.read("templates", "licence.md").strip(),
    }
    version = Template(table_definitions.read("templates", folder.VERSION)).substitute(
        version=known.version,
        embers=__version__,
        content=content_hash,
        schema_version=content.schema_version,
        facts_until=known.facts_until or "unknown",
    )
    return {
        **sheets.rendered(content, words),
        "CITATION.cff": describe.citation(known),
        folder.VERSION: version,
        "LICENSE": resources.licence_text(),
    }
