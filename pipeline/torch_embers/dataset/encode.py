"""Arrow tables as bytes, the same for the same rows: CSV for any tool, Parquet with types and descriptions.

Texts are made safe to open in a spreadsheet in CSV alone (escaping.py); Parquet keeps them as they came.
"""

from __future__ import annotations

import csv
import io
import json
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from torch_embers.escaping import csv_text

if TYPE_CHECKING:
    from collections.abc import Mapping


def to_csv(rows: pa.Table) -> bytes:
    """CSV with a heading: UTF-8, lines end in LF, times in ISO 8601 (UTC), lists as JSON, nothing for NULL."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.column_names)
    for batch in rows.to_batches(max_chunksize=10_000):
        writer.writerows(zip(*(map(_cell, column.to_pylist()) for column in batch.columns), strict=True))
    return out.getvalue().encode("utf-8")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return csv_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def to_parquet(rows: pa.Table, about: Mapping[str, str]) -> bytes:
    """Parquet with ``about`` as metadata of the file; columns keep their descriptions."""
    out = io.BytesIO()
    named = {key.encode(): value.encode() for key, value in about.items()}
    pq.write_table(rows.replace_schema_metadata(named), out, compression="zstd", version="2.6")
    return out.getvalue()
