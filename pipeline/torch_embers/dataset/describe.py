"""Files that describe the dataset to programs: CITATION.cff, datapackage.json and croissant.json.

Formats: Citation File Format 1.2.0; Frictionless tabular data package; Croissant 1.0 (JSON-LD over schema.org,
docs.mlcommons.org/croissant/docs/croissant-spec.html).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers.dataset import table_definitions
from torch_embers.settings import DEFAULT_REPO, project_of
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from torch_embers.dataset.collect import Content
    from torch_embers.dataset.table_definitions import PublishedTable

TITLE = "embers: bugs in PyTorch's data path, with labels, links, cases and verdicts over releases"
STUDY = "A Study of Data-Path Bugs in PyTorch with a Focus on Memory Management"
AUTHOR = "The embers authors"
ABSTRACT = (
    "Facts about issues and pull requests of PyTorch, labels by a taxonomy of data-path bugs, links between bugs "
    "and fixes, scripts that each show one bug, and verdicts of these scripts on PyTorch releases."
)
ABSTRACT_OF_OTHERS = (
    "Facts about issues and pull requests of {}, labels by a taxonomy of data-path bugs, and links to fixes."
)
LICENCE = {"name": "Apache-2.0", "title": "Apache License 2.0", "path": "https://www.apache.org/licenses/LICENSE-2.0"}
TYPES = (
    (pa.types.is_boolean, "boolean", "sc:Boolean"),
    (pa.types.is_integer, "integer", "sc:Integer"),
    (pa.types.is_floating, "number", "sc:Float"),
    (pa.types.is_timestamp, "datetime", "sc:DateTime"),
    (pa.types.is_date, "date", "sc:Date"),
    (pa.types.is_list, "array", "sc:Text"),
    (pa.types.is_string, "string", "sc:Text"),
)
"""Types of columns by the names that Frictionless Data and Croissant have for them; lists hold texts."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which dataset this is.

    Attributes:
        version: release of embers and content, as 0.2.0+0123456789ab: other rows, other version.
        facts_until: the newest day on which facts of the tracker were looked up.
        published: the newest day of such facts, labels, runs, verdicts and statuses: the same rows have the same day.
        repo: the repository that it is about.
    """

    version: str
    facts_until: date | None
    published: date | None
    repo: str = DEFAULT_REPO

    @property
    def title(self) -> str:
        """What it is called."""
        return TITLE if self.repo == DEFAULT_REPO else f"embers: bugs of {self.repo}, with labels and links"

    @property
    def abstract(self) -> str:
        """What it holds."""
        return ABSTRACT if self.repo == DEFAULT_REPO else ABSTRACT_OF_OTHERS.format(self.repo)


def citation(known: Identity) -> str:
    """CITATION.cff."""
    return Template(table_definitions.read("templates", "CITATION.cff")).substitute(
        title=known.title,
        project=project_of(known.repo),
        version=known.version,
        released=f'date-released: "{known.published}"\n' if known.published else "",
        abstract=known.abstract,
        author=AUTHOR,
        study=STUDY,
        embers=__version__,
    )


def datapackage(content: Content, files: Mapping[str, bytes], known: Identity) -> bytes:
    """datapackage.json: the CSV files.

    Args:
        content: what is published.
        files: written files by path; the CSV of each table is data/<name>.csv.
        known: version of the dataset.
    """
    return _json(
        {
            "profile": "tabular-data-package",
            "name": "embers",
            "title": known.title,
            "version": known.version,
            "licenses": [LICENCE],
            "contributors": [{"title": AUTHOR, "role": "author"}],
            "resources": [_resource(t, content.rows[t.name], files[f"data/{t.name}.csv"]) for t in content.tables],
        }
    )


def _resource(table: PublishedTable, rows: pa.Table, body: bytes) -> dict[str, Any]:
    schema: dict[str, Any] = {"fields": [_column(table, field, rows) for field in rows.schema], "missingValues": [""]}
    if _has_key(table, rows):
        schema["primaryKey"] = list(table.key)
    if table.refers:
        schema["foreignKeys"] = [
            {"fields": [column], "reference": {"resource": other.replace("_", "-"), "fields": [column]}}
            for column, other in table.refers.items()
        ]
    return {
        "profile": "tabular-data-resource",
        "name": table.name.replace("_", "-"),
        "path": f"data/{table.name}.csv",
        "description": table.description,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": len(body),
        "hash": f"sha256:{hashlib.sha256(body).hexdigest()}",
        "schema": schema,
    }


def _column(table: PublishedTable, field: pa.Field, rows: pa.Table) -> dict[str, Any]:
    kind, _ = _type(field)
    made: dict[str, Any] = {"name": field.name, "type": kind, "description": table.columns[field.name]}
    if kind == "boolean":
        made |= {"trueValues": ["true"], "falseValues": ["false"]}
    if field.name in table.key and not rows[field.name].null_count:
        made["constraints"] = {"required": True}
    return made


def croissant(content: Content, files: Mapping[str, bytes], known: Identity) -> bytes:
    """croissant.json: the Parquet files, for machine-learning tools; arguments as of ``datapackage``."""
    days = {"dateModified": known.facts_until, "datePublished": known.published}
    return _json(
        {
            "@context": json.loads(table_definitions.read("templates", "croissant_context.json")),
            "@type": "sc:Dataset",
            "conformsTo": "http://mlcommons.org/croissant/1.0",
            "name": "embers",
            "description": f"{known.title}. {known.abstract}",
            "license": LICENCE["path"],
            "version": known.version,
            "creator": {"@type": "sc:Organization", "name": AUTHOR},
            "citeAs": f"{AUTHOR}: {known.title}, version {known.version}.",
            **{name: day.isoformat() for name, day in days.items() if day},
            "distribution": [_file(table, files[_parquet(table)]) for table in content.tables],
            "recordSet": [_records(table, content.rows[table.name]) for table in content.tables],
        }
    )


def _file(table: PublishedTable, body: bytes) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": _parquet(table),
        "name": _parquet(table),
        "description": table.description,
        "contentUrl": _parquet(table),
        "contentSize": f"{len(body)} B",
        "encodingFormat": "application/x-parquet",
        "sha256": hashlib.sha256(body).hexdigest(),
    }


def _records(table: PublishedTable, rows: pa.Table) -> dict[str, Any]:
    made: dict[str, Any] = {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.description,
        "field": [_field(table, field) for field in rows.schema],
    }
    if _has_key(table, rows):
        made["key"] = [{"@id": f"{table.name}/{name}"} for name in table.key]
    return made


def _field(table: PublishedTable, field: pa.Field) -> dict[str, Any]:
    kind, word = _type(field)
    made: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table.name}/{field.name}",
        "name": field.name,
        "description": table.columns[field.name],
        "dataType": word,
        "source": {"fileObject": {"@id": _parquet(table)}, "extract": {"column": field.name}},
    }
    if kind == "array":
        made["repeated"] = True
    if other := table.refers.get(field.name):
        made["references"] = {"field": {"@id": f"{other}/{field.name}"}}
    return made


def _type(field: pa.Field) -> tuple[str, str]:
    return next((name, word) for fits, name, word in TYPES if fits(field.type))


def _has_key(table: PublishedTable, rows: pa.Table) -> bool:
    """Whether programs may call its key one: it has no missing value, which those of links can have."""
    return not any(rows[name].null_count for name in table.key)


def _parquet(table: PublishedTable) -> str:
    return f"data/{table.name}.parquet"


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
