"""The front matter of README.md, which makes it a dataset card of the Hugging Face Hub: a configuration for each table.

Tables without rows have none, because `datasets` cannot load a Parquet file without row groups. YAML is a superset of
JSON, so every value is written as JSON.

Format: huggingface.co/docs/hub/datasets-cards and huggingface.co/docs/hub/datasets-manual-configuration
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from torch_embers.dataset.definitions import PublishedTable

FIRST = "items"
"""The table that is shown when none is chosen."""
TAGS = ("pytorch", "bugs", "software-engineering", "mining-software-repositories")
SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)
"""Names of the Hub for a number of rows, by the first number that is too large."""
LARGEST = "n>10M"


def front_matter(title: str, tables: Sequence[PublishedTable], rows: Mapping[str, pa.Table]) -> str:
    """The lines above README.md, with their fences.

    Args:
        title: of the dataset.
        tables: declarations, in order.
        rows: rows by table; the Parquet file of each table is data/<name>.parquet.
    """
    facts: dict[str, Any] = {
        "pretty_name": title,
        "license": "apache-2.0",
        "language": ["en"],
        "annotations_creators": ["machine-generated", "expert-generated"],
        "task_categories": ["text-classification"],
        "size_categories": [size_of(sum(table.num_rows for table in rows.values()))],
        "tags": list(TAGS),
    }
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in facts.items()]
    filled = [table.name for table in tables if rows[table.name].num_rows]
    configurations = [f"  - {json.dumps(_configuration(name))}" for name in filled]
    return "\n".join(("---", *lines, "configs:", *configurations, "---"))


def size_of(count: int) -> str:
    """The Hub's name for a number of rows."""
    return next((name for limit, name in SIZES if count < limit), LARGEST)


def _configuration(name: str) -> dict[str, Any]:
    """One table as its own configuration, with one split: nothing here is set apart for testing."""
    made: dict[str, Any] = {
        "config_name": name,
        "data_files": [{"split": "train", "path": f"data/{name}.parquet"}],
    }
    return made | ({"default": True} if name == FIRST else {})
