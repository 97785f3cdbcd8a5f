"""Files that describe the dataset to programs: CITATION.cff, also of the project itself, and datapackage.json."""

from __future__ import annotations

import hashlib
import json
from string import Template
from typing import TYPE_CHECKING, Any

from torch_embers.dataset import definitions, encode
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    import pyarrow as pa

    from torch_embers.dataset.definitions import PublishedTable

TITLE = "embers: bugs in PyTorch's data path, with labels, links, cases and verdicts over releases"
PROJECT_TITLE = "embers: which of PyTorch's bugs still happen"
STUDY = "A Study of Data-Path Bugs in PyTorch with a Focus on Memory Management"
ABSTRACT = (
    "Facts about issues and pull requests of PyTorch, labels by a taxonomy of data-path bugs, links between bugs "
    "and fixes, scripts that each show one bug, and verdicts of these scripts on PyTorch releases."
)
LICENCE = {"name": "Apache-2.0", "title": "Apache License 2.0", "path": "https://www.apache.org/licenses/LICENSE-2.0"}


def citation(version: str) -> str:
    """CITATION.cff of a dataset, in the Citation File Format 1.2.0."""
    return _citation(
        "dataset",
        TITLE,
        version,
        "If you use this dataset, please cite it with its version.",
        ABSTRACT,
    )


def project_citation() -> str:
    """CITATION.cff of the project, as it lies beside README.md."""
    return _citation(
        "software",
        PROJECT_TITLE,
        __version__,
        "If you use embers, please cite it with its version; of data, cite the dataset that embers exported.",
        "Mines PyTorch's issues and pull requests, labels them by a taxonomy of data-path bugs, links bugs to fixes, "
        "re-runs small cases on PyTorch builds, and rebuilds an empirical study from the result.",
    )


def _citation(kind: str, title: str, version: str, message: str, abstract: str) -> str:
    text = definitions.read("templates", "CITATION.cff")
    return Template(text).substitute(
        type=kind, title=title, version=version, message=message, abstract=abstract, study=STUDY
    )


def schema_org(version: str, facts_until: date | None) -> dict[str, Any]:
    """What croissant.json says of the dataset as a whole, by the names of schema.org.

    Args:
        version: of the dataset.
        facts_until: the newest day on which facts of the tracker were looked up.
    """
    made: dict[str, Any] = {
        "name": "embers",
        "description": f"{TITLE}. {ABSTRACT}",
        "license": LICENCE["path"],
        "version": version,
        "creator": {"@type": "sc:Organization", "name": "The embers authors"},
        "citeAs": f"The embers authors: {TITLE}, version {version}.",
    }
    if facts_until:
        made["dateModified"] = facts_until.isoformat()
    return made


def datapackage(
    tables: Sequence[PublishedTable], rows: Mapping[str, pa.Table], files: Mapping[str, bytes], version: str
) -> bytes:
    """datapackage.json: a Frictionless tabular data package over the CSV files.

    Args:
        tables: declarations, every column described.
        rows: rows by table.
        files: written files by path; the CSV of each table is data/<name>.csv.
        version: of the dataset.
    """
    package = {
        "profile": "tabular-data-package",
        "name": "embers",
        "title": TITLE,
        "version": version,
        "licenses": [LICENCE],
        "contributors": [{"title": "The embers authors", "role": "author"}],
        "resources": [_resource(table, rows[table.name], files[f"data/{table.name}.csv"]) for table in tables],
    }
    return (json.dumps(package, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _resource(table: PublishedTable, rows: pa.Table, body: bytes) -> dict[str, Any]:
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
        "schema": _schema(table, rows),
    }


def _schema(table: PublishedTable, rows: pa.Table) -> dict[str, Any]:
    made: dict[str, Any] = {"fields": [_field(table, field, rows) for field in rows.schema], "missingValues": [""]}
    # a key may hold no missing value: links start from an item or from a commit
    if not any(rows[name].null_count for name in table.key):
        made["primaryKey"] = list(table.key)
    if table.refers:
        made["foreignKeys"] = [
            {"fields": [column], "reference": {"resource": other.replace("_", "-"), "fields": [column]}}
            for column, other in table.refers.items()
        ]
    return made


def _field(table: PublishedTable, field: pa.Field, rows: pa.Table) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": field.name,
        "type": encode.type_name(field.type),
        "description": table.columns[field.name],
    }
    if made["type"] == "boolean":
        made |= {"trueValues": ["true"], "falseValues": ["false"]}
    if field.name in table.key and not rows[field.name].null_count:
        made["constraints"] = {"required": True}
    return made
