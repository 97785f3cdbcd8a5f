"""croissant.json: the dataset described for machine-learning tools.

Format: Croissant 1.0 (docs.mlcommons.org/croissant/docs/croissant-spec.html), JSON-LD over schema.org.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from torch_embers.dataset import encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from torch_embers.dataset.definitions import PublishedTable

FILE = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
PARQUET = "application/x-parquet"
TYPES = {
    "boolean": "sc:Boolean",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "datetime": "sc:DateTime",
    "date": "sc:Date",
    "array": "sc:Text",
    "string": "sc:Text",
}
"""Data types of Croissant by the names of Frictionless Data; lists hold texts."""
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The terms that the format prescribes."""


def describe(
    about: Mapping[str, Any],
    tables: Sequence[PublishedTable],
    rows: Mapping[str, pa.Table],
    files: Mapping[str, bytes],
) -> bytes:
    """The description of the Parquet files.

    Args:
        about: properties of the dataset as a whole, by their names in schema.org.
        tables: declarations, every column described.
        rows: rows by table.
        files: written files by path; the Parquet file of each table is data/<name>.parquet.
    """
    made = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        **about,
        "distribution": [_file(table, files[_path(table)]) for table in tables],
        "recordSet": [_records(table, rows[table.name]) for table in tables],
    }
    return (json.dumps(made, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _path(table: PublishedTable) -> str:
    return f"data/{table.name}.parquet"


def _file(table: PublishedTable, body: bytes) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": _path(table),
        "name": _path(table),
        "description": table.description,
        "contentUrl": _path(table),
        "contentSize": f"{len(body)} B",
        "encodingFormat": PARQUET,
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
    # as in datapackage.json: a key may hold no missing value
    if not any(rows[name].null_count for name in table.key):
        made["key"] = [{"@id": f"{table.name}/{name}"} for name in table.key]
    return made


def _field(table: PublishedTable, field: pa.Field) -> dict[str, Any]:
    kind = encode.type_name(field.type)
    made: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table.name}/{field.name}",
        "name": field.name,
        "description": table.columns[field.name],
        "dataType": TYPES[kind],
        "source": {"fileObject": {"@id": _path(table)}, "extract": {"column": field.name}},
    }
    if kind == "array":
        made["repeated"] = True
    if other := table.refers.get(field.name):
        made["references"] = {"field": {"@id": f"{other}/{field.name}"}}
    return made
